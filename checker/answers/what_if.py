"""What happens to a partition if brokers are lost, lose power or restart: the rules, each with its source.

In:  a `Standing` (the controller's record of a partition), the `Rules` of its topic, and an event.
Out: the `Standing` after the event, and whether an acknowledged record can be lost.

1. Brokers of one event go at once: no record is acknowledged between their ends. Before the next event, the controller
   has noticed them: each leaves the ISR (ReplicationControlManager.handleBrokerFenced; with ZooKeeper
   KafkaController.onBrokerFailure). A replica outside the ISR does not join it meanwhile.
2. A leader that stays in the ISR stays the leader. Otherwise the first of the partition's replicas that is in the ISR
   and up is elected (PartitionChangeBuilder.electAnyLeader, PartitionLeaderElectionAlgorithms).
3. Without eligible leader replicas (ELR) the ISR never becomes empty: its last member stays in it, and only that member
   can be elected (PartitionChangeBuilder.build).
4. With ELR (KIP-966) the ISR can become empty. While the ISR is smaller than min.insync.replicas, brokers that leave it
   join the ELR, and brokers of the ELR can be elected once the ISR is empty. If the ISR is large enough, the ELR
   becomes empty (maybePopulateTargetElr). A broker that comes back after an unclean shutdown leaves ISR and ELR
   (handleUncleanBrokerShutdown); the last known leader is elected if both are empty (canElectLastKnownLeader).
   Brokers that a reassignment removed from the replicas can stay in the ELR (maybePopulateTargetElr does not intersect
   it with the replicas): they cannot lead, and keep the last known leader from being elected.
5. With unclean.leader.election.enable=true, any replica is elected if no broker of the ISR or ELR is up; the new leader
   is then the whole ISR (PartitionChangeBuilder.tryElection).
6. A write with acks=all needs an ISR of min.insync.replicas members (Partition.appendRecordsToLeader), any other write
   a leader; a read needs a leader.
7. A record that is acknowledged with acks=all is on every member of the ISR and of the ELR. So no clean election loses
   it. It can be lost if no such broker is left that may lead (rules 3 and 4), or by an unclean election (rule 5).
8. A record that is acknowledged with acks=0 or acks=1 may be only on the leader. It can be lost if the leader goes.
9. A broker that loses power comes back without what it had not flushed; a broker whose process ends comes back with its
   log. So a loss of power of all members of the ISR can lose any acknowledged record, with ELR as well (failure 8.14),
   unless every record is flushed. A broker that was down before keeps what it has. A broker with ephemeral storage
   comes back with an empty log: for its records, its end is a loss.
10. Without a majority of the controllers that vote, nothing is committed to the metadata log (LeaderState, which also
   resigns then: timeUntilCheckQuorumExpires). So nobody is elected, and no ISR changes. A leader that is up goes on. It
   cannot remove a lost member from the ISR: while its request (AlterPartition) has no answer, the old ISR counts
   (PendingShrinkIsr.maximalIsr), the high watermark does not pass the log end of the lost member
   (Partition.maybeIncrementLeaderHW), and acks=all waits for the high watermark (checkEnoughReplicasReachOffset). What
   is below the high watermark can be read. Records are lost as if a controller that is back noticed all ends at once.
11. Up to 3.9, a KRaft broker can register again before a controller has noticed its end, majority or not: its
   session is over, and it is not yet fenced (ClusterControlManager.registerBroker, KAFKA-18106, failure 8.40). Then it
   keeps its leadership. So a leader that loses power can lead again without what it had not flushed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import reduce

from isrcheck.checker.results.terminal import grouped

Brokers = frozenset[int]

NOBODY: Brokers = frozenset()


class Kind(Enum):
    """What happens to the brokers of an event."""

    LOST = auto()
    """They are down for good: their logs do not come back."""
    POWER = auto()
    """They lose power, and come back without what they had not flushed."""
    RESTART = auto()
    """Their processes end, and come back with their logs."""


class Cause(Enum):
    """Why an acknowledged record can be lost."""

    ONLY_LEADER = auto()
    """The leader goes, and without acks=all nobody else needs to have a record (rule 8)."""
    NOBODY_LEFT = auto()
    """All brokers that surely have the record go for good (rule 7)."""
    PERHAPS_UNCLEAN = auto()
    """The record is left only on brokers of the ELR, which are not eligible after an unclean shutdown (rule 4)."""
    UNCLEAN = auto()
    """A replica that need not have the record is elected (rule 5)."""
    UNFLUSHED = auto()
    """All brokers that surely have the record lose power (rule 9)."""
    EMPTIED = auto()
    """Brokers that have the record come back with an empty log, and may lead (rule 9)."""
    UNNOTICED = auto()
    """The leader loses power, and leads again before a controller has noticed that (rule 11)."""
    BLOCKED = auto()
    """The last known leader has the record, but strangers in the ELR keep it from being elected (rule 4)."""


class Effect(Enum):
    """What an event can do to a partition, the worst first."""

    LOSS = auto()
    """An acknowledged record can be lost."""
    NO_READS = auto()
    """The partition has no leader."""
    NO_WRITES = auto()
    """No write is acknowledged; without acks=all only if there is no leader."""


@dataclass(frozen=True)
class Rules:
    """The settings of a topic on which the fate of its partitions depends."""

    acks_all: bool = True
    min_insync_replicas: int = 1
    """The value with which the leader compares the ISR: since 3.7 at most the number of the partition's replicas."""
    given_minimum: int = 0
    """min.insync.replicas as it is set; 0 if `min_insync_replicas` has this value."""
    controllers_minimum: int = 1
    """The value with which the controller decides on the ELR (rule 4): at most the number of partition 0's replicas."""
    unclean_election: bool = False
    has_elr: bool = False
    flushes_every_message: bool = False
    keeps_unnoticed_leader: bool = False
    """Whether a leader that restarts before a controller has noticed its end keeps its leadership: KRaft up to 3.9."""


@dataclass(frozen=True)
class Event:
    """The same thing happens to several brokers at once."""

    brokers: Brokers
    kind: Kind = Kind.LOST
    emptied: Brokers = NOBODY
    """Those brokers that come back with an empty log, as their storage is ephemeral."""
    has_majority: bool = True
    """Whether the controllers still have their majority after the event (rule 10)."""


@dataclass(frozen=True)
class Standing:
    """A partition as the controller records it. A broker in `gone` can be in the ISR or ELR, as in Kafka."""

    replicas: tuple[int, ...]
    """The preferred leader first."""
    isr: Brokers
    leader: int | None
    elr: Brokers = NOBODY
    last_known: Brokers = NOBODY
    """With ELR, the last known leader while nobody leads."""
    strangers: Brokers = NOBODY
    """Brokers in Kafka's ELR that are not replicas, and so cannot lead; they are not in `elr`."""
    gone: Brokers = NOBODY
    """The brokers that are down because of an event."""
    cause: Cause | None = None
    """Why an acknowledged record can be lost; None if it cannot."""
    recorded: Standing | None = None
    """Without a majority of the controllers, the partition when they lost it; None while they have it (rule 10)."""

    @property
    def in_sync(self) -> Brokers:
        """The members of the ISR that are up; empty if nobody leads."""
        return self.isr - self.gone if self.leader is not None else NOBODY

    @property
    def awaited(self) -> Brokers:
        """If nobody leads, the brokers that are not gone and may be elected when they are up: those of ISR and ELR; if
        both are empty, the last known leader."""
        last_known = NOBODY if self.strangers else self.last_known
        return NOBODY if self.leader is not None else ((self.isr | self.elr) or last_known) - self.gone

    @property
    def holders(self) -> Brokers:
        """If nobody leads, the brokers that have the acknowledged records: those of ISR and ELR; if both are empty, the
        last known leader, even if strangers block it, as it can be elected by hand; if it is not known, any replica."""
        return self.isr | self.elr or self.last_known or frozenset(self.replicas)

    def effects(self, rules: Rules) -> frozenset[Effect]:
        """Return the effects that the partition suffers (rules 6, 7 and 10)."""
        has_leader = self.leader is not None
        has_enough = not rules.acks_all or (len(self.isr) >= rules.min_insync_replicas and not self.unremoved)
        holds = {
            Effect.LOSS: self.cause is not None,
            Effect.NO_READS: not has_leader,
            Effect.NO_WRITES: not (has_leader and has_enough),
        }
        return frozenset(effect for effect in Effect if holds[effect])

    @property
    def joiners(self) -> Brokers:
        """The replicas outside the ISR that are not gone. They may be up, and join the ISR once they have caught up;
        nobody joins without a majority of the controllers."""
        return NOBODY if self.recorded is not None else frozenset(self.replicas) - self.isr - self.gone

    @property
    def unremoved(self) -> Brokers:
        """The members of a leader's ISR that are gone, and that no controller has removed from the ISR."""
        return NOBODY if self.leader is None else self.isr & self.gone


def after(standing: Standing, event: Event, rules: Rules) -> Standing:
    """Return the partition once the controller has noticed an event, if the controllers have a majority, and before any
    broker of the event is back. The cause of a loss is also that of a leader that is back before (rule 11)."""
    if standing.recorded is not None or not event.has_majority:
        return _unnoticed(standing, event, rules)
    following = _noticed(standing, event, rules)
    if following.cause is None and standing.leader in event.brokers and rules.keeps_unnoticed_leader:
        if event.kind is not Kind.LOST and standing.leader in event.emptied:
            return replace(following, cause=Cause.EMPTIED)
        if event.kind is Kind.POWER and not rules.flushes_every_message:
            return replace(following, cause=Cause.UNNOTICED)
    return following


def _noticed(standing: Standing, event: Event, rules: Rules) -> Standing:
    """Return the partition once the controller has noticed an event, which leaves it a majority."""
    replicas = frozenset(standing.replicas)
    going = event.brokers & replicas
    lost = going if event.kind is Kind.LOST else going & event.emptied
    if not going:
        return standing
    gone, staying = standing.gone | going, standing.in_sync - going
    lagging = replicas - standing.isr - standing.elr - standing.gone if rules.unclean_election else NOBODY
    # A lagging broker that comes back may be the first one that is up.
    unclean = Cause.UNCLEAN if event.kind is not Kind.LOST and lagging & going else None
    if standing.leader is None:
        # The brokers that may lead are down: they can be lost, but a loss of power changes nothing in their logs.
        cause = _cause_without_leader(standing, lost, rules) or unclean
        return replace(standing, gone=gone, cause=standing.cause or cause)
    elr = strangers = NOBODY
    if rules.has_elr and len(staying) < rules.controllers_minimum:
        elr, strangers = (standing.elr | standing.isr) - staying, standing.strangers
    standing = replace(standing, strangers=strangers)
    if staying:
        leader = standing.leader if standing.leader in staying else _first(standing, staying)
        cause = standing.cause or (_of_leader(rules) if leader != standing.leader else None)
        return replace(standing, isr=staying, elr=elr, leader=leader, gone=gone, cause=cause)
    if lagging - going:
        elected = _first(standing, lagging - going)
        cause = standing.cause or Cause.UNCLEAN
        return replace(standing, isr=frozenset({elected}), elr=NOBODY, leader=elected, gone=gone, cause=cause)
    isr = NOBODY if rules.has_elr else standing.isr
    cause = standing.cause or _cause_of_whole_isr(standing, event, elr - standing.gone, rules) or unclean
    return replace(standing, isr=isr, elr=elr, leader=None, gone=gone, cause=cause)


def _unnoticed(standing: Standing, event: Event, rules: Rules) -> Standing:
    """Return the partition after an event that ends the majority of the controllers, or that comes later (rule 10)."""
    recorded = standing.recorded or standing
    going = (standing.gone - recorded.gone) | (event.brokers & frozenset(standing.replicas))
    cause = after(recorded, Event(going, event.kind, event.emptied), rules).cause
    leader = None if recorded.leader in going else recorded.leader
    return replace(recorded, leader=leader, gone=recorded.gone | going, cause=cause, recorded=recorded)


def _cause_of_whole_isr(standing: Standing, event: Event, elr: Brokers, rules: Rules) -> Cause | None:
    """Return why a record can be lost if all members of the ISR go, and nobody is elected until a broker comes back.
    `elr` are the brokers in the ELR after the event that were not gone before it."""
    left = elr - event.brokers
    if event.kind is Kind.LOST:
        return Cause.PERHAPS_UNCLEAN if left else Cause.NOBODY_LEFT
    if standing.isr & event.emptied:
        return Cause.EMPTIED
    if event.kind is Kind.POWER and not rules.flushes_every_message:
        # A broker of the ELR that had gone before has every record that acks=all acknowledged.
        return (_of_leader(rules) or Cause.PERHAPS_UNCLEAN) if left else Cause.UNFLUSHED
    if standing.strangers:
        return Cause.BLOCKED
    # Another broker may lead before the old leader is back, also one that is elected while it is down.
    is_leader_elected_again = len(standing.isr | elr) == 1
    return None if is_leader_elected_again else _of_leader(rules)


def _cause_without_leader(standing: Standing, lost: Brokers, rules: Rules) -> Cause | None:
    """Return why a record can be lost if the logs of further brokers are lost while nobody leads."""
    holders = standing.holders - standing.gone
    # If nobody is known to have the records, any replica can have the only copy.
    needs_any = not (standing.isr | standing.elr | standing.last_known)
    if holders & lost and (needs_any or not holders - lost):
        return Cause.NOBODY_LEFT
    # Brokers that come back after an unclean shutdown leave the ELR, and the others in it keep the last known leader
    # from being elected; without them, the last known leader is needed (rule 4).
    needed = standing.awaited | standing.last_known
    return Cause.PERHAPS_UNCLEAN if rules.has_elr and needed & lost else None


def _of_leader(rules: Rules) -> Cause | None:
    return None if rules.acks_all else Cause.ONLY_LEADER


def _first(standing: Standing, brokers: Brokers) -> int:
    return next(replica for replica in standing.replicas if replica in brokers)


def after_all(standing: Standing, events: Iterable[Event], rules: Rules) -> Standing:
    """Return the partition after several events, one after the other."""
    return reduce(lambda before, event: after(before, event, rules), events, standing)


def one_loss_away(standing: Standing, rules: Rules, decisive: Brokers = NOBODY) -> frozenset[Effect]:
    """Return the effects that the loss of one more broker, whichever it is, can add. `decisive` are the brokers with
    which the controllers lose their majority."""
    brokers: Iterable[int] = standing.holders - standing.gone
    if standing.leader is not None:
        followers = standing.in_sync - {standing.leader}
        # It makes no difference which of the followers is lost, unless one of them is decisive.
        brokers = [standing.leader, *sorted(followers)[:1], *sorted(followers & decisive)[:1]]
    lost = (after(standing, Event(frozenset({one}), has_majority=one not in decisive), rules) for one in brokers)
    return frozenset[Effect]().union(*(each.effects(rules) for each in lost)) - standing.effects(rules)


# --- A rolling restart ---


@dataclass(frozen=True)
class RollingRestart:
    """In which order brokers may restart, one at a time."""

    order: Sequence[int]
    """The brokers that may restart now, or once the brokers before them have restarted."""
    not_now: Mapping[int, Sequence[int]]
    """The brokers that may not restart now, each with the partitions that forbid it, by their places in the input."""


def rolling_restart(
    standings: Sequence[tuple[Standing, Rules]], key: Callable[[int], tuple[str, int]]
) -> RollingRestart:
    """Return in which order the brokers of these partitions may restart.

    A broker may restart if every partition with this broker in its ISR keeps min.insync.replicas members, and at least
    one, without the broker. It is assumed that the broker is in sync again, in all its partitions, before the next one
    restarts. So the ISRs only grow, and a broker that may restart now may also restart later: no greedy choice is a
    mistake. Brokers that are not in sync everywhere come first, because others may have to wait for them; otherwise
    `key` decides.
    """
    isrs = [set(standing.in_sync) for standing, _ in standings]
    least = [max(rules.min_insync_replicas, 1) for _, rules in standings]
    places = grouped((broker, place) for place, (standing, _) in enumerate(standings) for broker in standing.replicas)

    def obstacles(broker: int) -> list[int]:
        return [place for place in places[broker] if broker in isrs[place] and len(isrs[place]) <= least[place]]

    def is_in_sync(broker: int) -> bool:
        return all(broker in isrs[place] or not isrs[place] for place in places[broker])

    not_now = {broker: found for broker in sorted(places) if (found := obstacles(broker))}
    left = sorted(places, key=lambda broker: (is_in_sync(broker), key(broker)))
    order: list[int] = []
    while (free := next((broker for broker in left if not obstacles(broker)), None)) is not None:
        order.append(free)
        left.remove(free)
        for place in places[free]:
            if isrs[place]:  # a partition without a leader stays without
                isrs[place].add(free)
    return RollingRestart(order, not_now)
