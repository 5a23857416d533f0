"""A trace of Kafka's replication as a scene: the controller, each broker with its log, the producers, the readers.

Notes in a broker's lane show facts other than its log, role and pointers (HW, LEO): the ISR in a leader's view, the
leader's knowledge of its followers, the leader epoch cache if it differs from the log, and what the generations since
2.8 add. The fate of a record is a list of words, each with the number of the step since which the word applies.

`committed` applies once a broker that believes it leads has the record below its high watermark, and `exposed` once a
reader of the configured isolation level could read the record; both words then stay. `lost` applies while the record is
acknowledged or exposed, no client has deleted it, and the controller's leader does not hold it. With KRaft, a leader
that stopped with a loss of data is judged only once it runs again. A later leader may restore the record, so `lost`,
`duplicated` and `on no broker` are listed only while they are true.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from isrcheck.models.kafka.state.values import Fetch, IsolationLevel, TransactionState, Truncation
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.traces.format.trace import Trace, spell_entry
from isrcheck.traces.kafka import model
from isrcheck.traces.kafka.actions import ACTIONS, EFFECTS
from isrcheck.traces.kafka.lanes import (
    alters_partitions,
    broker_notes,
    controller_notes,
    epoch_cache_news,
    spell_flags,
    stray_offsets,
)
from isrcheck.traces.lanes import scene
from isrcheck.traces.lanes.scene import Cell, Fate, Lane, Lanes, Moment, numbered

FETCHES = {
    Fetch.PARKED: "fetch parked at",
    Fetch.ANSWERED: "fetch answered by",
    Fetch.DIVERGING: "fetch answered by",
}
"""A follower's outstanding fetch, by its stage."""

ROLES = {"leader": "broker", "follower": "broker", "elected": "broker"}
"""The arguments of actions that are brokers."""


def lanes_of(instance: Instance) -> Lanes:
    """Return a scene's lanes. A transaction has one lane, for its producer and for the coordinator that ends it."""
    configuration = instance.configuration
    has_transactions = configuration.transactions > 0
    groups = {
        "controller": ["controller"],
        "broker": numbered("broker", configuration.replicas),
        "producer": ["producer"],
        "transaction": numbered("transaction", configuration.transactions),
        "readers": ["read_uncommitted" if has_transactions else "readers"],
        "transaction_readers": ["read_committed"] if has_transactions else [],
    }
    # A consumer is one of the readers of its isolation level.
    reads_committed = has_transactions and configuration.isolation_level == IsolationLevel.READ_COMMITTED
    return Lanes(groups, ROLES | {"consumer": "transaction_readers" if reads_committed else "readers"})


def moments(trace: Trace) -> tuple[Moment, ...]:
    """Return a `Moment` for each state: the step that led to it, its lanes and its fates; variables are left out."""
    states = trace.named_states
    ends = [end for s in states for r in range(s.replicas) for end in (s.log_end_offset[r], s.high_watermark[r])]
    strays = [offset + 1 for s in states for r in range(s.replicas) for offset in stray_offsets(s, r)]
    offsets, by_state = max(1, *ends, *strays), fates(states)
    lanes = lanes_of(trace.instance)
    return scene.moments(trace, lanes, ACTIONS, EFFECTS, lambda at, s: _lanes(s, by_state[at], offsets), by_state)


def _lanes(s: State, fate: tuple[Fate, ...], offsets: int) -> tuple[Lane, ...]:
    """The content of all lanes; every log is drawn with the largest number of offsets that the trace uses."""
    lanes = [_controller(s), *(_broker(s, r, offsets) for r in range(s.replicas)), _producer("", s, fate, NONE)]
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
    stable = model.last_stable_offset(s, r)
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
    entry, epoch = s.log_record[r][offset], s.log_epoch[r][offset]
    kind = "missing" if entry == NONE else "record" if entry < s.records else "marker"
    return Cell(spell_entry(s, entry, epoch), None if epoch == NONE else epoch, kind)


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
    """Whether the controller has elected the broker, but the broker has not heard of its election yet."""
    is_aware = s.leader[r] == r and s.leader_epoch[r] == s.controller_epoch
    return bool(s.controller_leader == r and s.is_up[r] and not is_aware)


def _notes(s: State, r: int) -> list[str]:
    notes = [f"elected for epoch {s.controller_epoch}"] if _awaits_leadership(s, r) else []
    if s.leader[r] == r:
        notes.append(f"ISR {spell_flags(s, s.isr[r])}")
        ends = [(follower, s.remote_log_end_offset[r][follower]) for follower in range(s.replicas) if follower != r]
        if offsets := [f"{follower}:{end}" for follower, end in ends if end != NONE]:
            notes.append(f"followers at {' '.join(offsets)}")
        if waiting := [spell_element(record) for record in range(s.records) if s.pending[record] == r]:
            notes.append(f"acks=all waits: {' '.join(waiting)}")
    fetches = [(leader, Fetch(s.fetch[r][leader])) for leader in range(s.replicas)]
    notes += [f"{FETCHES[fetch]} {leader}" for leader, fetch in fetches if fetch != Fetch.NONE]
    if s.TRUNC != Truncation.HW and (cache := epoch_cache_news(s, r)):
        notes.append(f"epoch cache {' '.join(cache)}")
    return [*notes, *broker_notes(s, r)]


# -------------------------------------------------------------------------------------------------------------- clients


def _transaction(s: State, transaction: int, fate: tuple[Fate, ...]) -> Lane:
    """The lane of a transaction's producer, and of the coordinator that ends the transaction."""
    state = TransactionState(s.transaction_state[transaction])
    is_begun = any(s.transaction_of[record] == transaction for record in range(s.records))
    title = state.name.lower() if is_begun or state != TransactionState.OPEN else "not begun"
    return _producer(title, s, fate, transaction)


def _producer(title: str, s: State, fates: tuple[Fate, ...], transaction: int) -> Lane:
    """A producer's lane, with the fates of its records in `transaction` (NONE: of its records outside transactions)."""
    notes, alarms = [], []
    for record, fate in enumerate(fates):
        if s.transaction_of[record] == transaction:
            good = [word for word, _ in fate.words[1:] if word not in BAD] or [fate.words[0][0]]
            bad = [word for word, _ in fate.words if word in BAD]
            notes.append(f"{fate.record}: {', '.join(good)}")
            alarms += [f"{fate.record} is {' and '.join(bad)}"] if bad else []
    return Lane(title, "client", notes=tuple(notes), alarms=tuple(alarms))


def _readers(s: State, name: str, offsets: int) -> Lane:
    """The lane of readers: at each offset, the record that was read there first, from the field `name`."""
    first = getattr(s, name)
    cells = (_read_cell(s, first[offset]) for offset in range(min(offsets, s.log_size)))
    return Lane("first read", "client", tuple(cells))


def _read_cell(s: State, entry: int) -> Cell:
    if entry == NONE:
        return Cell("", kind="free")
    return Cell(spell_element(entry)) if entry < s.records else Cell(spell_entry(s, entry, 0)[:-1], kind="marker")


# ------------------------------------------------------------------------------------------------- the fates of records

RecordCondition = Callable[[State, int], bool]


def _is_committed(s: State, record: int) -> bool:
    return any(
        s.leader[r] == r and s.log_record[r][offset] == record
        for r in range(s.replicas)
        for offset in range(min(s.log_size, s.high_watermark[r]))
    )


def _is_exposed(s: State, record: int) -> bool:
    return any(
        model.first_read(s, offset) == record
        or any(
            s.leader[r] == r and s.log_record[r][offset] == record and model.is_read(s, r, offset)
            for r in range(s.replicas)
        )
        for offset in range(s.log_size)
    )


def _is_missing(s: State, record: int) -> bool:
    leader = s.controller_leader
    is_held = leader == NONE or not model.is_judged(s, leader) or model.holds_record(s, leader, record)
    return not is_held and not model.was_deleted(s, record)


def _is_duplicated(s: State, record: int) -> bool:
    leader = s.controller_leader
    return bool(leader != NONE) and sum(s.log_record[leader][o] == record for o in range(s.log_size)) > 1


def _is_nowhere(s: State, record: int) -> bool:
    return not any(model.holds_record(s, r, record) for r in range(s.replicas))


LASTING: Mapping[str, RecordCondition] = {
    "sent": lambda s, record: bool(record < s.next_record),
    "acked": lambda s, record: bool(s.acknowledged[record]),
    "committed": _is_committed,
    "exposed": _is_exposed,
    "deleted": model.was_deleted,
}
PASSING: Mapping[str, RecordCondition] = {
    "never sent": lambda s, record: bool(record >= s.next_record),
    "duplicated": _is_duplicated,
    "lost": _is_missing,
    "on no broker": _is_nowhere,
}
PROMISES = ("acked", "exposed")
"""The words for records whose absence is a loss."""

BAD = ("duplicated", "lost")
"""The words that describe a failure."""


def _is_known(s: State, record: int) -> bool:
    """Whether the record was sent, or occurs in the state; in unreachable states, a record can occur unsent."""
    return bool(
        record < s.next_record or s.acknowledged[record] or _is_exposed(s, record) or not _is_nowhere(s, record)
    )


def fates(states: Sequence[State]) -> list[tuple[Fate, ...]]:
    """Return, for each state, the fates of the records that were sent or that occur in the state."""
    by_state = []
    since: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for position, s in enumerate(states):
        records = [record for record in range(s.records) if _is_known(s, record)]
        for record in records:
            words = since[record]
            for word, is_true in LASTING.items():
                if word not in words and is_true(s, record):
                    words[word] = position
            is_promised = any(word in words for word in PROMISES)
            for word, is_true in PASSING.items():
                if is_true(s, record) and (word != "lost" or is_promised):
                    words.setdefault(word, position)
                else:
                    words.pop(word, None)
        by_state.append(tuple(_fate(record, since[record]) for record in records))
    return by_state


def _fate(record: int, since: Mapping[str, int]) -> Fate:
    words = ("never sent", *LASTING, *(word for word in PASSING if word != "never sent"))
    return Fate(spell_element(record), tuple((word, since[word]) for word in words if word in since))
