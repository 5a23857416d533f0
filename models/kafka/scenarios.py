"""What a search must be able to reach before its answer means anything. `MODEL` has the state, actions and generations
of the model `kafka`.

A search that finds no loss says nothing if, within its bounds, no fault can follow an acknowledged record. Each
scenario of an operator's question (checker/answers/planning.py) names the bounds within which the states of this model
have to be reachable. They are not properties of the model `kafka`, because in other bounds they need not be reachable.
"""

import importlib
import sys

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.state import fields
from isrcheck.models.kafka.state.broker import is_controllers_leader, presumes_leadership
from isrcheck.models.kafka.state.clients import is_read
from isrcheck.models.language import NONE, sometimes
from isrcheck.models.language.model import assemble

generations = importlib.import_module("isrcheck.models.kafka.generations")
"""The module with the generations of the model `kafka`, which this model has as well."""


def can_commit(configuration):
    """A write can be acknowledged. Since 3.7, a min.insync.replicas above the number of replicas means all replicas."""
    is_possible = configuration.min_insync_replicas <= configuration.replicas or configuration.HW_MINISR_GATE
    return configuration.acks != Acks.ALL or is_possible


def failures(configuration):
    """The largest number of failures of one kind (crash, loss of power, loss of a disk) that the bounds allow."""
    return max(configuration.crashes, configuration.power_losses, configuration.disk_losses)


def elects(configuration):
    """The bounds permit elections; the properties that then apply show whether anything causes an election."""
    return configuration.elections > 0 and configuration.replicas > 1


def is_any_acknowledged(s):
    return any(s.acknowledged[record] for record in range(s.records))


@sometimes
def a_record_is_acknowledged(s):
    return is_any_acknowledged(s)


@sometimes(applies=lambda c: can_commit(c) and elects(c))
def a_leader_is_elected_after_an_acknowledgement(before, after):
    """A record was acknowledged, and then the controller elects another broker, or any broker if nobody led."""
    return (
        is_any_acknowledged(before)
        and after.controller_leader != NONE
        and after.controller_leader != before.controller_leader
    )


@sometimes(applies=lambda c: can_commit(c) and failures(c) > 0)
def a_broker_returns_after_an_acknowledgement(before, after):
    """A record was acknowledged, and then a broker that was down runs again."""
    return is_any_acknowledged(before) and any(after.is_up[r] and not before.is_up[r] for r in range(before.replicas))


@sometimes(applies=lambda c: can_commit(c) and failures(c) >= c.replicas)
def every_broker_is_down_after_an_acknowledgement(s):
    return is_any_acknowledged(s) and not any(s.is_up[r] for r in range(s.replicas))


@sometimes(applies=lambda c: can_commit(c) and failures(c) >= c.replicas)
def a_broker_leads_after_as_many_failures(s):
    """A record was acknowledged, there were at least as many failures of one kind as brokers, and a broker leads."""
    failed = max(s.crashes - s.crashes_left, s.power_losses - s.power_losses_left, s.disk_losses - s.disk_losses_left)
    return (
        is_any_acknowledged(s) and failed >= s.replicas and any(is_controllers_leader(s, r) for r in range(s.replicas))
    )


@sometimes(applies=lambda c: can_commit(c) and c.bounces > 0 and c.replicas > 1)
def a_broker_bounces_after_an_acknowledgement(before, after):
    return is_any_acknowledged(before) and after.bounces_left < before.bounces_left


@sometimes(applies=lambda c: can_commit(c) and c.fencings > 0)
def a_session_expires_after_an_acknowledgement(before, after):
    """A record was acknowledged, and then the session of a broker that runs expires."""
    return is_any_acknowledged(before) and after.fencings_left < before.fencings_left


@sometimes(applies=lambda c: can_commit(c) and c.preferred_elections > 0 and c.replicas > 1)
def leadership_moves_after_an_acknowledgement(before, after):
    return is_any_acknowledged(before) and after.preferred_elections_left < before.preferred_elections_left


@sometimes(applies=lambda c: can_commit(c) and c.unclean_elections > 0 and c.replicas > 1)
def an_unclean_election_follows_an_acknowledgement(before, after):
    return is_any_acknowledged(before) and after.unclean_elections_left < before.unclean_elections_left


@sometimes(applies=lambda c: c.retries > 0 and can_commit(c))
def a_request_is_sent_again(before, after):
    return after.retries_left < before.retries_left


@sometimes(applies=lambda c: c.retries > 0 and can_commit(c) and elects(c))
def a_request_is_sent_again_to_another_leader(before, after):
    """A request is sent again while a broker other than the first leader leads."""
    return after.retries_left < before.retries_left and any(
        presumes_leadership(after, r) and r > 0 for r in range(before.replicas)
    )


@sometimes(applies=lambda c: can_commit(c) and min(c.records, c.log_size) > 1)
def two_records_are_acknowledged(s):
    return sum(1 for record in range(s.records) if s.acknowledged[record]) > 1


@sometimes(applies=lambda c: c.common_records > 0)
def a_committed_record_is_still_read(s):
    """The first record, which was committed from the start, can be read."""
    return any(
        is_controllers_leader(s, leader) and is_read(s, leader, 0) and s.log_record[leader][0] == 0
        for leader in range(s.replicas)
    )


MODEL = assemble(
    "kafka_scenarios",
    [fields, sys.modules[__name__]],
    generations.GENERATIONS,
    generations.STAND_INS,
)
