"""Mutual exclusion with logical clocks and messages, by Leslie Lamport (1978).

After specifications/lamport_mutex/LamportMutex.tla by Stephan Merz
(2024-01-26; github.com/tlaplus/Examples, MIT license). Model file: MCLamportMutex.cfg, with N = 3 and the constraint
that no clock exceeds maxClock = 6.

The same: every state and step. Different: a channel is an array of three messages, the oldest one first, as no channel
ever has more (BoundedNetwork; a fourth one would be a range error here). A message is a number: 0 none, 1 ack, 2 rel,
and 2 + c a request with the clock c.
"""

from isrcheck.models.language import Domain, Flag, action, always, between, bound, constraint, field, require


class Configuration:
    processes = bound(3, "processes (N)", least=1, option="--processes")
    max_clock = bound(6, "the largest clock (maxClock)", least=1, option="--max-clock")


class Process(Domain, size="processes"):
    pass


class Slot(Domain, size=3):
    """A place in a channel."""


NO_MESSAGE, ACK, RELEASE = 0, 1, 2
REQUEST = 2
"""What is added to the clock of a request."""


class State:
    clock = field(Process, values=between(1, lambda configuration: configuration.max_clock + 1), initially=1)
    requested = field(Process, Process, values=between(0, "max_clock"))  # req[p][q]: the clock; 0: no request
    acknowledged = field(Process, Process, values=Flag)  # ack[p]: who has acknowledged the request of p
    network = field(Process, Process, Slot, values=between(0, lambda configuration: configuration.max_clock + 2))
    is_critical = field(Process, values=Flag)


@constraint
def clocks_are_small(s):
    return all(s.clock[p] <= s.max_clock for p in range(s.processes))


def beats(s, process, other):
    """The process believes that its request comes before the other's."""
    return (
        s.requested[process][other] == 0
        or s.requested[process][process] < s.requested[process][other]
        or (s.requested[process][process] == s.requested[process][other] and process < other)
    )


def send(s, sender, receiver, message):
    """Append a message to a channel. A full one has no slot, which is a range error."""
    used = sum(1 for slot in range(3) if s.network[sender][receiver][slot] != NO_MESSAGE)
    s.network[sender][receiver][used] = message


def remove_first(s, sender, receiver):
    s.network[sender][receiver][0] = s.network[sender][receiver][1]
    s.network[sender][receiver][1] = s.network[sender][receiver][2]
    s.network[sender][receiver][2] = NO_MESSAGE


@action
def request(s, process: Process):
    """A process asks all others for the critical section."""
    require(s.requested[process][process] == 0)
    s.requested[process][process] = s.clock[process]
    for other in range(s.processes):
        s.acknowledged[process][other] = other == process
        if other != process:
            send(s, process, other, REQUEST + s.clock[process])


@action
def enter(s, process: Process):
    require(all(s.acknowledged[process][other] for other in range(s.processes)))
    require(all(beats(s, process, other) for other in range(s.processes) if other != process))
    s.is_critical[process] = True


@action
def leave(s, process: Process):
    """A process leaves the critical section (Exit), and tells all others."""
    require(s.is_critical[process])
    s.is_critical[process] = False
    s.requested[process][process] = 0
    for other in range(s.processes):
        s.acknowledged[process][other] = False
        if other != process:
            send(s, process, other, RELEASE)


@action(shows="by {process} from {sender}")
def receive_request(s, process: Process, sender: Process):
    require(sender != process)
    require(s.network[sender][process][0] > REQUEST)
    clock = s.network[sender][process][0] - REQUEST
    s.requested[process][sender] = clock
    s.clock[process] = max(clock, s.clock[process]) + 1
    remove_first(s, sender, process)
    send(s, process, sender, ACK)


@action(shows="by {process} from {sender}")
def receive_ack(s, process: Process, sender: Process):
    require(sender != process)
    require(s.network[sender][process][0] == ACK)
    s.acknowledged[process][sender] = True
    remove_first(s, sender, process)


@action(shows="by {process} from {sender}")
def receive_release(s, process: Process, sender: Process):
    require(sender != process)
    require(s.network[sender][process][0] == RELEASE)
    s.requested[process][sender] = 0
    remove_first(s, sender, process)


@always
def mutex(s):
    """One process at most is in the critical section."""
    return sum(1 for p in range(s.processes) if s.is_critical[p]) <= 1
