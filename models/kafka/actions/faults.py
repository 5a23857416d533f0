"""Faults of brokers: crashes, and losses of power and of disks; and restarts in a cluster with ZooKeeper.

When a process dies, its log keeps what was written; only a power loss removes what was not flushed. A restarted broker
has its log and a checkpointed high watermark: any value up to its last high watermark. Not modelled: a checkpoint above
a follower's high watermark, which can exist for up to five seconds after the high watermark has fallen (follower.py).
"""

from isrcheck.models.kafka.state.broker import clear_request, start_broker, stop_broker
from isrcheck.models.kafka.state.fields import EndOffset, Replica
from isrcheck.models.kafka.state.log import has_flushed_point, truncate_log
from isrcheck.models.kafka.state.values import Controller, IsrChannel, Stop
from isrcheck.models.language import action, require


def is_kept(s, broker, end_offset):
    """A loss of power can cut the log at `end_offset`: all flushed entries are kept. If the model has no flushed
    offset, any entry can be lost."""
    if has_flushed_point(s):
        return s.flushed_offset[broker] <= end_offset
    return True


def note_loss(s, broker):
    """Note that the broker lost data, which a KRaft controller may take into account when the broker is back."""
    if s.CONTROLLER == Controller.KRAFT:
        s.stopped_by[broker] = Stop.LOSS


@action
def broker_crashes(s, broker: Replica):
    """The broker's process dies; the operating system keeps what the process has written to its log."""
    require(s.crashes_left > 0)
    require(s.is_up[broker])
    s.crashes_left -= 1
    stop_broker(s, broker)


@action(shows="{broker} keeping {kept}")
def broker_loses_power(s, broker: Replica, kept: EndOffset):
    """The machine dies, and loses its log from offset `kept` on, which had not been flushed.

    A log does not become shorter than where it starts (the log start itself is assumed to be checkpointed).
    """
    require(s.power_losses_left > 0)
    require(s.is_up[broker])
    require(s.log_start_offset[broker] <= kept)
    require(kept < s.log_end_offset[broker])
    require(is_kept(s, broker, kept))
    s.power_losses_left -= 1
    stop_broker(s, broker)
    note_loss(s, broker)
    truncate_log(s, broker, kept)
    s.high_watermark[broker] = min(s.high_watermark[broker], kept)


def lose_disk(s, broker):
    note_loss(s, broker)
    truncate_log(s, broker, 0)
    s.high_watermark[broker] = 0


@action
def broker_loses_disk(s, broker: Replica):
    """The machine dies, and restarts with an empty disk."""
    require(s.disk_losses_left > 0)
    require(s.is_up[broker])
    require(s.log_end_offset[broker] > 0)
    s.disk_losses_left -= 1
    stop_broker(s, broker)
    lose_disk(s, broker)


def was_noticed(s, broker):
    """The controller has noticed the end of the broker's process: the broker has left the ISR, unless it is the last
    member. Since KIP-380 (2.2) a new process is recognised by its broker epoch before anything is sent to it.

    Generations up to 2.4 do not require this: a restart can be too short for the controller to notice.
    """
    return not s.controller_isr[broker] or sum(1 for r in range(s.replicas) if s.controller_isr[r]) == 1


@action(shows="{broker} checkpoint {checkpoint}")
def broker_restarts(s, broker: Replica, checkpoint: EndOffset):
    """A broker that is down restarts; at least `brokers_down` brokers stay down."""
    require(not s.is_up[broker])
    require(sum(1 for r in range(s.replicas) if not s.is_up[r]) > s.brokers_down)
    require(checkpoint <= s.high_watermark[broker])
    require(s.ISR_CHANNEL == IsrChannel.ZK or was_noticed(s, broker))
    if s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION:
        clear_request(s, broker)  # of the process before: STALE_BROKER_EPOCH
    start_broker(s, broker, checkpoint)
