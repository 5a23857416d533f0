"""Reports the results and reads of the clients while a trace was played, and compares them with the trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from isrcheck.commands.exit_codes import DIVERGED, DONE, UNDECIDED
from isrcheck.conformance.replay.projection import payload_of
from isrcheck.conformance.replay.steps import cells_of
from isrcheck.conformance.wire.script.played import Played, Reading
from isrcheck.models.kafka.state.values import IsolationLevel, TransactionState
from isrcheck.models.language import NONE
from isrcheck.models.run import State
from isrcheck.traces.format.trace import Trace


def lines_of(trace: Trace, played: Played) -> list[str]:
    """The report on a trace that was played to its end."""
    reading = played.reading
    if reading is None and _is_leaderless_as_said(trace, played):
        return ["a new consumer cannot read: no broker leads, although the cluster ran on for a minute without a fault"]
    if reading is None:
        return ["UNDECIDED: the new consumer could not read: the partition has no leader that answers"]
    read = reading.values
    start = f"start offset {reading.start_offset}, " if reading.start_offset else ""
    lines = [f"a new consumer reads: {' '.join(read) or 'nothing'} ({start}end offset {reading.end_offset})"]
    for value, (position, result) in sorted(played.told.items()):
        if result.error is None and value not in read and value not in _deleted(trace):
            lines.append(
                f"Record {value} is lost: after step {position}, its producer had the result: {result};"
                " a new consumer does not read it."
            )
    lines += [
        f"Record {value} is lost: it was committed at the start, and a new consumer does not read it."
        for value in _common(trace)
        if value not in read and value not in _deleted(trace)
    ]
    if len(lines) == 1:
        delivered = [each for _, each in played.told.values() if each.error is None]
        lines.append(
            "Every record that was reported as delivered is read."
            if delivered
            else "No record was reported as delivered."
        )
    lines += [f"Record {value} is read {count} times." for value, count in Counter(read).items() if count > 1]
    lines += [
        f"Record {later} was sent after {earlier}, and is read before it."
        for later, earlier in pairwise(dict.fromkeys(read))
        if later > earlier
    ]
    lines += [*_of_transactions(trace, played), *_of_consumers(trace, played, reading)]
    if trace.verdict == "PERMITTED":
        lines.append("The configuration of the trace permits this.")
    return lines + _contradictions(trace, played)


def _of_transactions(trace: Trace, played: Played) -> Iterator[str]:
    """What a new consumer with read_committed reads, and which committed records it does not read."""
    if played.committed is None:
        return
    read = played.committed.values
    yield f"with read_committed it reads: {' '.join(read) or 'nothing'}"
    for value, transaction, state in _in_transactions(trace):
        if state == TransactionState.COMMITTED and value not in read and value not in _deleted(trace):
            yield f"Record {value} is not read with read_committed, and its transaction {transaction} is committed."


def _in_transactions(trace: Trace) -> Iterator[tuple[str, int, TransactionState]]:
    """Each record of a transaction, with the transaction's number and its state at the end of the trace."""
    last = State(trace.instance, trace.states[-1])
    for record in range(last.next_record):
        transaction = last.transaction_of[record]
        if transaction != NONE:
            yield payload_of(record), transaction, TransactionState(last.transaction_state[transaction])


def _of_consumers(trace: Trace, played: Played, reading: Reading) -> Iterator[str]:
    """What each consumer read during the trace, and where a new consumer with the same isolation level reads
    something else."""
    is_committed = trace.instance.configuration.isolation_level == IsolationLevel.READ_COMMITTED
    new = dict((played.committed if is_committed and played.committed else reading).records)
    last = State(trace.instance, trace.states[-1])
    for consumer, read in enumerate(played.consumed):
        reader, position, had = f"Consumer {consumer}", last.position[consumer], dict(read)
        values = " ".join(value for _, value in read) or "nothing"
        yield f"consumer {consumer} has read: {values} (position {position})"
        for offset in range(reading.start_offset, position):
            before, now = had.get(offset), new.get(offset)
            if before is None and now is not None:
                yield f"{reader} is past offset {offset} without record {now}, which a new consumer reads there."
            elif before is not None and before != now:
                instead = f"a new consumer reads {now or 'nothing'} there"
                yield f"{reader} has read record {before} at offset {offset}; {instead}."


def code_of(trace: Trace, played: Played) -> int:
    """The exit code for a trace that was played to its end: DONE, DIVERGED, or UNDECIDED if nothing could be read."""
    if played.reading is None:
        return DONE if _is_leaderless_as_said(trace, played) else UNDECIDED
    return DIVERGED if _contradictions(trace, played) else DONE


def _waits_for_nobody(trace: Trace) -> bool:
    """Whether the trace shows a leaderless partition that waits for no broker whose return would give it a leader."""
    return trace.property_name == "leaderless_partition_awaits_a_broker" and trace.verdict is not None


def _is_leaderless_as_said(trace: Trace, played: Played) -> bool:
    return _waits_for_nobody(trace) and played.is_leaderless


def _contradictions(trace: Trace, played: Played) -> list[str]:
    """Where the results or reads of the clients differ from the trace."""
    delivered = {value for value, (_, each) in played.told.items() if each.error is None}
    meant = _acknowledged(trace) - set(_common(trace))
    contradictions = [
        *(
            f"DIVERGED: the trace acknowledges record {value}, which was not reported as delivered"
            for value in sorted(meant - delivered)
        ),
        *(
            f"DIVERGED: record {value} was reported as delivered, and the trace does not acknowledge it"
            for value in sorted(delivered - meant)
        ),
    ]
    is_lost = trace.property_name == "acked_not_lost" and trace.verdict is not None
    if is_lost and played.reading and _acknowledged(trace) - _deleted(trace) <= {*played.reading.values}:
        contradictions.append("DIVERGED: the trace loses a record, but the new consumer reads every acknowledged one")
    if _waits_for_nobody(trace) and played.reading:
        contradictions.append(
            "DIVERGED: the trace leaves the partition without a leader for good, but the new consumer reads"
        )
    last = State(trace.instance, trace.states[-1])
    for consumer, read in enumerate(played.consumed):
        entries = {offset: last.consumed_record[consumer][offset] for offset in range(last.log_size)}
        said = {offset: payload_of(entry) for offset, entry in entries.items() if entry != NONE}
        if dict(read) != said:
            contradictions.append(
                f"DIVERGED: consumer {consumer} has read {_spelt(dict(read))}, in the trace {_spelt(said)}"
            )
    committed = played.committed.values if played.committed else []
    for value, transaction, state in _in_transactions(trace):
        if state != TransactionState.COMMITTED and value in committed:
            what = state.name.lower()
            contradictions.append(
                f"DIVERGED: record {value} is read with read_committed, its transaction {transaction} is {what}"
            )
    return contradictions


def _spelt(read: dict[int, str]) -> str:
    return ", ".join(f"{value} at {offset}" for offset, value in sorted(read.items())) or "nothing"


def _acknowledged(trace: Trace) -> set[str]:
    cells = cells_of(trace.instance, trace.states[-1], "acknowledged")
    return {payload_of(record) for record, is_told in enumerate(cells) if is_told}


def _common(trace: Trace) -> list[str]:
    """The records that were committed before the first step."""
    return [payload_of(record) for record in range(cells_of(trace.instance, trace.states[0], "next_record")[0])]


def _deleted(trace: Trace) -> set[str]:
    """The records that DeleteRecords has removed from the log of at least one replica."""
    states = [State(trace.instance, cells) for cells in trace.states]
    removed = {
        state.log_record[replica][offset]
        for state in states
        for replica in range(state.replicas)
        for offset in range(states[-1].deleted_before)
    }
    return {payload_of(record) for record in removed if record >= 0}
