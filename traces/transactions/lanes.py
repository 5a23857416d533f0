"""A trace of Kafka's transactions as a table and a drawing: lanes for the coordinator, each producer, each partition.

A lane is a column. Each cell of the table is one line of text, which is printed again only when it changes. Facts that
are true from the start, such as that no marker was sent, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from itertools import pairwise, zip_longest

from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.models.transactions import log
from isrcheck.models.transactions import state as fields
from isrcheck.models.transactions.values import Entry, LateAnswer, Marker, Outcome, Phase, Request, TransactionState
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.lanes import scene
from isrcheck.traces.lanes.scene import Cell, Item, Lane, Lanes, Moment, declares, notes, numbered, signs
from isrcheck.traces.lanes.table import StepRow
from isrcheck.traces.transactions.actions import ACTIONS, holds, name_of

last_stable_offset: Callable[[State, int], int] = log.last_stable_offset

LEGEND = (
    ("e1", "producer epoch 1"),
    ("c1", "coordinator epoch 1"),
    ("a", "the record of transaction a"),
    ("C, A", "commit marker, abort marker"),
    ("|", "high watermark"),
    (":", "last stable offset, if it is below"),
    ("->", "is being appended to the coordinator's log"),
)

ANSWERS = {
    LateAnswer.NONE: "",
    LateAnswer.UNDER_WAY: "late answer",
    LateAnswer.REMOVED_ENTRY: "markers are forgotten",
}
"""The fate of an answer to a marker of an earlier coordinator epoch."""

MOST_STACKED = 0
"""The table has one layout."""


def is_transactions(instance: Instance) -> bool:
    """Whether the model has all fields and configuration entries of Kafka's transactions; these lanes need them."""
    return declares(instance, fields.State, fields.Configuration)


def lanes_of(instance: Instance) -> Lanes:
    """Return the lanes of the drawing, which are also the table's columns: coordinator, producers and partitions."""
    configuration = instance.configuration
    return Lanes(
        {
            "coordinator": ["coordinator"],
            "producer": numbered("producer", configuration.producers),
            "partition": numbered("partition", configuration.partitions),
        }
    )


def titles(instance: Instance) -> list[str]:
    """Return the titles of the columns to the right of the steps."""
    return [*lanes_of(instance).titles]


def rows(trace: Trace, _stacked: int = 0) -> list[StepRow]:
    """Return one row per state; unchanged columns are empty."""
    states = [_columns(s) for s in trace.named_states]
    changes = (
        tuple(() if text == old else (text,) for text, old in zip_longest(columns, before))
        for before, columns in pairwise([[], *states])
    )
    return [StepRow(position, trace.spell_row(position), cells) for position, cells in enumerate(changes)]


def legend(_trace: Trace) -> list[str]:
    """Return the meanings of the signs, for the lines below the table."""
    return [f"{sign:<4}  {meaning}" for sign, meaning in LEGEND]


def moments(trace: Trace) -> tuple[Moment, ...]:
    """Return a `Moment` (a step and the state after it) for each state; the field `variables` is left empty."""
    offsets = max(1, *(s.log_end_offset[p] for s in trace.named_states for p in range(s.partitions)))
    return scene.moments(trace, lanes_of(trace.instance), ACTIONS, (), lambda _, s: _lanes(s, offsets))


def _columns(s: State) -> list[str]:
    coordinator = f"c{s.coordinator_epoch} e{s.producer_epoch} {name_of(TransactionState(s.transaction_state))}"
    lines = [
        [coordinator, *signs(_of_coordinator(s))],
        *([f"e{s.epoch[i]}" if s.epoch[i] != NONE else "", _doing(s, i)] for i in range(s.producers)),
        *([_log(s, p), *signs(_of_partition(s, p))] for p in range(s.partitions)),
    ]
    return ["  ".join(item for item in line if item) for line in lines]


def _lanes(s: State, offsets: int) -> tuple[Lane, ...]:
    epochs = f"coordinator epoch {s.coordinator_epoch}", f"producer epoch {s.producer_epoch}"
    state = name_of(TransactionState(s.transaction_state))
    return (
        Lane(state, "controller", notes=(*epochs, *notes(_of_coordinator(s)))),
        *(_producer(s, i) for i in range(s.producers)),
        *(_partition(s, p, offsets) for p in range(s.partitions)),
    )


def _of_coordinator(s: State) -> Iterator[Item]:
    if in_transaction := [str(p) for p in range(s.partitions) if s.in_transaction[p]]:
        yield Item("".join(in_transaction), f"partitions {' '.join(in_transaction)}")
    if s.pending_state != TransactionState.NOTHING:
        state = name_of(TransactionState(s.pending_state))
        epoch = f" e{s.pending_epoch}" if s.pending_epoch != s.producer_epoch else ""
        added = f" +{s.pending_partition}" if s.pending_partition != NONE else ""
        yield Item(f"-> {state}{epoch}{added}", f"writes {state}")
    for t in range(s.transactions):
        if s.outcome[t]:
            outcome = words_of(Outcome(s.outcome[t]))
            yield Item(f"{spell_element(t)} {outcome}", f"{spell_element(t)}: {outcome}")
    late = late_request("EndTxn", s.late_end_txn, s.late_end_txn_epoch)
    yield Item(late, late)
    if s.late_answers > 0:
        yield Item(ANSWERS[LateAnswer(s.late_answer[0])])


def _doing(s: State, i: int) -> str:
    latest = _latest(s, i)
    doing = words_of(Phase(s.phase[i]))
    return doing if latest is None else f"{doing} {spell_element(latest)} (input {s.processed_input[latest]})"


def _latest(s: State, i: int) -> int | None:
    """Return the transaction that a producer is in, according to its own phase; None if it is in no transaction."""
    begun = [t for t in range(s.transactions) if s.begun_by[t] == i]
    is_in_one = s.phase[i] in (Phase.IN_TRANSACTION, Phase.COMMITTING, Phase.ABORTING)
    return begun[-1] if begun and is_in_one else None


def _producer(s: State, i: int) -> Lane:
    notes, latest = [f"epoch {s.epoch[i]}"] if s.epoch[i] != NONE else [], _latest(s, i)
    if latest is not None:
        notes.append(f"transaction {spell_element(latest)}, input {s.processed_input[latest]}")
    return Lane(words_of(Phase(s.phase[i])), "down" if s.phase[i] == Phase.STOPPED else "client", notes=tuple(notes))


def _of_partition(s: State, p: int) -> Iterator[Item]:
    if (epoch := s.known_epoch[p]) != NONE:
        yield Item(f"knows e{epoch}", f"knows producer epoch {epoch}")
    if (epoch := s.known_coordinator_epoch[p]) != NONE:
        yield Item(f"c{epoch}", f"knows coordinator epoch {epoch}")
    if sent := [spell_element(t) for t in range(s.transactions) if s.was_sent[p][t] and not holds(s, p, t)]:
        yield Item(f"{','.join(sent)} under way", f"under way: {' '.join(sent)}")
    if s.verified[p] != NONE:
        yield Item(f"{spell_element(s.verified[p])} verified", f"verified: {spell_element(s.verified[p])}")
    if s.marker[p] != Marker.NOT_SENT:
        marker = f"marker {words_of(Marker(s.marker[p]))}"
        yield Item(marker, marker)
    if late := late_request("marker", s.late_marker[p], s.late_marker_epoch[p]):
        yield Item(f"{late} c{s.late_marker_coordinator_epoch[p]}", late)


def _partition(s: State, p: int, offsets: int) -> Lane:
    stable, pointers = last_stable_offset(s, p), [("HW", s.high_watermark[p]), ("LEO", s.log_end_offset[p])]
    if stable != s.high_watermark[p]:
        pointers.insert(0, ("LSO", stable))
    cells = tuple(_cell(Entry(s.log_record[p][offset])) for offset in range(offsets))
    return Lane("", "", cells, tuple(pointers), tuple(notes(_of_partition(s, p))))


def _cell(entry: Entry) -> Cell:
    if entry == Entry.EMPTY:
        return Cell("", kind="free")
    if entry < Entry.A:
        return Cell(entry.name.lower(), kind="marker")
    return Cell(spell_element(entry - Entry.A))


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


def late_request(kind: str, request: int, epoch: int) -> str:
    """Return the late copy of a request as text, such as `late commit marker e1`; "" if there is no such copy."""
    return f"late {words_of(Request(request))} {kind} e{epoch}" if request != Request.NOTHING else ""


def words_of(value: IntEnum) -> str:
    """Return the name of a value in words, such as `in transaction`."""
    return value.name.lower().replace("_", " ")
