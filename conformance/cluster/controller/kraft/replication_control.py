"""What the active controller decides about the partition, and about min.insync.replicas.

In:  what happens to brokers; proposals of leaders; requests of an administrator.
Out: records of the partition, and of min.insync.replicas, in the metadata log.

Source: fact sheet, sections 4.5 to 4.9; Kafka: ReplicationControlManager, ConfigurationControlManager.
"""

from __future__ import annotations

from dataclasses import replace

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings
from isrcheck.conformance.cluster.configuration.switches import Switches
from isrcheck.conformance.cluster.controller.election import Election
from isrcheck.conformance.cluster.controller.kraft.alter_partition import error_for
from isrcheck.conformance.cluster.controller.kraft.metadata_log import MetadataLog
from isrcheck.conformance.cluster.controller.kraft.partition_change import PartitionChange
from isrcheck.conformance.cluster.controller.kraft.reassignment import Assignment, assignment_of, begun, reverted
from isrcheck.conformance.cluster.network.alter_isr_messages import AlterIsrRequest, AlterIsrResponse
from isrcheck.conformance.cluster.network.messages import Errors
from isrcheck.conformance.cluster.network.metadata_messages import PartitionRegistration

NOBODY = -1
"""No broker, where a broker would be removed."""


class ReplicationControl:
    """The record of the partition, and how it changes."""

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
        """min.insync.replicas as it decides about the ELR: at most the number of replicas of the topic's partition 0,
        with those that a reassignment adds or removes. Kafka: getTopicEffectiveMinIsr.
        """
        of_itself = len(self.partition.replicas)
        first = self._settings.replicas_of_partition_0
        if first is None or self._switches.MIN_ISR_OF_OWN_REPLICAS:
            first = of_itself
        return min(self._log.now.min_insync_replicas, first)

    # What happens to brokers

    def remove_from_isr(self, broker: int) -> None:
        """A broker is fenced, or shuts down: it leaves the ISR, and cannot lead."""
        if broker in self.partition.isr:
            self._write(self.change(removed=broker))

    def distrust(self, broker: int) -> None:
        """A broker registers after an unclean shutdown: it leaves ISR and ELR. Kafka: handleBrokerUncleanShutdown."""
        if self._switches.ELR and broker in self.partition.isr | self.partition.elr:
            self._write(self.change(removed=broker, unclean=frozenset({broker})))

    def unregister(self, broker: int) -> None:
        """A broker is scrapped: it leaves the ISR. It stays in the ELR, although Kafka's comment says that it leaves
        that as well. Kafka: handleBrokerUnregistered.
        """
        if broker in self.partition.isr | self.partition.elr:
            scrapped = frozenset({broker}) if self._switches.UNREGISTERED_LEAVES_ELR else frozenset()
            self._write(self.change(removed=broker, unclean=scrapped))

    def elect_if_leaderless(self) -> None:
        """A broker is active now: it leads if the partition has no leader, and the broker is valid."""
        if self.partition.leader is None:
            self._write(self.change())

    def take_directory(self, broker: int) -> None:
        """A broker has put its replica into another directory. Up to 4.2, that makes the controller forget the ELR.
        Kafka: handleAssignReplicasToDirs.
        """
        if broker in self.partition.replicas:
            knows_elr = self._switches.ELR and not self._switches.ASSIGNED_DIRECTORY_ERASES_ELR
            self._write(self.change(knows_elr=knows_elr, changes_directory=True))

    # Proposals of leaders

    def alter_partition(self, sender: int, request: AlterIsrRequest) -> AlterIsrResponse:
        """Make a proposed ISR the ISR of record, which may complete a reassignment; or refuse it. A leader that is
        removed by that learns only that there is another one. Kafka: ReplicationControlManager.alterPartition.
        """
        error = error_for(sender, request, self._log.now, self._switches, self._bug)
        if error is not Errors.NONE:
            return AlterIsrResponse(error)
        self._write(self.change(target_isr=request.isr))
        now = self.partition
        if now.leader != sender:
            return AlterIsrResponse(Errors.NEW_LEADER_ELECTED)
        return AlterIsrResponse(Errors.NONE, now.leader_epoch, now.partition_epoch, now.isr)

    # Requests of an administrator

    def begin_reassignment(self, replicas: tuple[int, ...]) -> None:
        """Assign the partition to these replicas; those that are removed stay until the added ones are in sync, if
        there are any to wait for. Kafka: changePartitionReassignment. Errors: `ClusterError`.
        """
        brokers = self._log.now.brokers
        missing = [each for each in replicas if not (0 <= each < len(brokers) and brokers[each].is_registered)]
        if missing or not replicas or len(set(replicas)) < len(replicas):
            raise ClusterError(
                f"reassignment to {list(replicas)}: name registered brokers, each once, and at least one"
            )
        self._write(self.change(target=begun(assignment_of(self.partition), replicas)))

    def cancel_reassignment(self) -> None:
        """Go back to the replicas before the reassignment. Kafka: cancelPartitionReassignment. Errors: `ClusterError`
        if there is none, or if every member of the ISR is one of the added replicas.
        """
        if not self.partition.is_reassigned:
            raise ClusterError("there is no reassignment to cancel; begin one")
        isr = self.partition.isr
        if self._bug is not Bug.CANCEL_KEEPS_ISR:
            isr -= self.partition.adding
        if not isr:
            raise ClusterError("the reassignment cannot be cancelled: the ISR has only replicas that it adds")
        self._write(self.change(target=reverted(assignment_of(self.partition)), target_isr=isr))

    def change_min_insync_replicas(self, least: int) -> None:
        """Set min.insync.replicas of the topic; its present value, set again, changes nothing."""
        if least != self._log.now.min_insync_replicas:
            self._write_min_insync_replicas(least)

    def write_cluster_min_insync_replicas(self) -> None:
        """Set min.insync.replicas of the cluster, to any value: the topic has a value of its own, which stays."""
        self._write_min_insync_replicas(self._log.now.min_insync_replicas)

    def _write_min_insync_replicas(self, least: int) -> None:
        """With the value comes ClearElrRecord: nobody is eligible outside the ISR any longer, and nobody led last.
        Kafka: ConfigurationControlManager, ReplicationControlManager.replay(ClearElrRecord).
        """
        cleared = before = self.partition
        if self._bug is not Bug.NEW_MINIMUM_KEEPS_ELR:
            cleared = replace(before, elr=frozenset(), last_known_leader=None)
        if cleared != before:
            cleared = replace(cleared, partition_epoch=before.partition_epoch + 1)
        self._log.write_min_insync_replicas(least, cleared)

    def write(self, record: PartitionRegistration) -> None:
        """Append a record of the partition."""
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
        """The record after a change, or None. A broker that is removed from the ISR cannot lead. Errors:
        `ClusterError`.
        """
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
        """Whether a broker is active. Errors: `ClusterError` for an active broker that is no replica before the change:
        the controller asks for the directory of its replica. Kafka: LeaderAcceptor, PartitionRegistration.directory.
        """
        is_active = self._log.now.brokers[broker].is_active
        if is_active and broker not in self.partition.replicas and self._bug is not Bug.STRANGER_ELECTED:
            raise ClusterError(f"UNKNOWN_SERVER_ERROR: replica {broker} is not assigned to this partition")
        return is_active

    def _write(self, record: PartitionRegistration | None) -> None:
        if record is not None:
            self.write(record)
