"""What the active controller decides about the partition and min.insync.replicas, and the metadata log that records it.

In:  what happens to brokers; proposals of leaders; requests of an administrator.
Out: records of the partition, of brokers, and of min.insync.replicas, in the metadata log; answers to proposals.

Each record has one offset. A broker can have read the log up to any record: the records of one change are not always in
one batch (ControllerResult.of). The controller never compares logs. A replica that a reassignment removes stays
assigned until the reassignment completes; the eligible leader replicas (ELR) do not matter for the completion.

Source: fact sheet, sections 4.5 to 4.9; KAFKA-15665 and KAFKA-19975 for the completion of a reassignment; Kafka:
ReplicationControlManager (validateAlterPartitionData, ineligibleReplicasForIsr), PartitionChangeBuilder,
PartitionReassignmentReplicas, PartitionReassignmentRevert, ConfigurationControlManager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import BrokerStateCheck, Switches
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.messages import (
    AlterIsrRequest,
    AlterIsrResponse,
    BrokerRegistration,
    Errors,
    MetadataImage,
    PartitionRegistration,
)
from isrcheck.conformance.cluster.network.network import CONTROLLER, Network


class MetadataLog:
    """The metadata log: for each offset from 0 on, the metadata after the record at this offset."""

    def __init__(self, first: MetadataImage, network: Network, process_of: Callable[[int], int]) -> None:
        """`process_of` gives the number of a broker's running process; 0 if none runs."""
        self._images = [first]
        self._network = network
        self._process_of = process_of

    @property
    def images(self) -> tuple[MetadataImage, ...]:
        """The metadata after each record."""
        return tuple(self._images)

    @property
    def now(self) -> MetadataImage:
        """The metadata after the last record."""
        return self._images[-1]

    def registered_at(self, broker: int) -> int:
        """The offset of the record with which a broker's present registration began."""
        epoch = self.now.brokers[broker].broker_epoch
        return next(image.offset for image in self._images if image.brokers[broker].broker_epoch == epoch)

    def write_partition(self, partition: PartitionRegistration) -> None:
        """Append a record of the partition."""
        self._append(replace(self.now, partition=partition))

    def write_broker(self, broker: int, registration: BrokerRegistration) -> None:
        """Append a record of a broker."""
        brokers = (*self.now.brokers[:broker], registration, *self.now.brokers[broker + 1 :])
        self._append(replace(self.now, brokers=brokers))

    def write_min_insync_replicas(self, least: int, partition: PartitionRegistration) -> None:
        """Append a record of min.insync.replicas, and the record of the partition that comes with it: brokers read
        both at once, because both are in one batch (ControllerResult.atomicOf).
        """
        self._append(replace(self.now, min_insync_replicas=least, partition=partition))

    def _append(self, image: MetadataImage) -> None:
        image = replace(image, offset=self.now.offset + 1)
        self._images.append(image)
        for broker in range(len(image.brokers)):
            if process := self._process_of(broker):
                self._network.send(CONTROLLER, broker, image, destination_process=process)


@dataclass(frozen=True)
class PartitionChange:
    """A change of the partition's record; `build` returns the new record. FAIL_OVER is Kafka's Election.ONLINE."""

    partition: PartitionRegistration
    """The record before the change."""
    may_lead: Callable[[int], bool]
    """Recognises active brokers."""
    min_isr: int
    switches: Switches
    bug: Bug | None
    target_isr: frozenset[int]
    """The ISR after the change, before an election."""
    target: Assignment
    """The assignment after the change."""
    election: Election = Election.FAIL_OVER
    unclean: frozenset[int] = frozenset()
    """Brokers that have registered again after an unclean shutdown, and may have lost records."""
    knows_elr: bool = True
    """Kafka's eligibleLeaderReplicasEnabled; without it, the ELR is forgotten."""
    changes_directory: bool = False
    """Whether there is a new record in any case."""

    def build(self) -> PartitionRegistration | None:
        """The new record, in a new partition epoch; None if nothing changes."""
        if is_complete(self.target, self.target_isr, self.switches, self.bug):
            isr, target = self.target_isr - self.target.removing, Assignment(self.target.target)
            return replace(self, target_isr=isr, target=target)._built()
        return self._built()

    def _built(self) -> PartitionRegistration | None:
        before = self.partition
        elr = self._elr()
        leader, is_unclean = self._elected(elr)
        is_new = leader != before.leader
        isr = self.target_isr
        if is_new and leader is not None and (is_unclean or leader in elr):
            isr, elr = frozenset({leader}), frozenset() if is_unclean else elr - {leader}
        elif not isr and not self.knows_elr:
            isr = before.isr  # the last member stays
        after = replace(
            before,
            replicas=self.target.replicas,
            leader=leader,
            leader_epoch=before.leader_epoch + (is_new or self._starts_an_epoch()),
            isr=isr,
            elr=elr if self.knows_elr else frozenset(),
            last_known_leader=self._last_known_leader(leader, isr),
            adding=self.target.adding,
            removing=self.target.removing,
        )
        is_same = after == before and not self.changes_directory
        return None if is_same else replace(after, partition_epoch=before.partition_epoch + 1)

    def _elr(self) -> frozenset[int]:
        """Return the new ELR: empty once the ISR has `min_isr` members; before that, all former members of ISR or ELR
        that are not in the ISR now, even former replicas, but no broker in `unclean`. Kafka: maybePopulateTargetElr."""
        if not self.knows_elr:
            return self.partition.elr
        if len(self.target_isr) >= self.min_isr:
            return frozenset()
        former = self.partition.elr | self.partition.isr
        trusted = former if self.bug is Bug.UNCLEAN_BROKER_KEEPS_ELIGIBILITY else former - self.unclean
        if self.switches.ELR_WITHIN_REPLICAS:
            trusted &= frozenset(self.target.replicas)
        return trusted - self.target_isr

    def _elected(self, elr: frozenset[int]) -> tuple[int | None, bool]:
        """Return the new leader (None if no broker can lead), and whether this leader may lack records. The candidates,
        in order: in a preferred election, the first replica; the present leader; the replicas in assignment order. Of
        these, only those for which `_is_valid` holds can lead. Otherwise: the last known leader, if ISR and ELR are
        empty; in an unclean election, the first active replica."""
        order, leader = self.target.replicas, self.partition.leader
        if self.election is Election.PREFERRED and self._is_valid(order[0], elr):
            return order[0], False
        if leader is not None and self._is_valid(leader, elr):
            return leader, False
        valid = next((each for each in order if self._is_valid(each, elr)), None)
        if valid is not None:
            return valid, False
        last = self.partition.last_known_leader
        if last is not None and self._may_last_known_leader_lead(last, elr):
            return last, True
        if self.election is Election.UNCLEAN:
            acceptable = next((each for each in order if self.may_lead(each)), None)
            return acceptable, acceptable is not None
        return None, False

    def _may_last_known_leader_lead(self, last: int, elr: frozenset[int]) -> bool:
        """Whether the last known leader may be elected: if ISR and ELR are empty; from 4.1 on (KAFKA-19522), only if
        this broker is active as well. Kafka: canElectLastKnownLeader."""
        if not self.knows_elr or (self.switches.LAST_KNOWN_LEADER_IS_ACTIVE and not self.may_lead(last)):
            return False
        return not (elr or self.target_isr) or (self.bug is Bug.LAST_KNOWN_LEADER_TOO_EARLY and self.may_lead(last))

    def _is_valid(self, replica: int, elr: Iterable[int]) -> bool:
        """Whether a replica is active, and is in the ISR or, if the ISR is empty, in `elr`. For other replicas,
        `may_lead` is not called, because it raises an error for an unassigned broker. Kafka: isValidNewLeader."""
        return (replica in self.target_isr or (not self.target_isr and replica in elr)) and self.may_lead(replica)

    def _starts_an_epoch(self) -> bool:
        """Whether a leader that stays enters a new epoch: if the change removes a replica or, before 3.6, a member of
        the ISR. Kafka: triggerLeaderEpochBumpIfNeeded."""
        if not set(self.partition.replicas) <= set(self.target.replicas):
            return self.bug is not Bug.REMOVAL_KEEPS_LEADER_EPOCH
        return self.switches.EPOCH_BUMP_ON_SHRINK and not self.partition.isr <= self.target_isr

    def _last_known_leader(self, leader: int | None, isr: frozenset[int]) -> int | None:
        """Return the last known leader after the change: None while a broker leads; if the change removes the leader
        and empties the ISR, that leader; otherwise the value before. Kafka: maybeUpdateLastKnownLeader."""
        before = self.partition
        if not self.knows_elr:
            return before.last_known_leader
        if leader is not None:
            return None
        return before.leader if before.leader is not None and not isr else before.last_known_leader


def error_for(
    sender: int, request: AlterIsrRequest, image: MetadataImage, switches: Switches, bug: Bug | None
) -> Errors:
    """The error with which the controller refuses an ISR proposed by a registered process; NONE if it accepts the ISR.

    Unlike a controller with ZooKeeper, this controller refuses a repeated request that it has accepted before, because
    the partition epoch of that request is old.
    """
    record = image.partition
    if request.leader_epoch < record.leader_epoch:
        return Errors.FENCED_LEADER_EPOCH
    if sender != record.leader:
        return Errors.INVALID_REQUEST
    if request.partition_epoch < record.partition_epoch and bug is not Bug.PARTITION_EPOCH_NOT_COMPARED:
        return Errors.INVALID_UPDATE_VERSION
    if not {sender} <= request.isr <= {*record.replicas}:
        return Errors.INVALID_REQUEST
    if not all(_is_eligible(each, request.broker_epoch_of(each), image, switches, bug) for each in request.isr):
        return Errors.INELIGIBLE_REPLICA
    return Errors.NONE


def _is_eligible(
    broker: int, broker_epoch: int | None, image: MetadataImage, switches: Switches, bug: Bug | None
) -> bool:
    """Whether a broker may be in the ISR: it is active (KIP-841), and its process that fetched from the leader is its
    registered process (KIP-903). `broker_epoch` is the epoch of that process; None (the leader does not know it)
    passes."""
    registered, check = image.brokers[broker], switches.BROKER_STATE_CHECK
    if check >= BrokerStateCheck.FENCED and not registered.is_active:
        return bug is Bug.FENCED_BROKER_ELIGIBLE
    is_other = broker_epoch is not None and broker_epoch != registered.broker_epoch
    return check < BrokerStateCheck.BROKER_EPOCH or not is_other or bug is Bug.BROKER_EPOCH_NOT_COMPARED


@dataclass(frozen=True)
class Assignment:
    """The assigned replicas in order, and those of them that a reassignment is adding or removing."""

    replicas: tuple[int, ...]
    adding: frozenset[int] = frozenset()
    removing: frozenset[int] = frozenset()

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas that remain assigned after the reassignment."""
        return tuple(each for each in self.replicas if each not in self.removing)


def assignment_of(partition: PartitionRegistration) -> Assignment:
    """The present assignment of a partition."""
    return Assignment(partition.replicas, partition.adding, partition.removing)


def begun(present: Assignment, wanted: tuple[int, ...]) -> Assignment:
    """Return the assignment when a reassignment to `wanted` begins. Kafka: changePartitionReassignment.

    If the new reassignment adds no replica, `adding` keeps its value from an unfinished reassignment; `removing` does
    the same if no replica is removed. A replica can then be in both sets.
    """
    removing = frozenset(present.replicas) - frozenset(wanted)
    adding = frozenset(wanted) - frozenset(present.replicas)
    return Assignment((*wanted, *sorted(removing)), adding or present.adding, removing or present.removing)


def is_complete(assignment: Assignment, isr: frozenset[int], switches: Switches, bug: Bug | None) -> bool:
    """Whether a reassignment is complete: `isr` has every replica that is assigned after the reassignment. Up to 3.7,
    the added replicas are enough (KAFKA-15665); since 4.3, they are enough unless the reassignment removes more
    replicas than it adds (KAFKA-19975). Kafka: maybeCompleteReassignment."""
    kept, target = isr - assignment.removing, frozenset(assignment.target)
    if not (assignment.adding or assignment.removing) or not kept or not target:
        return False
    if bug is Bug.REASSIGNMENT_COMPLETES_EARLY:
        return True
    has_fewer = len(assignment.adding) < len(assignment.removing)
    if switches.REASSIGNED_WITHOUT_THE_OTHERS or (switches.REASSIGNED_ONCE_ADDED and not has_fewer):
        return assignment.adding <= kept
    return target <= kept and (not switches.REASSIGNED_ONCE_ADDED or assignment.adding <= kept)


def reverted(present: Assignment) -> Assignment:
    """The assignment before the reassignment that is in progress. Kafka: PartitionReassignmentRevert."""
    return Assignment(tuple(each for each in present.replicas if each not in present.adding))


NOBODY = -1
"""No broker, where a broker would be removed."""


class ReplicationControl:
    """Keeps the partition's record in the metadata log, and decides each change of it."""

    def __init__(self, log: MetadataLog, settings: Settings, switches: Switches, bug: Bug | None) -> None:
        self._log = log
        self._settings = settings
        self._switches = switches
        self._bug = bug

    @property
    def partition(self) -> PartitionRegistration:
        """The record of the partition."""
        return self._log.now.partition

    @property
    def effective_min_isr(self) -> int:
        """min.insync.replicas as used for the ELR: at most the number of replicas of the topic's partition 0, including
        replicas that a reassignment adds or removes. Kafka: getTopicEffectiveMinIsr."""
        of_itself = len(self.partition.replicas)
        first = self._settings.replicas_of_partition_0
        if first is None or self._switches.MIN_ISR_OF_OWN_REPLICAS:
            first = of_itself
        return min(self._log.now.min_insync_replicas, first)

    # What happens to brokers

    def remove_from_isr(self, broker: int) -> None:
        """Remove from the ISR a broker that is fenced or shuts down; if the broker leads, elect another leader."""
        if broker in self.partition.isr:
            self.write(self.change(removed=broker))

    def distrust(self, broker: int) -> None:
        """A broker that registers after an unclean shutdown leaves ISR and ELR. Kafka: handleBrokerUncleanShutdown."""
        if self._switches.ELR and broker in self.partition.isr | self.partition.elr:
            self.write(self.change(removed=broker, unclean=frozenset({broker})))

    def unregister(self, broker: int) -> None:
        """Remove from the ISR a broker that an administrator unregisters. The broker stays in the ELR, although a
        comment in Kafka's code says that it leaves the ELR (as with UNREGISTERED_LEAVES_ELR). Kafka:
        handleBrokerUnregistered."""
        if broker in self.partition.isr | self.partition.elr:
            scrapped = frozenset({broker}) if self._switches.UNREGISTERED_LEAVES_ELR else frozenset()
            self.write(self.change(removed=broker, unclean=scrapped))

    def elect_if_leaderless(self) -> None:
        """Elect a leader if the partition has none and a broker can lead. Called when a broker has become active."""
        if self.partition.leader is None:
            self.write(self.change())

    def take_directory(self, broker: int) -> None:
        """Note that a broker has put its replica into another directory. Up to 4.2, the controller then forgets the
        ELR. Kafka: handleAssignReplicasToDirs."""
        if broker in self.partition.replicas:
            knows_elr = self._switches.ELR and not self._switches.ASSIGNED_DIRECTORY_ERASES_ELR
            self.write(self.change(knows_elr=knows_elr, changes_directory=True))

    # Proposals of leaders

    def alter_partition(self, sender: int, request: AlterIsrRequest) -> AlterIsrResponse:
        """Adopt or refuse a proposed ISR; return the answer to the leader. The new ISR may complete a reassignment; if
        this removes the leader, the answer is NEW_LEADER_ELECTED. Kafka: ReplicationControlManager.alterPartition."""
        error = error_for(sender, request, self._log.now, self._switches, self._bug)
        if error is not Errors.NONE:
            return AlterIsrResponse(error)
        self.write(self.change(target_isr=request.isr))
        now = self.partition
        if now.leader != sender:
            return AlterIsrResponse(Errors.NEW_LEADER_ELECTED)
        return AlterIsrResponse(Errors.NONE, now.leader_epoch, now.partition_epoch, now.isr)

    # Requests of an administrator

    def begin_reassignment(self, replicas: tuple[int, ...]) -> None:
        """Assign the partition to the given replicas; removed replicas stay assigned until the added replicas, if any,
        are in sync. Kafka: changePartitionReassignment. Errors: `ClusterError` unless `replicas` are registered
        brokers, each once."""
        brokers = self._log.now.brokers
        missing = [each for each in replicas if not (0 <= each < len(brokers) and brokers[each].is_registered)]
        if missing or not replicas or len(set(replicas)) < len(replicas):
            raise ClusterError(f"reassignment to {list(replicas)} is impossible; name registered brokers, each once")
        self.write(self.change(target=begun(assignment_of(self.partition), replicas)))

    def cancel_reassignment(self) -> None:
        """Go back to the replicas before the reassignment. Kafka: cancelPartitionReassignment. Errors: `ClusterError`
        without a reassignment, or if all members of the ISR are added replicas.
        """
        if not self.partition.is_reassigned:
            raise ClusterError("there is no reassignment to cancel; begin one")
        isr = self.partition.isr
        if self._bug is not Bug.CANCEL_KEEPS_ISR:
            isr -= self.partition.adding
        if not isr:
            raise ClusterError("cannot cancel the reassignment: the ISR has only replicas that the reassignment adds")
        self.write(self.change(target=reverted(assignment_of(self.partition)), target_isr=isr))

    def change_min_insync_replicas(self, least: int) -> None:
        """Set min.insync.replicas of the topic; setting the present value again changes nothing."""
        if least != self._log.now.min_insync_replicas:
            self._write_min_insync_replicas(least)

    def write_cluster_min_insync_replicas(self) -> None:
        """Set min.insync.replicas of the cluster: the topic keeps its own value, but the ELR becomes empty."""
        self._write_min_insync_replicas(self._log.now.min_insync_replicas)

    def _write_min_insync_replicas(self, least: int) -> None:
        """Record `least` as min.insync.replicas together with ClearElrRecord, which empties the ELR and forgets the
        last known leader. Kafka: ConfigurationControlManager, ReplicationControlManager.replay(ClearElrRecord).
        """
        cleared = before = self.partition
        if self._bug is not Bug.NEW_MINIMUM_KEEPS_ELR:
            cleared = replace(before, elr=frozenset(), last_known_leader=None)
        if cleared != before:
            cleared = replace(cleared, partition_epoch=before.partition_epoch + 1)
        self._log.write_min_insync_replicas(least, cleared)

    def write(self, record: PartitionRegistration | None) -> None:
        """Append a record of the partition to the metadata log; do nothing for None."""
        if record is not None:
            self._log.write_partition(record)

    def change(
        self,
        *,
        removed: int = NOBODY,
        target_isr: frozenset[int] | None = None,
        target: Assignment | None = None,
        election: Election = Election.FAIL_OVER,
        unclean: frozenset[int] = frozenset(),
        knows_elr: bool | None = None,
        changes_directory: bool = False,
    ) -> PartitionRegistration | None:
        """The partition's record after the change that the arguments describe; None if nothing changes. The broker
        `removed` leaves the ISR and cannot lead. Errors: as for `may_lead`."""
        now = self.partition
        return PartitionChange(
            partition=now,
            may_lead=lambda each: each != removed and self.may_lead(each),
            min_isr=self.effective_min_isr,
            switches=self._switches,
            bug=self._bug,
            target_isr=now.isr - {removed} if target_isr is None else target_isr,
            target=assignment_of(now) if target is None else target,
            election=election,
            unclean=unclean,
            knows_elr=self._switches.ELR if knows_elr is None else knows_elr,
            changes_directory=changes_directory,
        ).build()

    def may_lead(self, broker: int) -> bool:
        """Whether a broker is active. Errors: `ClusterError` for an active broker that is not a replica, because
        Kafka's controller fails when it looks up the directory of the replica. Kafka: LeaderAcceptor,
        PartitionRegistration.directory.
        """
        is_active = self._log.now.brokers[broker].is_active
        if is_active and broker not in self.partition.replicas and self._bug is not Bug.STRANGER_ELECTED:
            raise ClusterError(f"UNKNOWN_SERVER_ERROR: replica {broker} is not assigned to this partition")
        return is_active
