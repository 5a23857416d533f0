"""Restarts of brokers that were down, in a cluster with ZooKeeper."""

from isrcheck.models.kafka.state.fields import EndOffset, Replica
from isrcheck.models.kafka.state.lifecycle import start_broker
from isrcheck.models.language import action, require


@action(shows="{broker} checkpoint {checkpoint}")
def broker_restarts(s, broker: Replica, checkpoint: EndOffset):
    """A broker that is down restarts, unless fewer brokers would then be down than are down for good."""
    require(not s.is_up[broker])
    require(sum(1 for r in range(s.replicas) if not s.is_up[r]) > s.brokers_down)
    require(checkpoint <= s.high_watermark[broker])
    start_broker(s, broker, checkpoint)
