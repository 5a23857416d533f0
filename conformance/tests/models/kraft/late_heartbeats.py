"""Another `controller_unfences_broker`: the last heartbeat of a process may arrive after its end, however late."""

from isrcheck.models.kafka.actions.kraft import can_lead_alone
from isrcheck.models.kafka.state.controller import announce_record, may_change_leader
from isrcheck.models.kafka.state.fields import KraftReplica
from isrcheck.models.language import action, require


@action(shows="{broker}")
def controller_unfences_broker(s, broker: KraftReplica):
    """As in the model, but the broker need not run."""
    require(s.is_fenced[broker])
    require(not s.is_shutting_down[broker])
    require(not can_lead_alone(s, broker) or may_change_leader(s))
    s.is_fenced[broker] = False
    if can_lead_alone(s, broker):
        announce_record(s, broker, False)
