"""Is a history of a log linearizable? A search by Wing and Gong, which knows nothing of the model.

J. M. Wing and C. Gong, Testing and Verifying Concurrent Objects, 1993: take as the next operation each one that began
before any other has ended, and see whether the log allows it; go back if none is left. A write without an answer may
take effect at any later time, or never: the log may hold its record, so a read may show it.
"""

from __future__ import annotations

from collections.abc import Sequence

from isrcheck.traces.other_tools.client_history import Operation


def is_linearizable(operations: Sequence[Operation]) -> bool:
    """Whether the operations can be put into one order that respects time, in which each read shows every record that
    was written before it, and no other. The order of the records in the log is not looked at."""
    failed: set[tuple[frozenset[int], frozenset[int]]] = set()

    def search(done: frozenset[int], written: frozenset[int]) -> bool:
        open_ones = [number for number in range(len(operations)) if number not in done]
        if all(operations[number].answered is None for number in open_ones):
            return True
        if (done, written) in failed:
            return False
        ends = [end for number in open_ones if (end := operations[number].answered) is not None]
        for number in open_ones:
            one = operations[number]
            # Steps are one at a time: what is answered in a step has ended before another step begins.
            if one.invoked > min(ends) or (one.invoked == min(ends) and one.answered != min(ends)):
                continue
            if one.is_read:
                if frozenset(one.records) != written:
                    continue
                after = written
            else:
                after = written | set(one.records)
            if search(done | {number}, after):
                return True
        failed.add((done, written))
        return False

    return search(frozenset(), frozenset())
