"""Finds in a trace of Kafka's model when a predicate became true, and where an entry comes from.

In:  a trace.
Out: step numbers, and text about them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from isrcheck.models.run import State
from isrcheck.traces.format.trace import Trace, spell_entry


class Timeline:
    """A trace whose states give access to the fields of the model by name."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def states(self) -> list[State]:
        """The states: number 0 is the initial state, and number n is the state after step n."""
        return [State(self.trace.instance, cells) for cells in self.trace.states]

    @property
    def last(self) -> State:
        """The last state of the trace."""
        return self.states[-1]

    def first(self, is_true: Callable[[State], bool]) -> int:
        """Return the number of the first state that satisfies a predicate. Some state has to satisfy it."""
        return next(position for position, s in enumerate(self.states) if is_true(s))

    def last_change(self, is_true: Callable[[State], bool], to: bool = True, until: int | None = None) -> int | None:
        """Return the last step, not after `until`, that changed the predicate's value to `to`; None if none did."""
        truths = [is_true(s) for s in self.states[: None if until is None else until + 1]]
        changes = [i for i in range(1, len(truths)) if truths[i] is to and truths[i - 1] is not to]
        return changes[-1] if changes else None

    def when(self, position: int | None, word: str = "at") -> str:
        """Return `word` and a step, as in `at step 3 by ...`; for the positions 0 and None, `from the start`."""
        if not position:
            return "from the start"
        return f"{word} step {position} by {self.trace.instance.spell_step(self.trace.steps[position - 1])}"

    # ---------------------------------------------------------------------------------------------------------- entries

    def entry(self, r: int, offset: int) -> str:
        """Return the entry of replica `r` at `offset` in the last state, in the notation of the lanes."""
        return spell_entry(self.last, self.last.log_record[r][offset], self.last.log_epoch[r][offset])

    def origin(self, r: int, offset: int) -> str:
        """Return when the entry of replica `r` at `offset` in the last state was sent, appended and copied."""
        record, epoch = self.last.log_record[r][offset], self.last.log_epoch[r][offset]
        appended = self.appended(offset, record, epoch)
        copied = self.last_change(lambda s: (s.log_record[r][offset], s.log_epoch[r][offset]) == (record, epoch))
        told = self.sending(record, appended)
        if copied is not None and copied != appended:
            told += f", copied {self.when(copied)}"
        return told

    def sending(self, record: int, appended: int | None) -> str:
        """Return when an entry was appended, and when it was first sent if that was earlier."""
        told = "there from the start" if appended is None else f"appended {self.when(appended)}"
        if record < self.last.records:
            sent = self.first(lambda s: bool(s.next_record > record))
            if sent != (appended or 0):
                return f"first sent {self.when(sent)}, {told}"
        return told

    def appended(self, offset: int, record: int, epoch: int) -> int | None:
        """Return the last step in which a leader appended this record at this offset in this epoch, or None."""
        entry = (record, epoch)
        for position in range(len(self.states) - 1, 0, -1):
            before, after = self.states[position - 1], self.states[position]
            for r in range(after.replicas):
                if (
                    before.leader[r] == r
                    and before.log_end_offset[r] == offset
                    and (after.log_record[r][offset], after.log_epoch[r][offset]) == entry
                ):
                    return position
        return None
