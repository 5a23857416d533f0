"""The initial state: empty logs, and replica 0 leads epoch 0; every other replica follows it."""

from isrcheck.models.language import contradiction, initial, terminal
from isrcheck.models.quorum.values import Role


@initial
def a_leader_is_elected(configuration):
    """Replica 0 has been elected. Its own record of that, if leaders write one, is no longer in the log."""
    yield {"role": [Role.LEADER] + [Role.FOLLOWER] * (configuration.replicas - 1)}


@terminal
def bounds_are_used_up(s):
    """Epochs, records and faults are numbered, so that a behaviour may end anywhere."""
    return True


@contradiction
def nobody_votes(configuration):
    """There are no more observers than replicas without a voter; lower --observers, or raise --replicas."""
    return configuration.observers >= configuration.replicas


@contradiction
def no_room_for_leaders_records(configuration):
    """With LEADER_CHANGE_RECORD, a log needs room for an entry of each epoch and for a record; raise --log-size to more
    than --elections, or lower that."""
    return configuration.LEADER_CHANGE_RECORD and configuration.log_size < configuration.elections + min(
        1, configuration.records
    )
