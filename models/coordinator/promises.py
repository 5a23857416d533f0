"""What a coordinator promises, and states that must be reachable."""

from isrcheck.models.coordinator.state import Answer, Kind, Service, has_open_batch, holds, is_classic, is_coordinator
from isrcheck.models.language import NONE, always, sometimes


@always
def acknowledged_commit_is_kept(s):
    """Whatever a client was told to be written is in the leader's log."""
    return all(s.answer[write] != Answer.ACKNOWLEDGED or holds(s, s.leader, write) for write in range(s.writes))


@always
def state_agrees_with_log(s):
    """Apart from an open batch, the coordinator has in memory exactly what its log says."""
    return all(
        not is_coordinator(s, broker)
        or all(
            s.batch[broker][write] or s.applied[broker][write] == holds(s, broker, write) for write in range(s.writes)
        )
        for broker in range(s.replicas)
    )


@always(applies=lambda configuration: configuration.service == Service.GROUP)
def log_is_valid(s):
    """The leader's log has no record of a consumer group behind the one that makes it a classic group."""
    return not any(
        s.log[s.leader][earlier] != NONE
        and s.log[s.leader][later] != NONE
        and s.kind[s.log[s.leader][earlier]] == Kind.CLASSIC
        and s.kind[s.log[s.leader][later]] == Kind.MEMBER
        for earlier in range(s.writes)
        for later in range(s.writes)
        if earlier < later
    )


@sometimes
def a_commit_is_acknowledged(s):
    return any(s.answer[write] == Answer.ACKNOWLEDGED and s.kind[write] == Kind.COMMIT for write in range(s.writes))


@sometimes(applies=lambda configuration: configuration.elections > 0)
def a_write_fails(s):
    """Leadership moves before a write is committed, and the client gets an error."""
    return any(s.answer[write] == Answer.FAILED for write in range(s.writes))


@sometimes(applies=lambda configuration: configuration.elections > 0)
def another_coordinator_goes_on(s):
    """A write of one broker is acknowledged, and then one of the next leader."""
    return any(
        s.answer[earlier] == Answer.ACKNOWLEDGED
        and s.answer[later] == Answer.ACKNOWLEDGED
        and s.handled_by[earlier] != s.handled_by[later]
        for earlier in range(s.writes)
        for later in range(s.writes)
    )


@sometimes(applies=lambda configuration: configuration.writes > 1)
def a_batch_has_two_writes(s):
    return any(
        s.batch[broker][earlier] and s.batch[broker][later]
        for broker in range(s.replicas)
        for earlier in range(s.writes)
        for later in range(s.writes)
        if earlier < later
    )


@sometimes(applies=lambda configuration: configuration.service == Service.GROUP)
def a_group_is_converted(s):
    """The group is a classic group in memory, and in the log of every replica."""
    return is_classic(s, s.leader) and all(
        any(holds(s, replica, write) and s.kind[write] == Kind.CLASSIC for write in range(s.writes))
        for replica in range(s.replicas)
    )


@sometimes(applies=lambda configuration: configuration.elections > 0)
def a_stale_coordinator_has_a_batch(s):
    """A coordinator whose broker follows has yet to learn that its batch cannot be written."""
    return any(s.unload_is_queued[broker] and has_open_batch(s, broker) for broker in range(s.replicas))
