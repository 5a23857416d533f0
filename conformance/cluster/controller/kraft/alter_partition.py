"""Which proposals of a leader the controller refuses. Kafka: validateAlterPartitionData, ineligibleReplicasForIsr.

In:  a leader's request, and the metadata.
Out: the error in the answer.

Source: fact sheet, section 4.5, KRaft.
"""

from __future__ import annotations

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.switches import BrokerStateCheck, Switches
from isrcheck.conformance.cluster.network.alter_isr_messages import AlterIsrRequest
from isrcheck.conformance.cluster.network.messages import Errors
from isrcheck.conformance.cluster.network.metadata_messages import MetadataImage


def error_for(
    sender: int, request: AlterIsrRequest, image: MetadataImage, switches: Switches, bug: Bug | None
) -> Errors:
    """The error for a proposal of a registered process; NONE: it is accepted.

    Unlike a controller with ZooKeeper, this one refuses a request that it has accepted before and that comes again: its
    partition epoch is old.
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
    """Whether a broker may be in the ISR: it is active (KIP-841), and the process that has fetched is the registered
    one (KIP-903), as far as the leader knows it.
    """
    registered, check = image.brokers[broker], switches.BROKER_STATE_CHECK
    if check >= BrokerStateCheck.FENCED and not registered.is_active:
        return bug is Bug.FENCED_BROKER_ELIGIBLE
    is_other = broker_epoch is not None and broker_epoch != registered.broker_epoch
    return check < BrokerStateCheck.BROKER_EPOCH or not is_other or bug is Bug.BROKER_EPOCH_NOT_COMPARED
