"""A trace of Kafka's transactions as a table: columns for the coordinator, each producer and each partition.

In:  a trace of the model `transactions`.
Out: rows for table.py; columns.py has their titles, and the legend of their signs.

A column is one line of text, which is printed when it changes. What is as at the start, such as a marker that was not
sent, is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.models.transactions import log as readers
from isrcheck.models.transactions.values import Entry, LateAnswer, Marker, Outcome, Phase, Request, TransactionState
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.lanes.table import StepRow

last_stable_offset: Callable[[State, int], int] = readers.last_stable_offset
holds: Callable[[State, int, int], bool] = readers.holds


def rows(trace: Trace) -> list[StepRow]:
    """Return one row per state; unchanged columns are empty."""
    found: list[StepRow] = []
    before: list[str] = []
    for position in range(len(trace.states)):
        lanes = _lanes(State(trace.instance, trace.states[position]))
        told = [() if before and text == before[number] else (text,) for number, text in enumerate(lanes)]
        found.append(StepRow(position, trace.spell_row(position), tuple(told)))
        before = lanes
    return found


ANSWERS = {
    LateAnswer.NONE: "",
    LateAnswer.UNDER_WAY: "late answer",
    LateAnswer.REMOVED_ENTRY: "markers are forgotten",
}
"""What becomes of an answer to a marker of an earlier coordinator epoch."""


def _lanes(s: State) -> list[str]:
    return [
        _coordinator(s),
        *(_producer(s, i) for i in range(s.producers)),
        *(_partition(s, p) for p in range(s.partitions)),
    ]


def _coordinator(s: State) -> str:
    partitions = "".join(str(p) for p in range(s.partitions) if s.in_transaction[p])
    decided = [f"{spell_element(t)} {words_of(Outcome(s.outcome[t]))}" for t in range(s.transactions) if s.outcome[t]]
    pending = []
    if s.pending_state != TransactionState.NOTHING:
        epoch = f" e{s.pending_epoch}" if s.pending_epoch != s.producer_epoch else ""
        added = f" +{s.pending_partition}" if s.pending_partition != NONE else ""
        pending = [f"-> {name_of(TransactionState(s.pending_state))}{epoch}{added}"]
    state = name_of(TransactionState(s.transaction_state))
    late = late_request("EndTxn", s.late_end_txn, s.late_end_txn_epoch)
    answers = [ANSWERS[LateAnswer(s.late_answer[0])]] if s.late_answers > 0 else []
    return _joined(
        f"c{s.coordinator_epoch} e{s.producer_epoch} {state}", partitions, *pending, *decided, late, *answers
    )


def _producer(s: State, i: int) -> str:
    latest = [t for t in range(s.transactions) if s.begun_by[t] == i]
    doing = words_of(Phase(s.phase[i]))
    if s.phase[i] in (Phase.IN_TRANSACTION, Phase.COMMITTING, Phase.ABORTING):
        doing += f" {spell_element(latest[-1])} (input {s.processed_input[latest[-1]]})" if latest else ""
    epoch = f"e{s.epoch[i]}" if s.epoch[i] != NONE else ""
    return _joined(epoch, doing)


def _partition(s: State, p: int) -> str:
    sent = [spell_element(t) for t in range(s.transactions) if s.was_sent[p][t] and not holds(s, p, t)]
    marker = Marker(s.marker[p])
    return _joined(
        _log(s, p),
        f"knows e{s.known_epoch[p]}" if s.known_epoch[p] != NONE else "",
        f"c{s.known_coordinator_epoch[p]}" if s.known_coordinator_epoch[p] != NONE else "",
        f"{','.join(sent)} under way" if sent else "",
        f"{spell_element(s.verified[p])} verified" if s.verified[p] != NONE else "",
        f"marker {words_of(marker)}" if marker != Marker.NOT_SENT else "",
        late_request("marker", s.late_marker[p], s.late_marker_epoch[p])
        + (f" c{s.late_marker_coordinator_epoch[p]}" if s.late_marker[p] else ""),
    )


def _log(s: State, p: int) -> str:
    text = ""
    for offset in range(s.log_end_offset[p] + 1):
        if offset == s.high_watermark[p]:
            text += "|"
        elif offset == last_stable_offset(s, p):
            text += ":"
        if offset < s.log_end_offset[p]:
            entry = Entry(s.log_record[p][offset])
            text += spell_element(entry - Entry.A) if entry >= Entry.A else entry.name[0]
    return text


def late_request(what: str, asked: int, epoch: int) -> str:
    """Return a late copy of a request as text; nothing if there is none."""
    return f"late {words_of(Request(asked))} {what} e{epoch}" if asked != Request.NOTHING else ""


def name_of(value: IntEnum) -> str:
    """Return the name of a state as Kafka writes it, such as PrepareCommit."""
    return "".join(word.capitalize() for word in value.name.split("_"))


def words_of(value: IntEnum) -> str:
    """Return the name of a value in words, such as `in transaction`."""
    return value.name.lower().replace("_", " ")


def _joined(*items: str) -> str:
    return "  ".join(item for item in items if item)
