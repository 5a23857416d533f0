"""Attributes a failure to steps: which step promised the record, which removed it, and what permits the failure.

In:  a trace of a model of Kafka's replication that breaks a promise about records at its end.
Out: the `Loss`, and the lines that describe it; nothing for any other trace.

The step that removes the last relevant copy and the step that makes the property false can differ: a follower
truncates, and only its later election makes the record unavailable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import partial

from isrcheck.models.kafka.state.values import Failure
from isrcheck.models.language.model import spell
from isrcheck.models.run import State
from isrcheck.traces.explaining import divergence, isr_changes
from isrcheck.traces.explaining.isr_changes import PendingChange, uncounted_change
from isrcheck.traces.explaining.timeline import Timeline
from isrcheck.traces.format.trace import PERMITTED, VIOLATED, Trace, name_entry
from isrcheck.traces.format.why_false import why_broken
from isrcheck.traces.kafka.model import holds_record, is_counted, is_kafka

ALL = "ALL"
GIVEN_UP = {
    "unclean_elections": "an unclean election",
    "power_losses": "a loss of power",
    "disk_losses": "a loss of a disk",
}
"""The budgets of faults that can lose data, each with words for one such fault."""

SENT_AGAIN = {"retries": "a request sent again without idempotence"}
"""The budget whose use permits failures of the properties in SENT_ONCE, with words for one such use."""

CLAIM = "tolerates_claimed_failures"
"""The property that permits as many failures as KIP-966 claims to tolerate, and not more."""

SENT_ONCE = ("no_duplicates", "order_preserved")


@dataclass(frozen=True)
class Loss:
    """An entry, and the numbers of the steps that promised it, removed the relevant copy, and broke the promise.

    `broker` is the broker with the relevant copy: the leader, or the member of the ISR that lacks the entry. It lost
    its copy in step `removed`. If it never had a copy, `removed` is None and `admitted` is the step in which it joined
    the ISR (None: it was a member from the start, or never). `promise` and `outcome` describe the promise and the fate
    of the entry in words. `uncounted` is the change of the ISR that the leader did not count when it made the promise.
    """

    record: int
    promise: str
    promised: int
    broker: int
    removed: int | None
    admitted: int | None
    outcome: str
    lost: int
    uncounted: PendingChange | None = None


def find_loss(trace: Trace) -> Loss | None:
    """Return the loss at the end of a trace, or None if its property is not about losses."""
    if trace.verdict not in (VIOLATED, PERMITTED) or not is_kafka(trace.instance):
        return None
    return _find(Timeline(trace), why_broken(trace).numbers())


def _find(timeline: Timeline, numbers: dict[str, int]) -> Loss | None:
    """Return the loss, or None. `numbers` are the values of the property's variables for which it is false."""
    name = timeline.trace.property_name
    if name in ("acked_not_lost", CLAIM) and "record" in numbers:
        return _lost_by_leader(timeline, numbers["record"])
    if name == "isr_is_complete" and {"member", "offset"} <= numbers.keys():
        return _missing_in_isr(timeline, numbers["member"], numbers["offset"])
    return None


def _lost_by_leader(timeline: Timeline, record: int) -> Loss:
    broker = timeline.last.controller_leader
    promised = timeline.first(lambda s: bool(s.acknowledged[record]))
    removed = timeline.last_change(lambda s: holds_record(s, broker, record), to=False)
    return _loss(timeline, record, "acknowledged", promised, broker, removed, "lost")


def _missing_in_isr(timeline: Timeline, broker: int, offset: int) -> Loss:
    record = timeline.last.exposed_record[offset]
    promised = timeline.first(lambda s: bool(s.exposed_record[offset] == record))
    removed = timeline.last_change(lambda s: bool(s.log_record[broker][offset] == record), to=False)
    return _loss(timeline, record, "exposed to readers", promised, broker, removed, "missing from the ISR")


def _loss(
    timeline: Timeline, record: int, promise: str, promised: int, broker: int, removed: int | None, outcome: str
) -> Loss:
    admitted = timeline.last_change(lambda s: bool(s.controller_isr[broker]))
    changes = (uncounted_change(timeline, leader, broker, promised) for leader in _promising(timeline, promised))
    uncounted = next((change for change in changes if change is not None), None)
    end = len(timeline.states) - 1
    return Loss(record, promise, promised, broker, removed, admitted, outcome, end, uncounted)


def _promising(timeline: Timeline, promised: int) -> list[int]:
    """The leaders whose high watermark rose in the step that made the promise."""
    before, s = timeline.states[max(0, promised - 1)], timeline.states[promised]
    return [r for r in range(s.replicas) if s.leader[r] == r and s.high_watermark[r] > before.high_watermark[r]]


def lines(trace: Trace) -> list[str]:
    """Return lines that describe the failure, if it is of a known kind, and what permits it."""
    if trace.verdict not in (VIOLATED, PERMITTED):
        return []
    found: list[str] = []
    if is_kafka(trace.instance):
        timeline, numbers = Timeline(trace), why_broken(trace).numbers()
        loss = _find(timeline, numbers)
        if loss is not None:
            found = _tell(timeline, loss)
        else:
            found = divergence.lines(timeline, trace.property_name or "", numbers)
    if found or (trace.verdict == PERMITTED and _given_up(trace)):
        found.append(_permission(trace))
    return found


def _tell(timeline: Timeline, loss: Loss) -> list[str]:
    found = [f"{name_entry(timeline.last, loss.record)}: {loss.promise} {timeline.when(loss.promised)}"]
    found += _counted_on(timeline, loss)
    if loss.uncounted is not None:
        found += isr_changes.lines(timeline, loss.uncounted)
    if loss.removed is not None:
        found.append(f"  removed from broker {loss.broker} {timeline.when(loss.removed)}")
    elif not any(holds_record(s, r, loss.record) for s in timeline.states for r in range(s.replicas)):
        found.append("  never on any broker")
    else:
        found.append(f"  never on broker {loss.broker}, {_membership(timeline, loss)}")
    elected = isr_changes.election(timeline, loss.broker, loss.lost)
    return [*found, f"  {loss.outcome} {timeline.when(loss.lost)}{elected}"]


def _counted_on(timeline: Timeline, loss: Loss) -> list[str]:
    """Lines about the followers that the leader knew to hold the entry when it made the promise."""
    s = timeline.states[loss.promised]
    found = []
    for leader in _promising(timeline, loss.promised):
        for member in range(s.replicas):
            if member != leader and is_counted(s, leader, member):
                known = timeline.last_change(partial(_is_known, leader, member, loss.record), until=loss.promised)
                if known is not None and known < loss.promised:
                    when = timeline.when(known, "since")
                    process = isr_changes.earlier_process(timeline, leader, member, loss.promised)
                    found.append(f"  the leader relied on broker {member}, which it knew to have it {when}{process}")
    return found


def _is_known(leader: int, follower: int, record: int, s: State) -> bool:
    """Whether the leader knows from a fetch that the follower holds all entries up to this record."""
    beyond = s.remote_log_end_offset[leader][follower]
    return any(s.log_record[leader][offset] == record for offset in range(max(0, beyond)))


def _membership(timeline: Timeline, loss: Loss) -> str:
    if loss.admitted is not None:
        return f"which joined the ISR {timeline.when(loss.admitted)}"
    was_member = timeline.states[0].controller_isr[loss.broker]
    return "which was in the ISR from the start" if was_member else "which was never in the ISR"


# ------------------------------------------------------------------------------------------------------ what permits it


def permitting(trace: Trace) -> list[str]:
    """Return what in the configuration or in the trace permits its failure, such as `an unclean election`."""
    return [*_weak_acks(trace), *dict.fromkeys(what for what, _ in _given_up(trace))]


def _weak_acks(trace: Trace) -> list[str]:
    acks = _acks(trace) if trace.property_name in ("acked_not_lost", CLAIM) else None
    is_weak = acks is not None and acks != ALL
    return [f"acks={_spelled_acks(trace)} does not wait for the ISR"] if is_weak else []


def _permission(trace: Trace) -> str:
    """A line about what in the trace or in the configuration permits the failure, or that nothing does."""
    acks = _acks(trace) if trace.property_name in ("acked_not_lost", CLAIM) else None
    reasons = _weak_acks(trace)
    if trace.property_name == CLAIM and not reasons:
        return _claimed(trace)
    reasons += _when(trace, _given_up(trace))
    if trace.verdict == PERMITTED:
        return f"permitted: {'; '.join(reasons) or 'the property declares it'}"
    promise = "" if acks is None else f"acks={_spelled_acks(trace)} promises it, and "
    sent = ""
    if trace.property_name in SENT_ONCE:
        if _is_idempotent(trace):
            promise = "enable.idempotence=true promises it, and "
        else:
            sent = "request sent again, "
    return f"not permitted: {promise}no {sent}unclean election, loss of power or loss of a disk took place"


def _is_idempotent(trace: Trace) -> bool:
    return is_kafka(trace.instance) and bool(trace.instance.configuration.enable_idempotence)


def _claimed(trace: Trace) -> str:
    """A line that compares the failures of the trace with the number that KIP-966 claims to tolerate."""
    configuration = trace.instance.configuration
    claimed = min(configuration.min_insync_replicas, configuration.replicas) - 1
    failures = _given_up(trace)
    if configuration.claimed_failures == Failure.UNCLEAN_SHUTDOWN:
        failures += _spent(trace, {"crashes": "an unclean shutdown"})
    permitted = "permitted" if trace.verdict == PERMITTED else "not permitted"
    there = "; ".join(_when(trace, failures)) or "no failures"
    return f"{permitted}: KIP-966 claims to tolerate {claimed}; there were: {there}"


def _acks(trace: Trace) -> str | None:
    entry = trace.instance.model.entries.get("acks")
    if entry is None or entry.values is None or not issubclass(entry.values, IntEnum):
        return None
    return entry.values(trace.instance.configuration.acks).name


def _spelled_acks(trace: Trace) -> str:
    return spell(trace.instance.model.entries["acks"], trace.instance.configuration.acks)


def _given_up(trace: Trace) -> list[tuple[str, int]]:
    """The steps of this trace that spent a budget for faults that permit a failure of the property."""
    permits_resends = trace.property_name in SENT_ONCE and not _is_idempotent(trace)
    return _spent(trace, SENT_AGAIN | GIVEN_UP if permits_resends else GIVEN_UP)


def _spent(trace: Trace, budgets: Mapping[str, str]) -> list[tuple[str, int]]:
    """What the steps that spent one of these budgets paid for, each with the position of the step."""
    found = []
    for budget, what in budgets.items():
        place = trace.instance.layouts.get(f"{budget}_left")
        if place is not None:
            found += [(what, position) for position in _decreases(trace, place.offset)]
    return found


def _when(trace: Trace, spent: list[tuple[str, int]]) -> list[str]:
    timeline = Timeline(trace)
    return [f"{what} {timeline.when(position)}" for what, position in spent]


def _decreases(trace: Trace, cell: int) -> list[int]:
    """The steps after which a cell has a smaller value than before."""
    return [i for i in range(1, len(trace.states)) if trace.states[i][cell] < trace.states[i - 1][cell]]
