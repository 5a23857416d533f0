"""Who lost what: which record was promised when, and which steps took it away.

In:  a trace of a model of Kafka's replication that ends where a promise about records is broken.
Out: the `Loss`, and the lines that say it; None for every other trace.

The step that removes the last copy that mattered and the step that makes the property false can differ: a follower
truncates, and only its election makes the record gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from models.language.declare import NONE
from models.language.model import spell, spell_element
from models.run import State
from traces.trace import PERMITTED, VIOLATED, Trace

FIELDS = ("acknowledged", "controller_isr", "controller_leader", "exposed_record", "log_record")
ALL = "ALL"
GIVEN_UP = {
    "unclean_elections": "an unclean election",
    "power_losses": "a loss of power",
    "disk_losses": "a loss of a disk",
}
"""Budgets whose use gives data up, and what one of them is."""


@dataclass(frozen=True)
class Loss:
    """A record, and the numbers of the steps that promised it, removed the copy that mattered, and broke the promise.

    `broker` is the one that counts: the leader, or the member of the ISR that lacks the record. It lost its copy in
    step `removed`; where it never had one that is None, and `admitted` is the step that let it into the ISR (None: it
    was in from the start, or never). `promise` and `outcome` say what was promised, and what has become of it.
    """

    record: int
    promise: str
    promised: int
    broker: int
    removed: int | None
    admitted: int | None
    outcome: str
    lost: int


def find_loss(trace: Trace) -> Loss | None:
    """The loss that a trace ends with, if it speaks about one."""
    finders = {"acked_not_lost": _lost_by_leader, "isr_is_complete": _missing_in_isr}
    is_kafka = all(name in trace.instance.places for name in FIELDS)
    if not is_kafka or trace.verdict not in (VIOLATED, PERMITTED) or trace.property_name not in finders:
        return None
    return finders[trace.property_name]([State(trace.instance, cells) for cells in trace.states])


def _lost_by_leader(states: list[State]) -> Loss:
    last = states[-1]
    broker = last.controller_leader
    record = next(r for r in range(last.records) if last.acknowledged[r] and not _holds(last, broker, r))
    promised = _first(states, lambda s: bool(s.acknowledged[record]))
    removed = _last_change(states, lambda s: _holds(s, broker, record), to=False)
    return Loss(record, "acknowledged", promised, broker, removed, _admitted(states, broker), "lost", len(states) - 1)


def _missing_in_isr(states: list[State]) -> Loss:
    last = states[-1]
    broker, offset = next(
        (r, o)
        for r in range(last.replicas)
        if last.controller_isr[r]
        for o in range(last.log_size)
        if last.exposed_record[o] not in (NONE, last.log_record[r][o])
    )
    record = last.exposed_record[offset]
    promised = _first(states, lambda s: bool(s.exposed_record[offset] == record))
    removed = _last_change(states, lambda s: bool(s.log_record[broker][offset] == record), to=False)
    admitted, broken = _admitted(states, broker), "missing from the ISR"
    return Loss(record, "exposed to readers", promised, broker, removed, admitted, broken, len(states) - 1)


def _admitted(states: list[State], broker: int) -> int | None:
    return _last_change(states, lambda s: bool(s.controller_isr[broker]), to=True)


def _holds(s: State, r: int, record: int) -> bool:
    return any(s.log_record[r][offset] == record for offset in range(s.log_size))


def _first(states: list[State], is_true: Callable[[State], bool]) -> int:
    return next(position for position, s in enumerate(states) if is_true(s))


def _last_change(states: list[State], is_true: Callable[[State], bool], to: bool) -> int | None:
    """The last step that made it so, or None where no step did."""
    truths = [is_true(s) for s in states]
    changes = [i for i in range(1, len(truths)) if truths[i] is to and truths[i - 1] is not to]
    return changes[-1] if changes else None


def lines(trace: Trace) -> list[str]:
    """The loss in words, and what permits it; of any other failure, what permits it."""
    loss = find_loss(trace)
    if loss is None:
        return [_permission(trace)] if trace.verdict == PERMITTED and _given_up(trace) else []
    record = spell_element(loss.record)
    states = [State(trace.instance, cells) for cells in trace.states]
    found = [f"record {record}: {loss.promise} {_when(trace, loss.promised)}"]
    if loss.removed is not None:
        found.append(f"  removed from broker {loss.broker} {_when(trace, loss.removed)}")
    elif not any(_holds(s, r, loss.record) for s in states for r in range(s.replicas)):
        found.append("  never on any broker")
    else:
        found.append(f"  never on broker {loss.broker}, {_membership(trace, loss)}")
    found.append(f"  {loss.outcome} {_when(trace, loss.lost)}")
    found.append(_permission(trace))
    return found


def _when(trace: Trace, position: int) -> str:
    if not position:
        return "from the start"
    return f"at step {position} by {trace.instance.spell_step(trace.steps[position - 1])}"


def _membership(trace: Trace, loss: Loss) -> str:
    if loss.admitted is not None:
        return f"which came into the ISR {_when(trace, loss.admitted)}"
    was_member = State(trace.instance, trace.states[0]).controller_isr[loss.broker]
    return "which was in the ISR from the start" if was_member else "which was never in the ISR"


def _permission(trace: Trace) -> str:
    """What in the history or in the configuration permits the loss."""
    acks = _acks(trace) if trace.property_name == "acked_not_lost" else None
    reasons = []
    if acks is not None and acks != ALL:
        reasons.append(f"acks={_spelled_acks(trace)} does not wait for the ISR")
    reasons += _given_up(trace)
    if trace.verdict == PERMITTED:
        return f"permitted: {'; '.join(reasons) or 'the model says so'}"
    promise = "" if acks is None else f"acks={_spelled_acks(trace)} promises it, and "
    return f"not permitted: {promise}no unclean election, loss of power or loss of a disk took place"


def _acks(trace: Trace) -> str | None:
    entry = trace.instance.model.entries.get("acks")
    if entry is None or entry.values is None or not issubclass(entry.values, IntEnum):
        return None
    return entry.values(trace.instance.configuration.acks).name


def _spelled_acks(trace: Trace) -> str:
    return spell(trace.instance.model.entries["acks"], trace.instance.configuration.acks)


def _given_up(trace: Trace) -> list[str]:
    """The steps of this history that spent a budget with which data is given up."""
    found = []
    for budget, what in GIVEN_UP.items():
        place = trace.instance.places.get(f"{budget}_left")
        if place is not None:
            found += [f"{what} {_when(trace, position)}" for position in _decreases(trace, place.offset)]
    return found


def _decreases(trace: Trace, cell: int) -> list[int]:
    """The steps after which a cell holds less than before."""
    return [i for i in range(1, len(trace.states)) if trace.states[i][cell] < trace.states[i - 1][cell]]
