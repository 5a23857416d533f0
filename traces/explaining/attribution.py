"""Who did what: which record was promised when and which steps took it away, or which steps wrote what does not agree;
and what permits it.

In:  a trace of a model of Kafka's replication that ends where a promise about records is broken.
Out: the `Loss`, and the lines that say it; none for every other trace.

The step that removes the last copy that mattered and the step that makes the property false can differ: a follower
truncates, and only its election makes the record gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import partial

from isrcheck.models.language.model import spell
from isrcheck.models.run import State
from isrcheck.traces.explaining import divergence
from isrcheck.traces.explaining.history import History
from isrcheck.traces.format.spelling import name_entry
from isrcheck.traces.format.trace import PERMITTED, VIOLATED, Trace
from isrcheck.traces.format.why_false import why_broken
from isrcheck.traces.kafka.model import holds_record, is_kafka

ALL = "ALL"
GIVEN_UP = {
    "unclean_elections": "an unclean election",
    "power_losses": "a loss of power",
    "disk_losses": "a loss of a disk",
}
"""Budgets whose use gives data up, and what one of them is."""

SENT_AGAIN = {"retries": "a request sent again without idempotence"}
"""The budget whose use gives up what SENT_ONCE promise."""

SENT_ONCE = ("no_duplicates", "order_preserved")


@dataclass(frozen=True)
class Loss:
    """An entry, and the numbers of the steps that promised it, removed the copy that mattered, and broke the promise.

    `broker` is the one that counts: the leader, or the member of the ISR that lacks the entry. It lost its copy in
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
    if trace.verdict not in (VIOLATED, PERMITTED) or not is_kafka(trace.instance):
        return None
    return _find(History(trace), why_broken(trace).numbers())


def _find(history: History, numbers: dict[str, int]) -> Loss | None:
    """The loss, given what the names in the property stand for where it is false."""
    name = history.trace.property_name
    if name == "acked_not_lost" and "record" in numbers:
        return _lost_by_leader(history, numbers["record"])
    if name == "isr_is_complete" and {"member", "offset"} <= numbers.keys():
        return _missing_in_isr(history, numbers["member"], numbers["offset"])
    return None


def _lost_by_leader(history: History, record: int) -> Loss:
    broker = history.last.controller_leader
    promised = history.first(lambda s: bool(s.acknowledged[record]))
    removed = history.last_change(lambda s: holds_record(s, broker, record), to=False)
    admitted = _admitted(history, broker)
    return Loss(record, "acknowledged", promised, broker, removed, admitted, "lost", len(history.states) - 1)


def _missing_in_isr(history: History, broker: int, offset: int) -> Loss:
    record = history.last.exposed_record[offset]
    promised = history.first(lambda s: bool(s.exposed_record[offset] == record))
    removed = history.last_change(lambda s: bool(s.log_record[broker][offset] == record), to=False)
    admitted, broken = _admitted(history, broker), "missing from the ISR"
    return Loss(record, "exposed to readers", promised, broker, removed, admitted, broken, len(history.states) - 1)


def _admitted(history: History, broker: int) -> int | None:
    return history.last_change(lambda s: bool(s.controller_isr[broker]))


def lines(trace: Trace) -> list[str]:
    """The failure in words, and what permits it; of a failure that is not told, what permits it."""
    if trace.verdict not in (VIOLATED, PERMITTED):
        return []
    found: list[str] = []
    if is_kafka(trace.instance):
        history, numbers = History(trace), why_broken(trace).numbers()
        loss = _find(history, numbers)
        if loss is not None:
            found = _tell(history, loss)
        else:
            found = divergence.lines(history, trace.property_name or "", numbers)
    if found or (trace.verdict == PERMITTED and _given_up(trace)):
        found.append(_permission(trace))
    return found


def _tell(history: History, loss: Loss) -> list[str]:
    found = [f"{name_entry(history.last, loss.record)}: {loss.promise} {history.when(loss.promised)}"]
    found += _counted_on(history, loss)
    if loss.removed is not None:
        found.append(f"  removed from broker {loss.broker} {history.when(loss.removed)}")
    elif not any(holds_record(s, r, loss.record) for s in history.states for r in range(s.replicas)):
        found.append("  never on any broker")
    else:
        found.append(f"  never on broker {loss.broker}, {_membership(history, loss)}")
    return [*found, f"  {loss.outcome} {history.when(loss.lost)}"]


def _counted_on(history: History, loss: Loss) -> list[str]:
    """The followers of whom the leader that made the promise knew before that they had the entry."""
    before, s = history.states[max(0, loss.promised - 1)], history.states[loss.promised]
    found = []
    for leader in range(s.replicas):
        if s.leader[leader] != leader or s.high_watermark[leader] <= before.high_watermark[leader]:
            continue
        for member in range(s.replicas):
            if s.isr[leader][member] and member != leader:
                known = history.last_change(partial(_is_known, leader, member, loss.record), until=loss.promised)
                if known is not None and known < loss.promised:
                    when = history.when(known, "since")
                    found.append(f"  counting on broker {member}, known to have it {when}")
    return found


def _is_known(leader: int, follower: int, record: int, s: State) -> bool:
    """The leader has heard that the follower has fetched beyond this entry."""
    beyond = s.remote_log_end_offset[leader][follower]
    return any(s.log_record[leader][offset] == record for offset in range(max(0, beyond)))


def _membership(history: History, loss: Loss) -> str:
    if loss.admitted is not None:
        return f"which came into the ISR {history.when(loss.admitted)}"
    was_member = history.states[0].controller_isr[loss.broker]
    return "which was in the ISR from the start" if was_member else "which was never in the ISR"


# ---------------------------------------------------------------------------------------------------- what permits it


def _permission(trace: Trace) -> str:
    """What in the history or in the configuration permits the failure."""
    acks = _acks(trace) if trace.property_name == "acked_not_lost" else None
    reasons = []
    if acks is not None and acks != ALL:
        reasons.append(f"acks={_spelled_acks(trace)} does not wait for the ISR")
    reasons += _given_up(trace)
    if trace.verdict == PERMITTED:
        return f"permitted: {'; '.join(reasons) or 'the model says so'}"
    promise = "" if acks is None else f"acks={_spelled_acks(trace)} promises it, and "
    sent = "request sent again, " if trace.property_name in SENT_ONCE else ""
    return f"not permitted: {promise}no {sent}unclean election, loss of power or loss of a disk took place"


def _acks(trace: Trace) -> str | None:
    entry = trace.instance.model.entries.get("acks")
    if entry is None or entry.values is None or not issubclass(entry.values, IntEnum):
        return None
    return entry.values(trace.instance.configuration.acks).name


def _spelled_acks(trace: Trace) -> str:
    return spell(trace.instance.model.entries["acks"], trace.instance.configuration.acks)


def _given_up(trace: Trace) -> list[str]:
    """The steps of this history that spent a budget with which something is given up that the property promises."""
    found = []
    history = History(trace)
    budgets = SENT_AGAIN | GIVEN_UP if trace.property_name in SENT_ONCE else GIVEN_UP
    for budget, what in budgets.items():
        place = trace.instance.layouts.get(f"{budget}_left")
        if place is not None:
            found += [f"{what} {history.when(position)}" for position in _decreases(trace, place.offset)]
    return found


def _decreases(trace: Trace, cell: int) -> list[int]:
    """The steps after which a cell holds less than before."""
    return [i for i in range(1, len(trace.states)) if trace.states[i][cell] < trace.states[i - 1][cell]]
