"""Mutual exclusion with logical clocks and messages, by Leslie Lamport (1978).

After specifications/lamport_mutex/LamportMutex.tla by Stephan Merz
(2024-01-26; github.com/tlaplus/Examples, MIT license). Model file: MCLamportMutex.cfg, with N = 3 and the constraint
that no clock exceeds maxClock = 6.

The same: every state and step. Different: a channel has at most three messages (BoundedNetwork; a fourth one would be a
range error here). A message is a number: 0 ack, 1 rel, and 1 + c a request with the clock c.
"""

from isrcheck.models.language import Domain, Queue, Set, action, always, between, bound, constraint, field, require


class Configuration:
    processes = bound(3, "processes (N)", least=1, option="--processes")
    max_clock = bound(6, "the largest clock (maxClock)", least=1, option="--max-clock")


class Process(Domain, size="processes"):
    pass


ACK, RELEASE = 0, 1
REQUEST = 1
"""What is added to the clock of a request."""

MESSAGES = between(0, lambda configuration: configuration.max_clock + 2)


class State:
    clock = field(Process, values=between(1, lambda configuration: configuration.max_clock + 1), initially=1)
    requested = field(Process, Process, values=between(0, "max_clock"))  # req[p][q]: the clock; 0: no request
    acknowledged = field(Process, values=Set(of=Process))  # ack[p]: who has acknowledged the request of p
    network = field(Process, Process, values=Queue(of=MESSAGES, most=3))
    critical = field(values=Set(of=Process))


@constraint
def clocks_are_small(s):
    return all(s.clock[p] <= s.max_clock for p in Process)


def beats(s, process, other):
    """The process believes that its request comes before the other's."""
    return (
        s.requested[process][other] == 0
        or s.requested[process][process] < s.requested[process][other]
        or (s.requested[process][process] == s.requested[process][other] and process < other)
    )


def broadcast(s, sender, message):
    """`sender` sends `message` to all other processes."""
    for other in Process:
        if other != sender:
            s.network[sender][other].append(message)


@action
def request(s, process: Process):
    """A process asks all other processes to let it enter the critical section."""
    require(s.requested[process][process] == 0)
    s.requested[process][process] = s.clock[process]
    broadcast(s, process, REQUEST + s.clock[process])
    s.acknowledged[process] = {process}


@action
def enter(s, process: Process):
    require(len(s.acknowledged[process]) == len(Process))
    require(all(beats(s, process, other) for other in Process if other != process))
    s.critical.add(process)


@action
def leave(s, process: Process):
    """A process leaves the critical section (Exit), and tells all other processes (rel)."""
    require(process in s.critical)
    s.critical.discard(process)
    broadcast(s, process, RELEASE)
    s.requested[process][process] = 0
    s.acknowledged[process].clear()


@action(shows="by {process} from {sender}")
def receive_request(s, process: Process, sender: Process):
    require(len(s.network[sender][process]) > 0 and s.network[sender][process][0] > REQUEST)
    message = s.network[sender][process].popleft()
    s.requested[process][sender] = message - REQUEST
    s.clock[process] = max(message - REQUEST, s.clock[process]) + 1
    s.network[process][sender].append(ACK)


@action(shows="by {process} from {sender}")
def receive_ack(s, process: Process, sender: Process):
    require(len(s.network[sender][process]) > 0 and s.network[sender][process][0] == ACK)
    s.network[sender][process].popleft()
    s.acknowledged[process].add(sender)


@action(shows="by {process} from {sender}")
def receive_release(s, process: Process, sender: Process):
    require(len(s.network[sender][process]) > 0 and s.network[sender][process][0] == RELEASE)
    s.network[sender][process].popleft()
    s.requested[process][sender] = 0


@always
def mutex(s):
    """At most one process is in the critical section."""
    return len(s.critical) <= 1
