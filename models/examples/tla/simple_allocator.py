"""An allocator of resources: clients ask for sets of resources, get them bit by bit, and return them.

After specifications/allocator/SimpleAllocator.tla by Stephan Merz (2004-08-17; github.com/tlaplus/Examples, MIT
license). Model file: SimpleAllocator.cfg, with three clients and two resources.

The same: every state and step, and the fairness of the specification SimpleAllocator. Different: the properties are
stated of the first client and the first resource. The specification treats all clients and resources alike, so they
are true of all, as in TLA+.
"""

from isrcheck.models.language import (
    Domain,
    Set,
    Subset,
    action,
    always,
    always_eventually,
    bound,
    field,
    leads_to,
    require,
    strong_fairness,
    weak_fairness,
)


class Configuration:
    clients = bound(3, "clients (Clients)", least=1, option="--clients")
    resources = bound(2, "resources (Resources)", least=1, option="--resources")


class Client(Domain, size="clients"):
    pass


class Resource(Domain, size="resources"):
    pass


class Resources(Subset, of=Resource):
    pass


class State:
    unsatisfied = field(Client, values=Set(of=Resource))  # unsat: what the client waits for
    allocated = field(Client, values=Set(of=Resource))  # alloc


def is_available(s, resource):
    return not any(resource in s.allocated[client] for client in Client)


def returns_everything(s, client: Client, resources: Resources):
    return all(resources[resource] == (resource in s.allocated[client]) for resource in Resource)


@action
def requests(s, client: Client, resources: Resources):
    """A client that neither waits nor holds anything asks for some resources."""
    require(len(s.unsatisfied[client]) == 0 and len(s.allocated[client]) == 0)
    require(any(resources[resource] for resource in Resource))
    for resource in Resource:
        if resources[resource]:
            s.unsatisfied[client].add(resource)


@action(fair=strong_fairness(each="client"))
def obtains(s, client: Client, resources: Resources):
    """The allocator gives a client some available resources for which the client waits (Allocate)."""
    require(any(resources[resource] for resource in Resource))
    require(
        all(
            not resources[resource] or (is_available(s, resource) and resource in s.unsatisfied[client])
            for resource in Resource
        )
    )
    for resource in Resource:
        if resources[resource]:
            s.allocated[client].add(resource)
            s.unsatisfied[client].discard(resource)


@action(fair=weak_fairness(each="client", when=returns_everything))
def returns(s, client: Client, resources: Resources):
    """A client returns some of its resources. It need not do so before it returns all of them: Return(c, alloc[c])."""
    require(any(resources[resource] for resource in Resource))
    require(all(not resources[resource] or resource in s.allocated[client] for resource in Resource))
    for resource in Resource:
        if resources[resource]:
            s.allocated[client].discard(resource)


@always
def resource_mutex(s):
    """No resource is allocated to two clients."""
    return not any(
        one != other and resource in s.allocated[one] and resource in s.allocated[other]
        for one in Client
        for other in Client
        for resource in Resource
    )


def is_satisfied(s):
    return len(s.unsatisfied[0]) == 0


def waits_for_the_first_resource(s):
    return 0 in s.unsatisfied[0]


@leads_to(when=is_satisfied)
def client_will_return(s):
    """ClientsWillReturn: a client whose requests are satisfied will hold nothing."""
    return len(s.allocated[0]) == 0


@leads_to(when=waits_for_the_first_resource)
def client_will_obtain(s):
    """ClientsWillObtain: a client gets each resource for which it waits."""
    return 0 in s.allocated[0]


@always_eventually
def client_is_satisfied_again_and_again(s):
    """InfOftenSatisfied: a client is satisfied again and again."""
    return is_satisfied(s)
