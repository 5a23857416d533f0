"""What a transaction commit is, without a protocol that achieves it, by Gray and Lamport (2006).

After specifications/transaction_commit/TCommit.tla by Jim Gray and Leslie Lamport
(2024-03-25; github.com/tlaplus/Examples, MIT license). Model file: TCommit.cfg, with three resource managers.

The same: every state and step. Different: the two branches of Decide are two actions.
"""

from enum import IntEnum

from isrcheck.models.language import Domain, action, always, bound, field, require, terminal


class Configuration:
    resource_managers = bound(3, "resource managers that take part", least=1, option="--resource-managers")


class ResourceManager(Domain, size="resource_managers"):
    pass


class Phase(IntEnum):
    WORKING = 0
    PREPARED = 1
    COMMITTED = 2
    ABORTED = 3


class State:
    phase = field(ResourceManager, values=Phase)


def can_commit(s):
    return all(s.phase[rm] == Phase.PREPARED or s.phase[rm] == Phase.COMMITTED for rm in range(s.resource_managers))


def nobody_committed(s):
    return all(s.phase[rm] != Phase.COMMITTED for rm in range(s.resource_managers))


@action
def prepare(s, rm: ResourceManager):
    require(s.phase[rm] == Phase.WORKING)
    s.phase[rm] = Phase.PREPARED


@action
def decide_to_commit(s, rm: ResourceManager):
    require(s.phase[rm] == Phase.PREPARED)
    require(can_commit(s))
    s.phase[rm] = Phase.COMMITTED


@action
def decide_to_abort(s, rm: ResourceManager):
    require(s.phase[rm] == Phase.WORKING or s.phase[rm] == Phase.PREPARED)
    require(nobody_committed(s))
    s.phase[rm] = Phase.ABORTED


@terminal
def everyone_has_decided(s):
    return all(s.phase[rm] >= Phase.COMMITTED for rm in range(s.resource_managers))


@always
def consistent(s):
    """No resource manager has committed while another has aborted."""
    return not any(
        s.phase[one] == Phase.ABORTED and s.phase[other] == Phase.COMMITTED
        for one in range(s.resource_managers)
        for other in range(s.resource_managers)
    )
