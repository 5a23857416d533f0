"""Crashes that happen before the first record is sent, in place of those at any time."""

from isrcheck.models.kafka.state.broker import stop_broker
from isrcheck.models.kafka.state.fields import Replica
from isrcheck.models.language import action, require


@action
def broker_crashes(s, broker: Replica):
    """The broker's process dies before the producer sends anything."""
    require(s.next_record == 0)
    require(s.crashes_left > 0)
    require(s.is_up[broker])
    s.crashes_left -= 1
    stop_broker(s, broker)
