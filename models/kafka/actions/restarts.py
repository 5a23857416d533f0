"""Restarts of brokers that were down, in a cluster with ZooKeeper."""

from isrcheck.models.kafka.state.broker.lifecycle import start_broker
from isrcheck.models.kafka.state.broker.proposals import clear_request
from isrcheck.models.kafka.state.fields import EndOffset, Replica
from isrcheck.models.kafka.state.values import IsrChannel
from isrcheck.models.language import action, require


def was_noticed(s, broker):
    """The controller has treated the end of the process as a failure: since KIP-380 (2.2) it recognises the new process
    by its broker epoch, and does so before it tells it anything. The last member of the ISR stays.

    Up to 2.4 this is left out: there, a restart can be too short for the controller to notice.
    """
    return not s.controller_isr[broker] or sum(1 for r in range(s.replicas) if s.controller_isr[r]) == 1


@action(shows="{broker} checkpoint {checkpoint}")
def broker_restarts(s, broker: Replica, checkpoint: EndOffset):
    """A broker that is down restarts; `brokers_down` brokers always stay down."""
    require(not s.is_up[broker])
    require(sum(1 for r in range(s.replicas) if not s.is_up[r]) > s.brokers_down)
    require(checkpoint <= s.high_watermark[broker])
    require(s.ISR_CHANNEL == IsrChannel.ZK or was_noticed(s, broker))
    if s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION:
        clear_request(s, broker)  # of the process before: STALE_BROKER_EPOCH
    start_broker(s, broker, checkpoint)
