"""What a broker forgets when its process ends, and what it knows when it starts."""

from isrcheck.models.kafka.state.broker.commit import begin_to_lead
from isrcheck.models.kafka.state.broker.epochs import drop_epochs_from
from isrcheck.models.kafka.state.broker.log import begin_to_follow, clamp_high_watermark
from isrcheck.models.kafka.state.broker.proposals import clear_request
from isrcheck.models.kafka.state.broker.roles import (
    adopt_controllers_isr,
    forget_admitted_fetches,
    forget_heard_metadata,
    forget_own_fetches,
    stop_leading,
)
from isrcheck.models.kafka.state.clients.sequences import cut_producer_state
from isrcheck.models.kafka.state.values import AlterPartition, BrokerEpoch, Controller, IsrChannel, Stop
from isrcheck.models.language import NONE


def stop_broker(s, broker):
    """The process ends. It forgets leader and epoch; responses and requests that it had sent stay in flight."""
    stop_leading(s, broker)
    forget_own_fetches(s, broker)
    s.is_up[broker] = False
    s.is_truncating[broker] = False
    s.leader[broker] = NONE
    s.leader_epoch[broker] = 0
    if s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION:
        s.partition_epoch[broker] = 0
        if s.alter_partition[broker] != AlterPartition.REQUESTED:
            clear_request(s, broker)
    if s.CONTROLLER == Controller.KRAFT:
        forget_admitted_fetches(s, broker)
        if s.DIVERGING_ANSWER_IS_SPLIT:
            s.held_epoch[broker] = NONE
            s.held_end_offset[broker] = 0
        s.metadata_position[broker] = 0
        s.stopped_by[broker] = Stop.CRASH
        if s.min_isr_changes > 0:
            s.min_isr_changes_read[broker] = 0
        if s.is_fenced[broker]:
            s.is_shutting_down[broker] = False  # nothing depends on what the process wanted
    forget_heard_metadata(s)


def register_new_process(s, broker):
    """The controller registers the restarted process under a new broker epoch: fetches and requests that name the
    earlier one are recognised, and requests that the earlier one sent are refused (STALE_BROKER_EPOCH).

    The new process does not shut down, even if the earlier one did. Kafka: ClusterControlManager.registerBroker, whose
    record has neither a controlled shutdown nor an offset to wait for.
    """
    s.is_shutting_down[broker] = False
    s.shutdown_partition_epoch[broker] = 0
    clear_request(s, broker)
    for leader in range(s.replicas):
        if s.FETCH_IS_SPLIT:  # not modelled: that a fetch of the earlier process still counts for that process
            s.admitted_offset[leader][broker] = NONE
            s.is_of_former_state[leader][broker] = False
        if s.remote_broker_epoch[leader][broker] == BrokerEpoch.REGISTERED:
            s.remote_broker_epoch[leader][broker] = BrokerEpoch.EARLIER
        if s.requested_broker_epoch[leader][broker] == BrokerEpoch.REGISTERED:
            s.requested_broker_epoch[leader][broker] = BrokerEpoch.EARLIER


def start_broker(s, broker, checkpoint):
    """The broker's process restarts with a checkpointed high watermark, and receives the controller's current metadata.

    An epoch that starts at the log end is dropped from the cache when the log is loaded. A leader continues in its
    epoch, without its knowledge of its followers; a follower first has to reconcile its log with its leader's.
    """
    s.is_up[broker] = True
    cut_producer_state(s, broker, s.log_end_offset[broker])
    s.high_watermark[broker] = min(checkpoint, s.log_end_offset[broker])
    clamp_high_watermark(s, broker)
    drop_epochs_from(s, broker, s.log_end_offset[broker])
    s.leader[broker] = s.controller_leader
    s.leader_epoch[broker] = s.controller_epoch
    if s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION:
        s.partition_epoch[broker] = s.controller_partition_epoch
    if s.CONTROLLER == Controller.KRAFT:
        s.metadata_position[broker] = s.controller_partition_epoch
        s.stopped_by[broker] = Stop.CRASH  # without a meaning while the broker runs
        if s.min_isr_changes > 0:
            for change in range(s.min_isr_changes):
                if s.changed_min_isr[change] > 0:
                    s.min_isr_changes_read[broker] = change + 1
    if s.controller_leader == broker:
        adopt_controllers_isr(s, broker)
        begin_to_lead(s, broker)
    else:
        begin_to_follow(s, broker)
    forget_heard_metadata(s)
