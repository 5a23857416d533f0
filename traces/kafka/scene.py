"""A trace of Kafka's replication as a scene: the controller, each broker with its log, the producers, the readers.

In:  a trace of Kafka's model.
Out: a `Scene`. Notes in a broker's lane show items besides its log, role and pointers: the ISR in a leader's view, the
     leader's knowledge of its followers, the leader epoch cache if it differs from the log, and what partition_notes.py
     says of the generations since 2.8.
"""

from __future__ import annotations

from dataclasses import replace

from isrcheck.models.kafka.state.values import Fetch, TransactionState, Truncation
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.traces.format.spelling import spell_entry
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.kafka.fates import BAD, fates
from isrcheck.traces.kafka.lanes import epoch_cache_news, stray_offsets
from isrcheck.traces.kafka.messages import events
from isrcheck.traces.kafka.model import last_stable_offset
from isrcheck.traces.kafka.partition_notes import broker_notes, controller_notes
from isrcheck.traces.kafka.partition_state import alters_partitions, spell_flags
from isrcheck.traces.kafka.step_context import LaneNumbers
from isrcheck.traces.lanes.scene import Arrow, Cell, Fate, Lane, Mark, Moment

FETCHES = {
    Fetch.PARKED: "fetch parked at",
    Fetch.ANSWERED: "fetch answered by",
    Fetch.DIVERGING: "fetch answered by",
}
"""A follower's outstanding fetch, by its stage."""


def lane_titles(trace: Trace) -> tuple[str, ...]:
    """Return the titles of the lanes, in the order of messages.LaneNumbers."""
    configuration = trace.instance.configuration
    producers = [f"transaction {t}" for t in range(configuration.transactions)]
    readers = ["read_uncommitted", "read_committed"] if configuration.transactions else ["readers"]
    brokers = [f"broker {r}" for r in range(configuration.replicas)]
    return ("controller", *brokers, "producer", *producers, *readers)


def moments(trace: Trace) -> tuple[Moment, ...]:
    """Return one moment per state, without the values of the variables."""
    configuration = trace.instance.configuration
    lanes = LaneNumbers(configuration.replicas, configuration.transactions)
    states = [State(trace.instance, cells) for cells in trace.states]
    ends = [end for s in states for r in range(s.replicas) for end in (s.log_end_offset[r], s.high_watermark[r])]
    strays = [offset + 1 for s in states for r in range(s.replicas) for offset in stray_offsets(s, r)]
    offsets = max(1, *ends, *strays)
    found = []
    for position, (s, fate) in enumerate(zip(states, fates(states), strict=True)):
        happened = (
            []
            if position == 0
            else list(events(trace.instance, lanes, states[position - 1], trace.steps[position - 1], s))
        )
        found.append(
            Moment(
                trace.spell_row(position),
                _lanes(s, fate, offsets),
                tuple(one for one in happened if isinstance(one, Arrow)),
                tuple(one for one in happened if isinstance(one, Mark)),
                fate,
            )
        )
    return tuple(found)


def _lanes(s: State, fate: tuple[Fate, ...], offsets: int) -> tuple[Lane, ...]:
    """The content of all lanes; every log is drawn with the largest number of offsets that the trace uses."""
    lanes = [_controller(s), *(_broker(s, r, offsets) for r in range(s.replicas)), _producer(s, fate)]
    lanes += [_transaction(s, t, fate) for t in range(s.transactions)]
    lanes.append(_readers(s, "exposed_record", offsets))
    if s.transactions:
        lanes.append(_readers(s, "read_committed_record", offsets))
    return tuple(lanes)


def _controller(s: State) -> Lane:
    leader = "no leader" if s.controller_leader == NONE else f"leader {s.controller_leader}"
    isr = f"ISR {spell_flags(s, s.controller_isr)}"
    title = f"epoch {s.controller_epoch}"
    if alters_partitions(s):
        title += f", partition epoch {s.controller_partition_epoch}"
    return Lane(title, "controller", notes=(leader, isr, *controller_notes(s)))


# -------------------------------------------------------------------------------------------------------------- brokers


def _broker(s: State, r: int, offsets: int) -> Lane:
    start, end, high_watermark = s.log_start_offset[r], s.log_end_offset[r], s.high_watermark[r]
    cells = [_cell(s, r, offset) for offset in range(offsets)]
    pointers = [("HW", high_watermark), ("LEO", end)]
    stable = last_stable_offset(s, r)
    if stable != high_watermark:
        pointers.insert(0, ("LSO", stable))
    if start:
        pointers.insert(0, ("start", start))
    title, role = _role(s, r)
    return Lane(title, role, tuple(cells), tuple(pointers), tuple(_notes(s, r)))


def _cell(s: State, r: int, offset: int) -> Cell:
    if offset in stray_offsets(s, r):
        return Cell(f"[{spell_entry(s, s.log_record[r][offset], s.log_epoch[r][offset])}]", kind="missing")
    if offset >= s.log_end_offset[r]:
        return Cell("", kind="missing" if offset < s.high_watermark[r] else "free")
    if offset < s.log_start_offset[r]:
        return Cell("", kind="deleted")
    record, epoch = s.log_record[r][offset], s.log_epoch[r][offset]
    return Cell(spell_entry(s, record, epoch), None if epoch == NONE else epoch, _kind(s, record))


def _kind(s: State, entry: int) -> str:
    if entry == NONE:
        return "missing"
    return "record" if entry < s.records else "marker"


def _role(s: State, r: int) -> tuple[str, str]:
    if not s.is_up[r]:
        return "down", "down"
    epoch = s.leader_epoch[r]
    if s.leader[r] == r:
        is_zombie = s.controller_leader != r or _awaits_leadership(s, r)
        return f"leads in epoch {epoch}", "zombie" if is_zombie else "leader"
    if s.leader[r] == NONE:
        return f"no leader, epoch {epoch}", "elected" if _awaits_leadership(s, r) else "follower"
    word = "truncating" if s.is_truncating[r] else "follower"
    title = f"{'reconciles with' if word == 'truncating' else 'follows'} {s.leader[r]} in epoch {epoch}"
    return title, "elected" if _awaits_leadership(s, r) else word


def _awaits_leadership(s: State, r: int) -> bool:
    """The controller has elected the broker, which has not heard of it yet."""
    is_aware = s.leader[r] == r and s.leader_epoch[r] == s.controller_epoch
    return bool(s.controller_leader == r and s.is_up[r] and not is_aware)


def _notes(s: State, r: int) -> list[str]:
    found = []
    if _awaits_leadership(s, r):
        found.append(f"elected for epoch {s.controller_epoch}")
    if s.leader[r] == r:
        found.append(f"ISR {spell_flags(s, s.isr[r])}")
        known = [
            f"{f}:{s.remote_log_end_offset[r][f]}"
            for f in range(s.replicas)
            if f != r and s.remote_log_end_offset[r][f] != NONE
        ]
        if known:
            found.append(f"followers at {' '.join(known)}")
        waiting = [spell_element(record) for record in range(s.records) if s.pending[record] == r]
        if waiting:
            found.append(f"acks=all waits: {' '.join(waiting)}")
    found += [
        f"{FETCHES[Fetch(s.fetch[r][leader])]} {leader}"
        for leader in range(s.replicas)
        if s.fetch[r][leader] != Fetch.NONE
    ]
    if s.TRUNC != Truncation.HW and (cache := epoch_cache_news(s, r)):
        found.append(f"epoch cache {' '.join(cache)}")
    return [*found, *broker_notes(s, r)]


# -------------------------------------------------------------------------------------------------------------- clients


def _producer(s: State, fate: tuple[Fate, ...]) -> Lane:
    """The lane of the producer outside transactions, with the fate of its records."""
    return _told(Lane("", "client"), s, fate, NONE)


def _transaction(s: State, transaction: int, fate: tuple[Fate, ...]) -> Lane:
    """The lane of a transaction's producer, and of the coordinator that ends the transaction."""
    state = TransactionState(s.transaction_state[transaction])
    is_begun = any(s.transaction_of[record] == transaction for record in range(s.records))
    title = state.name.lower() if is_begun or state != TransactionState.OPEN else "not begun"
    return _told(Lane(title, "client"), s, fate, transaction)


def _told(lane: Lane, s: State, fate: tuple[Fate, ...], transaction: int) -> Lane:
    """Return the lane with the fate of one producer's records added."""
    notes, alarms = [], []
    for record, one in enumerate(fate):
        if s.transaction_of[record] == transaction:
            good = [word for word, _ in one.words[1:] if word not in BAD] or [one.words[0][0]]
            bad = [word for word, _ in one.words if word in BAD]
            notes.append(f"{one.record}: {', '.join(good)}")
            alarms += [f"{one.record} is {' and '.join(bad)}"] if bad else []
    return replace(lane, notes=tuple(notes), alarms=tuple(alarms))


def _readers(s: State, name: str, offsets: int) -> Lane:
    """The lane of readers: the record that was read first at each offset."""
    first = getattr(s, name)
    cells = []
    for offset in range(min(offsets, s.log_size)):
        entry = first[offset]
        if entry == NONE:
            cells.append(Cell("", kind="free"))
        else:
            is_record = entry < s.records
            text = spell_element(entry) if is_record else spell_entry(s, entry, 0)[:-1]
            cells.append(Cell(text, kind="record" if is_record else "marker"))
    return Lane("first read", "client", tuple(cells))
