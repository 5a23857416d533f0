"""A trace of Kafka's transactions as a scene: the coordinator, the producer's instances, the partitions.

In:  a trace of the model `transactions`.
Out: lane titles and moments, as in kafka/scene.py; messages.py finds the messages of a step.
"""

from __future__ import annotations

from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.models.transactions.values import Entry, Marker, Outcome, Phase, TransactionState
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.lanes.scene import Arrow, Cell, Lane, Mark, Moment
from isrcheck.traces.transactions import columns
from isrcheck.traces.transactions.lanes import holds, last_stable_offset, late_request, name_of, words_of
from isrcheck.traces.transactions.messages import events


def lane_titles(trace: Trace) -> tuple[str, ...]:
    """Return the titles of the lanes, in the order of messages.LaneNumbers."""
    return tuple(columns.titles(trace.instance))


def moments(trace: Trace) -> tuple[Moment, ...]:
    """Return one moment per state, without the values of the variables."""
    states = [State(trace.instance, cells) for cells in trace.states]
    offsets = max(1, *(s.log_end_offset[p] for s in states for p in range(s.partitions)))
    found = [Moment(trace.spell_row(0), _lanes(states[0], offsets))]
    for position, (step, before, s) in enumerate(zip(trace.steps, states, states[1:], strict=False), 1):
        happened = list(events(trace.instance, step, before))
        found.append(
            Moment(
                trace.spell_row(position),
                _lanes(s, offsets),
                tuple(one for one in happened if isinstance(one, Arrow)),
                tuple(one for one in happened if isinstance(one, Mark)),
            )
        )
    return tuple(found)


def _lanes(s: State, offsets: int) -> tuple[Lane, ...]:
    producers = (_producer(s, i) for i in range(s.producers))
    return (_coordinator(s), *producers, *(_partition(s, p, offsets) for p in range(s.partitions)))


def _coordinator(s: State) -> Lane:
    notes = [f"coordinator epoch {s.coordinator_epoch}", f"producer epoch {s.producer_epoch}"]
    if members := [str(p) for p in range(s.partitions) if s.in_transaction[p]]:
        notes.append(f"partitions {' '.join(members)}")
    if s.pending_state != TransactionState.NOTHING:
        notes.append(f"writes {name_of(TransactionState(s.pending_state))}")
    notes += [f"{spell_element(t)}: {words_of(Outcome(s.outcome[t]))}" for t in range(s.transactions) if s.outcome[t]]
    if late := late_request("EndTxn", s.late_end_txn, s.late_end_txn_epoch):
        notes.append(late)
    return Lane(name_of(TransactionState(s.transaction_state)), "controller", notes=tuple(notes))


def _producer(s: State, i: int) -> Lane:
    notes = [f"epoch {s.epoch[i]}"] if s.epoch[i] != NONE else []
    latest = [t for t in range(s.transactions) if s.begun_by[t] == i]
    if latest and s.phase[i] in (Phase.IN_TRANSACTION, Phase.COMMITTING, Phase.ABORTING):
        notes.append(f"transaction {spell_element(latest[-1])}, input {s.processed_input[latest[-1]]}")
    return Lane(words_of(Phase(s.phase[i])), "down" if s.phase[i] == Phase.STOPPED else "client", notes=tuple(notes))


def _partition(s: State, p: int, offsets: int) -> Lane:
    stable, pointers = last_stable_offset(s, p), [("HW", s.high_watermark[p]), ("LEO", s.log_end_offset[p])]
    if stable != s.high_watermark[p]:
        pointers.insert(0, ("LSO", stable))
    sent = [spell_element(t) for t in range(s.transactions) if s.was_sent[p][t] and not holds(s, p, t)]
    notes = [
        f"knows producer epoch {s.known_epoch[p]}" if s.known_epoch[p] != NONE else "",
        f"knows coordinator epoch {s.known_coordinator_epoch[p]}" if s.known_coordinator_epoch[p] != NONE else "",
        f"under way: {' '.join(sent)}" if sent else "",
        f"verified: {spell_element(s.verified[p])}" if s.verified[p] != NONE else "",
        f"marker {words_of(Marker(s.marker[p]))}" if s.marker[p] != Marker.NOT_SENT else "",
        late_request("marker", s.late_marker[p], s.late_marker_epoch[p]),
    ]
    cells = tuple(_cell(Entry(s.log_record[p][offset])) for offset in range(offsets))
    return Lane("", "", cells, tuple(pointers), tuple(note for note in notes if note))


def _cell(entry: Entry) -> Cell:
    if entry == Entry.EMPTY:
        return Cell("", kind="free")
    if entry < Entry.A:
        return Cell(entry.name.lower(), kind="marker")
    return Cell(spell_element(entry - Entry.A))
