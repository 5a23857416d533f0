"""Faults of brokers: bounces, crashes, power losses and disk losses, and the restarts that follow.

When a process dies, its log keeps what was written; only a power loss removes what was not flushed. A restarted broker
has its log and a checkpointed high watermark: any value up to the last one that it had. Not modelled: a follower's high
watermark can fall (follower.py), and for up to five seconds its checkpoint is then above it.
"""

from isrcheck.models.kafka.state.commit import begin_to_lead
from isrcheck.models.kafka.state.epochs import drop_epochs_from
from isrcheck.models.kafka.state.fields import EndOffset, Replica
from isrcheck.models.kafka.state.log import begin_to_follow, clamp_high_watermark, truncate_log
from isrcheck.models.kafka.state.roles import (
    adopt_controllers_isr,
    forget_heard_metadata,
    forget_own_fetches,
    stop_leading,
)
from isrcheck.models.language import NONE, action, require


def stop_broker(s, broker):
    """The broker's process ends. It forgets leader and epoch; responses that it has sent stay in flight."""
    stop_leading(s, broker)
    forget_own_fetches(s, broker)
    s.is_up[broker] = False
    s.is_truncating[broker] = False
    s.leader[broker] = NONE
    s.leader_epoch[broker] = 0
    forget_heard_metadata(s)


def start_broker(s, broker, checkpoint):
    """The broker's process restarts with a checkpointed high watermark, and receives the controller's current metadata.

    An epoch that starts at the log end is dropped from the cache when the log is loaded. A leader continues in its
    epoch, without its knowledge of its followers; a follower first has to reconcile its log with its leader's.
    """
    s.is_up[broker] = True
    s.high_watermark[broker] = min(checkpoint, s.log_end_offset[broker])
    clamp_high_watermark(s, broker)
    drop_epochs_from(s, broker, s.log_end_offset[broker])
    s.leader[broker] = s.controller_leader
    s.leader_epoch[broker] = s.controller_epoch
    if s.controller_leader == broker:
        adopt_controllers_isr(s, broker)
        begin_to_lead(s, broker)
    else:
        begin_to_follow(s, broker)
    forget_heard_metadata(s)


@action(shows="{broker} checkpoint {checkpoint}")
def broker_bounces(s, broker: Replica, checkpoint: EndOffset):
    """A broker that does not lead restarts before the controller notices its absence, and stays in the ISR."""
    require(s.bounces_left > 0)
    require(s.is_up[broker])
    require(broker != s.controller_leader)
    require(checkpoint <= s.high_watermark[broker])
    s.bounces_left -= 1
    stop_broker(s, broker)
    start_broker(s, broker, checkpoint)


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
    s.power_losses_left -= 1
    stop_broker(s, broker)
    truncate_log(s, broker, kept)
    s.high_watermark[broker] = min(s.high_watermark[broker], kept)


@action
def broker_loses_disk(s, broker: Replica):
    """The machine dies, and restarts with an empty disk."""
    require(s.disk_losses_left > 0)
    require(s.is_up[broker])
    require(s.log_end_offset[broker] > 0)
    s.disk_losses_left -= 1
    stop_broker(s, broker)
    truncate_log(s, broker, 0)
    s.high_watermark[broker] = 0


@action(shows="{broker} checkpoint {checkpoint}")
def broker_restarts(s, broker: Replica, checkpoint: EndOffset):
    """A broker that is down restarts; `brokers_down` brokers always stay down."""
    require(not s.is_up[broker])
    require(sum(1 for r in range(s.replicas) if not s.is_up[r]) > s.brokers_down)
    require(checkpoint <= s.high_watermark[broker])
    start_broker(s, broker, checkpoint)
