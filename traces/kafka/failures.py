"""Explains what goes wrong in a trace of Kafka's replication, in lines of text: lost records and contradictions.

A record is promised once it is acknowledged or exposed. The step that removes a broker's copy and the step that makes
the property false can differ: a follower truncates, and only its later election makes the record unavailable. For a
trace of any other model, the lines say only which faults permit the failure. table.fitted breaks lines that are long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.state.values import AlterPartition, BrokerEpoch, Failure
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import spell
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.traces.format.trace import (
    PERMITTED,
    VIOLATED,
    Trace,
    arguments_of,
    name_entry,
    spell_entry,
)
from isrcheck.traces.format.why_false import why_broken
from isrcheck.traces.kafka import model
from isrcheck.traces.kafka.actions import ACTIONS, brokers, members
from isrcheck.traces.kafka.lanes import alters_partitions, has_kraft, is_kafka, is_pending
from isrcheck.traces.lanes.scene import takes

# ----------------------------------------------------------------------------------------------------------------- when


class Timeline:
    """Finds the steps of a Kafka trace that changed a predicate or a log. State 0 is initial; step n leads to state
    n."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.states = trace.named_states
        self.last = self.states[-1]

    def first(self, is_true: Callable[[State], bool]) -> int:
        """Return the number of the first state that satisfies a predicate. Some state has to satisfy it."""
        return next(position for position, s in enumerate(self.states) if is_true(s))

    def last_change(self, is_true: Callable[[State], bool], to: bool = True, until: int | None = None) -> int | None:
        """Return the last step, up to `until`, that changed the predicate's value to `to`; None if no step did."""
        truths = [is_true(s) for s in self.states[: None if until is None else until + 1]]
        changes = [i for i in range(1, len(truths)) if truths[i] is to and truths[i - 1] is not to]
        return changes[-1] if changes else None

    def when(self, position: int | None, word: str = "at") -> str:
        """Return `word` and the step at `position`, as in `at step 3 by ...`; for 0 and None, `from the start`."""
        if not position:
            return "from the start"
        return f"{word} step {position} by {self.trace.instance.spell_step(self.trace.steps[position - 1])}"

    def since(self, is_true: Callable[[State], bool]) -> str:
        """Return since when a predicate that is true in the last state has been true, as in `since step 3 by ...`."""
        return self.when(self.last_change(is_true), "since")

    # ---------------------------------------------------------------------------------------------------------- entries

    def entry(self, r: int, offset: int) -> str:
        """Return the entry of replica `r` at `offset` in the last state as text: record and epoch, such as `a0`."""
        return spell_entry(self.last, self.last.log_record[r][offset], self.last.log_epoch[r][offset])

    def origin(self, r: int, offset: int) -> str:
        """Return in words when the entry of replica `r` at `offset` in the last state was sent, appended and copied."""
        record, epoch = self.last.log_record[r][offset], self.last.log_epoch[r][offset]
        appended = self.appended(offset, record, epoch)
        copied = self.last_change(lambda s: (s.log_record[r][offset], s.log_epoch[r][offset]) == (record, epoch))
        is_copy = copied is not None and copied != appended
        return self.sending(record, appended) + (f", copied {self.when(copied)}" if is_copy else "")

    def was_held(self, record: int) -> bool:
        """Return whether any broker ever had the record."""
        return any(model.holds_record(s, r, record) for s in self.states for r in range(s.replicas))

    def sending(self, record: int, appended: int | None) -> str:
        """Return in words when a record was appended (in step `appended`), and when it was first sent, if earlier."""
        appending = "there from the start" if appended is None else f"appended {self.when(appended)}"
        if record < self.last.records:
            sent = self.first(lambda s: bool(s.next_record > record))
            if sent != (appended or 0):
                return f"first sent {self.when(sent)}, {appending}"
        return appending

    def appended(self, offset: int, record: int, epoch: int) -> int | None:
        """Return the last step in which a leader appended this record at this offset in this epoch, or None."""
        steps = [
            position
            for position, (before, after) in enumerate(pairwise(self.states), 1)
            for r in range(after.replicas)
            if before.leader[r] == r and before.log_end_offset[r] == offset
            if (after.log_record[r][offset], after.log_epoch[r][offset]) == (record, epoch)
        ]
        return steps[-1] if steps else None


# ----------------------------------------------------------------------------------------- changes of the ISR since 2.8


@dataclass(frozen=True)
class PendingChange:
    """A change of the ISR that a leader had proposed, but ignored when it acknowledged or exposed a record."""

    leader: int
    broker: int
    """The broker that was to join or leave the ISR."""
    proposed: int
    """The step in which the leader proposed the change."""
    dropped: int | None
    """The step in which the leader dropped the change; None: it was still pending."""
    is_joining: bool


def uncounted_change(timeline: Timeline, leader: int, broker: int, promised: int) -> PendingChange | None:
    """Return the last change of the ISR that might have put or kept the broker in the controller's ISR, and that the
    leader ignored when it made a promise in step `promised`. None if there is no such change."""
    if not alters_partitions(timeline.last) or model.is_counted(timeline.states[promised], leader, broker):
        return None

    def is_open(s: State) -> bool:
        return is_pending(s, leader) and bool(s.proposed_isr[leader][broker] or s.isr[leader][broker])

    last = next((i for i in range(promised, -1, -1) if is_open(timeline.states[i])), None)
    if last is None:
        return None
    before = timeline.states[last]
    if last < promised and all(
        timeline.states[last + 1].isr[leader][r] == before.proposed_isr[leader][r] for r in range(before.replicas)
    ):
        return None  # the change has been made
    proposed = timeline.last_change(is_open, until=last)
    is_joining = bool(before.proposed_isr[leader][broker])
    return PendingChange(leader, broker, proposed or 0, None if last == promised else last + 1, is_joining)


def about_change(timeline: Timeline, change: PendingChange) -> list[str]:
    """Return lines about a change of the ISR that a leader ignored: its proposal, and why it was pending or dropped."""
    verb = "joins" if change.is_joining else "leaves"
    proposed = f"it proposed {timeline.when(change.proposed)} that broker {change.broker} {verb} the ISR"
    if change.dropped is None:
        outcome = f"that change was pending, so broker {change.broker} could be in the controller's ISR (MAXIMAL_ISR)"
    else:
        reason = _reason(timeline, change.leader, change.dropped)
        outcome = f"the leader dropped that change {timeline.when(change.dropped)}{reason}"
    return [f"  the leader did not wait for broker {change.broker}: {proposed}", f"  {outcome}"]


def passed_member(timeline: Timeline, leader: int, r: int) -> list[str]:
    """Explain that a leader's high watermark is above the log end of `r`, a member of its ISR or its proposed ISR."""
    high_watermark, end = timeline.last.high_watermark[leader], timeline.last.log_end_offset[r]
    risen = timeline.last_change(lambda s: bool(s.high_watermark[leader] == high_watermark))
    change = uncounted_change(timeline, leader, r, risen or 0)
    above = f"high watermark {high_watermark} is above log end offset {end} of broker {r}"
    return [
        f"broker {leader}: {above} in its maximal ISR",
        f"  high watermark {high_watermark} {timeline.when(risen, 'since')}",
        *(about_change(timeline, change) if change is not None else []),
        f"  log end offset {end} {timeline.since(lambda s: bool(s.log_end_offset[r] == end))}",
    ]


def _reason(timeline: Timeline, leader: int, dropped: int) -> str:
    """The reason why a leader dropped its pending change of the ISR in a step, as the end of a sentence, or ""."""
    before, after = timeline.states[dropped - 1], timeline.states[dropped]
    if has_kraft(after) and after.metadata_position[leader] > before.metadata_position[leader]:
        epoch = after.metadata_position[leader]
        if epoch == before.partition_epoch[leader]:
            return f": it knew partition epoch {epoch} already (EQUAL_PARTITION_EPOCH_REPLACES)"
        return f": partition epoch {epoch} is newer"
    if before.alter_partition[leader] == AlterPartition.INELIGIBLE:
        return ": the controller refused it (INELIGIBLE_REPLICA)"
    return ""


def earlier_process(timeline: Timeline, leader: int, member: int, promised: int) -> str:
    """Return the words `, from a process that ended at step ...` if the leader's promise in step `promised` relied on a
    fetch by a process of the follower `member` that had ended; otherwise ""."""
    s = timeline.states[promised]
    if not has_kraft(s) or s.remote_broker_epoch[leader][member] != BrokerEpoch.EARLIER:
        return ""
    ended = timeline.last_change(lambda s: bool(s.is_up[member]), to=False, until=promised)
    return f", from a process that ended {timeline.when(ended)}"


def election(timeline: Timeline, broker: int, position: int) -> str:
    """Return words such as `, electing broker 1 from the ELR`, if a KRaft controller elects `broker` in a step; "" for
    one of several members of the ISR, for an unclean election (the action says so), and for any other step."""
    if position == 0 or not has_kraft(timeline.last):
        return ""
    before, after = timeline.states[position - 1], timeline.states[position]
    if after.controller_leader != broker or before.controller_leader == broker:
        return ""
    if before.eligible_leader_replicas[broker]:
        return f", electing broker {broker} from the ELR"
    isr = members(before, before.controller_isr)
    if broker in isr:
        return f", electing broker {broker} as the last member of the ISR" if isr == [broker] else ""
    if before.unclean_elections_left > after.unclean_elections_left:
        return ""
    if isr:
        return f", electing broker {broker}, which joins the ISR by the change that completes the reassignment"
    return f", electing broker {broker} as the last known leader, since ISR and ELR are empty"


# --------------------------------------------------------------------------------------------------------------- losses

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
"""The property that permits at most as many failures as KIP-966 claims to tolerate."""

SENT_ONCE = ("no_duplicates", "order_preserved")


@dataclass(frozen=True)
class Loss:
    """The loss of an entry: the steps in which it was promised, a broker lost its copy, and the promise was broken."""

    record: int
    """The entry: a record, or the marker of a transaction."""
    promise: str
    """The promise, in words."""
    promised: int
    """The step that made the promise."""
    broker: int
    """The broker with the relevant copy: the leader, or the member of the ISR that lacks the entry."""
    removed: int | None
    """The step in which the broker lost its copy; None if it never had one."""
    admitted: int | None
    """The last step in which the broker joined the ISR; None: it was a member from the start, or never."""
    outcome: str
    """The fate of the entry, in words."""
    lost: int
    """The step that broke the promise."""
    uncounted: PendingChange | None = None
    """The change of the ISR that the leader did not count when it made the promise."""


def find_loss(trace: Trace) -> Loss | None:
    """Return the loss at the end of a trace, or None if its property is not about losses."""
    if trace.verdict not in (VIOLATED, PERMITTED) or not is_kafka(trace.instance):
        return None
    return loss_in(Timeline(trace), why_broken(trace).numbers())


def loss_in(timeline: Timeline, numbers: dict[str, int]) -> Loss | None:
    """Return the loss that makes the property false for `numbers`, its variables' values; None for other properties."""
    name, last = timeline.trace.property_name, timeline.last
    if name in ("acked_not_lost", CLAIM) and "record" in numbers:
        record, broker, promise, outcome = numbers["record"], last.controller_leader, "acknowledged", "lost"
        promised = timeline.first(lambda s: bool(s.acknowledged[record]))
        removed = timeline.last_change(lambda s: model.holds_record(s, broker, record), to=False)
    elif name == "isr_is_complete" and {"member", "offset"} <= numbers.keys():
        broker, offset = numbers["member"], numbers["offset"]
        promise, outcome = "exposed to readers", "missing from the ISR"
        record = last.exposed_record[offset]
        promised = timeline.first(lambda s: bool(s.exposed_record[offset] == record))
        removed = timeline.last_change(lambda s: bool(s.log_record[broker][offset] == record), to=False)
    else:
        return None
    admitted = timeline.last_change(lambda s: bool(s.controller_isr[broker]))
    changes = (uncounted_change(timeline, leader, broker, promised) for leader in _promising(timeline, promised))
    uncounted = next((change for change in changes if change is not None), None)
    end = len(timeline.states) - 1
    return Loss(record, promise, promised, broker, removed, admitted, outcome, end, uncounted)


def _promising(timeline: Timeline, promised: int) -> list[int]:
    """The leaders whose high watermark rose in the step `promised`, which made the promise."""
    before, s = timeline.states[max(0, promised - 1)], timeline.states[promised]
    return [r for r in range(s.replicas) if s.leader[r] == r and s.high_watermark[r] > before.high_watermark[r]]


def lines(trace: Trace) -> list[str]:
    """Return lines that explain a trace's failure, if its property has an explanation here, and what permits it."""
    if trace.verdict not in (VIOLATED, PERMITTED):
        return []
    failure: list[str] = []
    if is_kafka(trace.instance):
        timeline, numbers = Timeline(trace), why_broken(trace).numbers()
        loss = loss_in(timeline, numbers)
        failure = contradiction(timeline, numbers) if loss is None else _about_loss(timeline, loss)
    has_permission = failure or (trace.verdict == PERMITTED and _given_up(trace))
    return [*failure, _permission(trace)] if has_permission else []


def _about_loss(timeline: Timeline, loss: Loss) -> list[str]:
    if loss.removed is not None:
        copy = f"removed from broker {loss.broker} {timeline.when(loss.removed)}"
    elif not timeline.was_held(loss.record):
        copy = "never on any broker"
    elif loss.admitted is not None:
        copy = f"never on broker {loss.broker}, which joined the ISR {timeline.when(loss.admitted)}"
    else:
        was_member = timeline.states[0].controller_isr[loss.broker]
        membership = "was in the ISR from the start" if was_member else "was never in the ISR"
        copy = f"never on broker {loss.broker}, which {membership}"
    return [
        f"{name_entry(timeline.last, loss.record)}: {loss.promise} {timeline.when(loss.promised)}",
        *_counted_on(timeline, loss),
        *(about_change(timeline, loss.uncounted) if loss.uncounted is not None else []),
        f"  {copy}",
        f"  {loss.outcome} {timeline.when(loss.lost)}{election(timeline, loss.broker, loss.lost)}",
    ]


def _counted_on(timeline: Timeline, loss: Loss) -> list[str]:
    """Lines about the followers on which the leader's promise relied: since when it knew that they had the entry."""
    s = timeline.states[loss.promised]
    lines = []
    for leader in _promising(timeline, loss.promised):
        for member in range(s.replicas):
            if member != leader and model.is_counted(s, leader, member):
                learned = timeline.last_change(partial(_is_known, leader, member, loss.record), until=loss.promised)
                if learned is not None and learned < loss.promised:
                    when = timeline.when(learned, "since")
                    process = earlier_process(timeline, leader, member, loss.promised)
                    lines.append(f"  the leader relied on broker {member}, which it knew to have it {when}{process}")
    return lines


def _is_known(leader: int, follower: int, record: int, s: State) -> bool:
    """Whether the leader knows from a fetch that the follower holds all entries up to this record."""
    beyond = s.remote_log_end_offset[leader][follower]
    return any(s.log_record[leader][offset] == record for offset in range(max(0, beyond)))


# ------------------------------------------------------------------------------------------------------ what permits it


def permitting(trace: Trace) -> list[str]:
    """Return what in the configuration or in the trace permits its failure, such as `an unclean election`."""
    return [*_weak_acks(trace), *dict.fromkeys(fault for fault, _ in _given_up(trace))]


def _promised_acks(trace: Trace) -> tuple[str, str] | None:
    """The configured acks, if the property is about acknowledged records: by name (`ALL`) and as the user writes it."""
    entry = trace.instance.model.entries.get("acks")
    rests_on_acks = trace.property_name in ("acked_not_lost", CLAIM)
    if not rests_on_acks or entry is None or entry.values is None or not issubclass(entry.values, IntEnum):
        return None
    acks = trace.instance.configuration.acks
    return entry.values(acks).name, spell(entry, acks)


def _weak_acks(trace: Trace) -> list[str]:
    acks = _promised_acks(trace)
    return [] if acks is None or acks[0] == ALL else [f"acks={acks[1]} does not wait for the ISR"]


def _permission(trace: Trace) -> str:
    """A line about what in the trace or in the configuration permits the failure, or that nothing does."""
    reasons = _weak_acks(trace)
    if trace.property_name == CLAIM and not reasons:
        return _claimed(trace)
    reasons += _when(trace, _given_up(trace))
    if trace.verdict == PERMITTED:
        return f"permitted: {'; '.join(reasons) or 'the property declares it'}"
    acks = _promised_acks(trace)
    promise, fault = "" if acks is None else f"acks={acks[1]} promises it, and ", ""
    if trace.property_name in SENT_ONCE:
        is_idempotent = _is_idempotent(trace)
        promise, fault = (
            ("enable.idempotence=true promises it, and ", "") if is_idempotent else ("", "request sent again, ")
        )
    return f"not permitted: {promise}no {fault}unclean election, loss of power or loss of a disk took place"


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
    faults = "; ".join(_when(trace, failures)) or "no failures"
    return f"{permitted}: KIP-966 claims to tolerate {claimed}; there were: {faults}"


def _given_up(trace: Trace) -> list[tuple[str, int]]:
    """The faults of this trace that permit a failure of its property, each with the position of its step."""
    permits_resends = trace.property_name in SENT_ONCE and not _is_idempotent(trace)
    return _spent(trace, SENT_AGAIN | GIVEN_UP if permits_resends else GIVEN_UP)


def _spent(trace: Trace, budgets: Mapping[str, str]) -> list[tuple[str, int]]:
    """The faults in a trace that one of these budgets counts, each with the position of its step."""
    left = {fault: trace.instance.layouts.get(f"{budget}_left") for budget, fault in budgets.items()}
    return [
        (fault, position)
        for fault, layout in left.items()
        for position, (before, after) in enumerate(pairwise(trace.states), 1)
        if layout is not None and after[layout.offset] < before[layout.offset]
    ]


def _when(trace: Trace, spent: list[tuple[str, int]]) -> list[str]:
    timeline = Timeline(trace)
    return [f"{fault} {timeline.when(position)}" for fault, position in spent]


# ------------------------------------------------------------------------------------------------------- contradictions


def committed_entries(timeline: Timeline, a: int, b: int, offset: int) -> list[str]:
    """Explain that replicas `a` and `b` have different entries at an offset below both their high watermarks."""

    def held(r: int) -> str:
        since = timeline.since(lambda s: bool(s.high_watermark[r] > offset))
        return f"{_held(timeline, r, offset)}, below its high watermark {since}"

    return [f"offset {offset}: brokers {a} and {b} differ, below both their high watermarks", held(a), held(b)]


def _held(timeline: Timeline, r: int, offset: int) -> str:
    return f"  broker {r} has {timeline.entry(r, offset)}: {timeline.origin(r, offset)}"


def matching_entries(timeline: Timeline, a: int, b: int, offset: int, below: int) -> list[str]:
    """Explain that replicas `a` and `b` have entries of one epoch at `offset`, but differ at the offset `below`."""
    epoch = timeline.last.log_epoch[a][offset]
    if offset == below:
        differ = f"have different entries of epoch {epoch}"
    else:
        differ = f"differ, though both have an entry of epoch {epoch} at offset {offset}"
    return [f"offset {below}: brokers {a} and {b} {differ}", *(_held(timeline, r, below) for r in (a, b))]


def readable_entries(timeline: Timeline, leader: int, offset: int) -> list[str]:
    """Explain that a leader exposes a record at `offset` where another record was read first."""
    s, shown = timeline.last, f"offset {offset}: broker {leader} shows {_shown(timeline, leader, offset)}"
    record = model.first_read(s, offset)
    held = f"  {timeline.entry(leader, offset)}: {timeline.origin(leader, offset)}"
    if record == NONE:
        return [f"{shown}, where nothing was read first", held]
    read = timeline.first(lambda s: model.first_read(s, offset) == record)
    then = timeline.states[read]
    # A broker that exposed the record when it was read first has it in the epoch of its sending.
    holders = [r for r in range(s.replicas) if then.log_record[r][offset] == record and offset < then.high_watermark[r]]
    epoch = int(then.log_epoch[holders[0]][offset])
    sending = timeline.sending(record, timeline.appended(offset, record, epoch))
    return [
        f"{shown}, where {name_entry(s, record)} was read first",
        held,
        f"  {spell_entry(s, record, epoch)}: {sending}, read {timeline.when(read)}",
    ]


def _shown(timeline: Timeline, r: int, offset: int) -> str:
    """The name of the entry of replica `r` at `offset` in the last state."""
    return name_entry(timeline.last, timeline.last.log_record[r][offset])


def repeated_entries(timeline: Timeline, r: int, offset: int, later: int) -> list[str]:
    """Explain that replica `r` holds the same entry at `offset` and at the offset `later`."""
    claim = f"broker {r}, the controller's leader, holds {_shown(timeline, r, offset)} twice"
    return [claim, *_standing(timeline, r, offset, later)]


def disordered_entries(timeline: Timeline, r: int, offset: int, later: int) -> list[str]:
    """Explain that replica `r` holds, at the offset `later`, a record that was sent before the one at `offset`."""
    entries = f"{_shown(timeline, r, later)} behind {_shown(timeline, r, offset)}"
    claim = f"broker {r}, the controller's leader, holds {entries}, which was sent later"
    return [claim, *_standing(timeline, r, offset, later)]


def _standing(timeline: Timeline, r: int, *offsets: int) -> list[str]:
    return [f"  {timeline.entry(r, offset)} at offset {offset}: {timeline.origin(r, offset)}" for offset in offsets]


def crossed_offsets(timeline: Timeline, r: int) -> list[str]:
    """Explain that two offsets of replica `r`, such as high watermark and log end offset, are in the wrong order."""
    offsets: dict[str, Callable[[State], int]] = {
        "log start offset": lambda s: s.log_start_offset[r],
        "last stable offset": lambda s: model.last_stable_offset(s, r),
        "high watermark": lambda s: s.high_watermark[r],
        "log end offset": lambda s: s.log_end_offset[r],
    }
    values = {name: offset(timeline.last) for name, offset in offsets.items()}
    crossed = [pair for pair in pairwise(offsets) if values[pair[0]] > values[pair[1]]]
    if not crossed:
        return []

    def since(name: str) -> str:
        return f"  {name} {values[name]} {timeline.since(lambda s: offsets[name](s) == values[name])}"

    below, above = crossed[0]
    return [f"broker {r}: {below} {values[below]} is above {above} {values[above]}", since(below), since(above)]


# ------------------------------------------------------------------------------------------------------- each property


def _read_otherwise(timeline: Timeline, leader: int, offset: int) -> str:
    first = name_entry(timeline.last, model.first_read(timeline.last, offset))
    return f"readers see {_shown(timeline, leader, offset)} at offset {offset}, where others saw {first}"


def _disordered(timeline: Timeline, r: int, offset: int, later: int) -> str:
    log = timeline.last.log_record[r]
    return f"records {spell_element(log[later])} and {spell_element(log[offset])} change places"


Words = TypeVar("Words")

SENTENCES: Mapping[str, str | Callable[..., str]] = {
    "offsets_ordered": "the offsets of broker {r} are in the wrong order",
    "committed_agrees": "brokers {a} and {b} hold different committed records at offset {offset}",
    "log_matching": "the logs of brokers {a} and {b} part at offset {below}, unnoticed",
    "deleted_records_stay_deleted": "broker {r} shows records although a client heard that they are deleted",
    "low_watermark_is_minimum": "the log of broker {r} starts before what was deleted",
    "leader_in_isr": "broker {r} leads, but is not in the ISR",
    "isr_within_assigned": "broker {r} counts as a member, but is no replica of the partition",
    "elr_is_complete": "broker {member} may be elected (ELR), but lacks a record that readers have seen",
    "elr_fills_up_isr": "broker {r} is listed as an eligible leader (ELR) when nobody should be",
    "isr_is_active": "broker {r} is in the ISR, although it is fenced or shuts down",
    "elected_from_isr_or_elr": "a broker is elected that is in neither the ISR nor the ELR",
    "offline_only_if_nobody_is_valid": "the partition has no leader, although a broker could lead",
    "leaderless_partition_awaits_a_broker": "the partition has no leader, and no broker that could return may lead it",
    "leader_knows_the_reassignment": "broker {leader} leads, and does not know which replicas are being added",
    "high_watermark_within_maximal_isr": (
        "broker {leader} counts a record as committed that broker {r}, a possible member of the ISR, lacks"
    ),
    "one_leader_per_epoch": "brokers {a} and {b} lead in the same epoch",
    "high_watermark_monotonic": "the high watermark of broker {r} falls while it leads",
    "consumers_read_what_was_exposed": (
        "consumer {consumer} has read a different record at offset {offset} than others"
    ),
    "consumers_skip_nothing": "consumer {consumer} skips a record that it could have read",
    "lag_matches_isolation": "the lag of consumer {consumer} is wrong",
    "latest_does_not_go_back": "consumer {consumer} goes back behind an end of the log that it knew",
    "truncation_is_detected": "consumer {consumer} does not notice that a record that it has read is gone",
    "follower_rejoins_the_isr": "broker 1 stays out of the ISR for ever",
    "first_leader_rejoins_the_isr": "broker 0 stays out of the ISR for ever",
    "reconciliation_ends": "a follower searches for ever for the common part of its log and its leader's log",
    "isr_changes_complete": "a change of the ISR stays pending for ever",
    "last_stable_offset_advances": "readers wait for the end of the log for ever",
    "consistent_read": _read_otherwise,
    "no_duplicates": lambda timeline, r, offset: f"{_shown(timeline, r, offset)} is in the log twice",
    "order_preserved": _disordered,
    "read_committed_is_atomic": "read_committed readers see only a part of a transaction",
}
"""What goes wrong if a property fails, with the property's variables in braces; or a function of the timeline and of
variables by their names. The failure of a property about losses is described as a loss."""

EXPLANATIONS: Mapping[str, Callable[..., list[str]]] = {
    "offsets_ordered": crossed_offsets,
    "committed_agrees": committed_entries,
    "log_matching": matching_entries,
    "high_watermark_within_maximal_isr": passed_member,
    "consistent_read": readable_entries,
    "no_duplicates": repeated_entries,
    "order_preserved": disordered_entries,
}
"""Functions of the timeline and of variables that explain the failure of a property, step by step."""


def contradiction(timeline: Timeline, numbers: Mapping[str, int]) -> list[str]:
    """Return the lines that explain the failure of the trace's property; `numbers` are the values of its variables."""
    explain = EXPLANATIONS.get(timeline.trace.property_name or "")
    lines = None if explain is None else _filled(explain, timeline, numbers)
    return lines if isinstance(lines, list) else []


def _filled(words: str | Callable[..., Words], timeline: Timeline, numbers: Mapping[str, int]) -> str | Words | None:
    """Fill the values of the variables into a text, or call a function with them; None if a variable has no value."""
    if not takes(words) <= numbers.keys():
        return None
    if isinstance(words, str):
        return words.format(**numbers)
    return words(timeline, **{name: numbers[name] for name in takes(words)})


# ------------------------------------------------------------------------------------------------------ in one sentence


def headline(trace: Trace, how: str) -> str | None:
    """Return a sentence about what goes wrong in a trace; None if no sentence fits the property and its variables. It
    ends with `how`, the last step or the repeated steps in words; for a loss, it ends with the cause of the loss."""
    timeline, words = Timeline(trace), SENTENCES.get(trace.property_name or "")
    loss = find_loss(trace) if trace.length else None
    if loss is not None:
        return _of_loss(timeline, loss)
    if words is None:
        return None
    numbers = why_broken(trace).numbers() if trace.loop is None else {}
    if trace.property_name == "read_committed_is_atomic" and "transaction" in numbers:
        return f"read_committed readers see a record of an aborted transaction: {how}"
    sentence = _filled(words, timeline, numbers)
    return None if sentence is None else f"{sentence}: {how}"


def _of_loss(timeline: Timeline, loss: Loss) -> str:
    name = timeline.trace.property_name
    if name == "isr_is_complete":
        kind = "a record" if loss.record < timeline.last.records else name_entry(timeline.last, loss.record)
        return f"a member of the ISR lacks {kind} that readers have seen: {_incomplete(timeline, loss)}"
    few = " by fewer failures than KIP-966 tolerates" if name == CLAIM else ""
    return f"an acknowledged record is lost{few}: {_lost(timeline, loss)}"


def _lost(timeline: Timeline, loss: Loss) -> str:
    who = f"broker {loss.broker}"
    elected = _elected(timeline, loss)
    if loss.removed is not None:
        removed = _removed(timeline, loss.broker, loss.removed)
        if loss.removed == loss.lost:
            return f"{who}, {_leading(timeline, loss)}, {removed}"
        if loss.promised == loss.lost:
            return f"{who}, {_leading(timeline, loss)}, {removed}, and {_acknowledging(timeline, loss)} all the same"
        if loss.promised > loss.removed:
            return f"{who} {removed}, the old leader counts it all the same, and {who} is {elected}"
        if loss.admitted is not None and loss.removed < loss.admitted < loss.lost:
            return f"{who} {removed}, joins the ISR all the same, and is {elected}"
        return f"{who} {removed}, and is {elected}{_held_elsewhere(timeline, loss)}"
    if timeline.trace.steps[loss.lost - 1].action == "leader_mistakes_request":
        return f"{who} takes it for an older one, and appends nothing"
    if not timeline.was_held(loss.record):
        return "it never reaches a broker"
    if loss.promised == loss.lost:
        return f"{_acknowledging(timeline, loss)}, while {who} leads without it"
    return _elected_without(timeline, loss, who, elected)


def _elected_without(timeline: Timeline, loss: Loss, who: str, elected: str) -> str:
    before, after = timeline.states[loss.lost - 1], timeline.states[loss.lost]
    if before.unclean_elections_left > after.unclean_elections_left:
        return f"{who}, which is not in sync, is elected without it"
    if loss.uncounted is not None:
        leader = f"broker {loss.uncounted.leader}"
        if loss.uncounted.dropped is not None:
            return f"{leader} forgets that {who} joins the ISR, and {who} is {elected} without it"
        return f"{leader} does not wait for {who}, which joins the ISR, and {who} is {elected} without it"
    if loss.admitted is not None:
        return f"{who} joins the ISR without it, and is {elected}"
    former = before.controller_leader
    if after.acks != Acks.ALL:
        fails = former != NONE and not before.is_up[former]
        return f"the leader fails before {who} has it" if fails else f"{who} is {elected} before it has the record"
    return f"{who} is {elected} without it"


def _elected(timeline: Timeline, loss: Loss) -> str:
    """Return `elected` if the controller elects the loss's broker in the last step, otherwise `the leader again`."""
    before, after = timeline.states[loss.lost - 1], timeline.states[loss.lost]
    is_new = before.controller_leader != loss.broker == after.controller_leader
    return "elected" if is_new else "the leader again"


def _leading(timeline: Timeline, loss: Loss) -> str:
    """A clause that says whether the broker that the controller has elected knows that it leads."""
    return "which leads" if timeline.last.leader[loss.broker] == loss.broker else "which is elected already"


def _held_elsewhere(timeline: Timeline, loss: Loss) -> str:
    """The running brokers that still have the record, as the end of a sentence; "" if there are no such brokers."""
    s = timeline.last
    others = [r for r in range(s.replicas) if s.is_up[r] and model.holds_record(s, r, loss.record)]
    return f", although {brokers(others)} still {'has' if len(others) == 1 else 'have'} it" if others else ""


def _acknowledging(timeline: Timeline, loss: Loss) -> str:
    arguments = _arguments(timeline.trace, loss.promised)
    broker = arguments.get("leader", arguments.get("broker"))
    return "it is acknowledged" if broker is None else f"broker {broker} acknowledges it"


def _incomplete(timeline: Timeline, loss: Loss) -> str:
    who = f"broker {loss.broker}"
    rejoins = loss.admitted is not None and loss.admitted == loss.lost
    if loss.removed is not None:
        removed = f"{who} {_removed(timeline, loss.broker, loss.removed)}"
        if loss.removed == loss.lost:
            return removed
        return f"{removed}, and joins the ISR" if rejoins else f"{removed}, and stays in the ISR"
    if loss.promised == loss.lost:
        return f"{_exposing(timeline, loss)} before {who} has it"
    if loss.admitted is not None:
        return f"{who} joins the ISR without it"
    return f"{who} never had it"


def _exposing(timeline: Timeline, loss: Loss) -> str:
    leader = _arguments(timeline.trace, loss.promised).get("leader")
    return "it becomes readable" if leader is None else f"broker {leader} shows it to readers"


def _removed(timeline: Timeline, broker: int, position: int) -> str:
    """How a broker loses its copy of the record in a step, as the predicate of a sentence, such as `drops it`."""
    arguments = _arguments(timeline.trace, position)
    view = ACTIONS.get(timeline.trace.steps[position - 1].action)
    if view is None or not view.removal or broker not in (arguments.get("broker"), arguments.get("follower")):
        return "drops it"
    leader = arguments.get("leader")
    has_lost_leadership = leader is not None and timeline.states[position].controller_leader != leader
    return view.removal.format(**arguments) + ", which no longer leads" * has_lost_leadership


def _arguments(trace: Trace, position: int) -> dict[str, Any]:
    """The arguments of the step that leads to the state with this number."""
    return arguments_of(trace.instance, trace.steps[position - 1])
