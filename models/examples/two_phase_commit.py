"""Two-phase commit, as Gray and Lamport specify it in "Consensus on Transaction Commit" (2006).

A transaction manager asks resource managers to prepare, and tells them to commit once all of them are prepared.
Messages are never removed: a message that was sent can be received any number of times, which models a network that
delays and duplicates messages. Left out: crashes, and all other work of a resource manager.
"""

from enum import IntEnum

from isrcheck.models.language import Domain, Flag, action, always, bound, field, lemma, require, sometimes


class Configuration:
    resource_managers = bound(3, "resource managers that take part", least=1, option="--resource-managers")


class ResourceManager(Domain, size="resource_managers"):
    pass


class Phase(IntEnum):
    WORKING = 0
    PREPARED = 1
    COMMITTED = 2
    ABORTED = 3


class Decision(IntEnum):
    OPEN = 0
    COMMIT = 1
    ABORT = 2


class State:
    phase = field(ResourceManager, values=Phase)
    decision = field(values=Decision)
    manager_knows_prepared = field(ResourceManager, values=Flag)
    prepared_was_sent = field(ResourceManager, values=Flag)


@action
def manager_receives_prepared(s, rm: ResourceManager):
    """The transaction manager learns that one resource manager is prepared."""
    require(s.decision == Decision.OPEN)
    require(s.prepared_was_sent[rm])
    s.manager_knows_prepared[rm] = True


@action
def manager_commits(s):
    """The transaction manager decides to commit, and sends the decision to all resource managers."""
    require(s.decision == Decision.OPEN)
    require(all(s.manager_knows_prepared[rm] for rm in range(s.resource_managers)))
    s.decision = Decision.COMMIT


@action
def manager_aborts(s):
    """The transaction manager decides to abort, which it may do as long as nothing is decided."""
    require(s.decision == Decision.OPEN)
    s.decision = Decision.ABORT


@action
def resource_manager_prepares(s, rm: ResourceManager):
    """A resource manager becomes ready to commit, and tells the transaction manager so."""
    require(s.phase[rm] == Phase.WORKING)
    s.phase[rm] = Phase.PREPARED
    s.prepared_was_sent[rm] = True


@action
def resource_manager_chooses_to_abort(s, rm: ResourceManager):
    """A resource manager that is not prepared aborts by itself; it need not tell the others."""
    require(s.phase[rm] == Phase.WORKING)
    s.phase[rm] = Phase.ABORTED


@action
def resource_manager_receives_commit(s, rm: ResourceManager):
    require(s.decision == Decision.COMMIT)
    s.phase[rm] = Phase.COMMITTED


@action
def resource_manager_receives_abort(s, rm: ResourceManager):
    require(s.decision == Decision.ABORT)
    s.phase[rm] = Phase.ABORTED


@always
def consistent(s):
    """No resource manager has committed while another has aborted."""
    return not any(s.phase[rm] == Phase.COMMITTED for rm in range(s.resource_managers)) or not any(
        s.phase[rm] == Phase.ABORTED for rm in range(s.resource_managers)
    )


@lemma
def who_is_prepared_waits_for_the_decision(s):
    """A resource manager commits only after all were prepared; once it is prepared, it never aborts by itself."""
    return all(
        (not s.manager_knows_prepared[rm] or s.prepared_was_sent[rm])
        and (s.decision != Decision.COMMIT or s.manager_knows_prepared[rm])
        and (s.phase[rm] != Phase.WORKING or not s.prepared_was_sent[rm])
        and (s.phase[rm] != Phase.COMMITTED or s.decision == Decision.COMMIT)
        and (s.phase[rm] != Phase.ABORTED or s.decision == Decision.ABORT or not s.prepared_was_sent[rm])
        for rm in range(s.resource_managers)
    )


@sometimes
def all_commit(s):
    return all(s.phase[rm] == Phase.COMMITTED for rm in range(s.resource_managers))


@sometimes
def all_abort(s):
    return all(s.phase[rm] == Phase.ABORTED for rm in range(s.resource_managers))
