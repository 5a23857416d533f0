"""Restarts that are too short for a controller with ZooKeeper to notice (up to 2.4)."""

from isrcheck.models.kafka.state.broker import start_broker, stop_broker
from isrcheck.models.kafka.state.fields import EndOffset, Replica
from isrcheck.models.language import action, require


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
