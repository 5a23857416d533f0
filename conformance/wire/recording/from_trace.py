"""Turns a trace into a script for `conform record`: which messages are held, and what a person does at each step.

One rule holds all messages of an API between the same two nodes; a comment at each step says which rule must let a
message pass (`pass LINE`). Broker 0 of the trace is the broker with the first id, broker 1 has the next id, and so on.
A step that no held message can bring about becomes an instruction to the person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from isrcheck.models.language.model import Step
from isrcheck.traces.format.trace import Trace, label

KAFKA = "kafka"
FIRST_WITH_KRAFT = 3
CONTROLLER = "controller"
TIMES = ("replica.lag.time.max.ms, replica.socket.timeout.ms", "controller.socket.timeout.ms")
SESSION = {True: "broker.session.timeout.ms", False: "zookeeper.session.timeout.ms"}

FETCHED: Mapping[str, tuple[int, int]] = {"leader_handles_fetch": (1, 0), "leader_handles_late_fetch": (1, 0)}
"""Steps at which a fetch arrives, with the positions of the follower and the leader among the arguments."""

ANSWERED: Mapping[str, tuple[int, int]] = {
    "follower_applies_response": (0, 1),
    "response_is_lost": (0, 1),
    "follower_takes_high_watermark_first": (0, 1),
}
"""Steps at which the answer to a fetch arrives or is lost, with the positions of the follower and the leader."""

LEADERS: Mapping[str, int] = {
    "leader_handles_fetch": 0,
    "leader_handles_late_fetch": 0,
    "follower_applies_response": 1,
    "producer_appends": 0,
    "producer_retries": 1,
    "producer_resends": 1,
    "controller_fails_over": 0,
    "controller_elects_preferred": 0,
    "controller_elects_unclean": 0,
    "controller_fences_leader": 1,
    "leader_asks_to_shut_down": 1,
    "broker_becomes_leader": 0,
}
"""Steps that show which broker leads, with its position among the arguments."""

LEARNED = (
    "broker_becomes_leader",
    "broker_becomes_follower",
    "broker_applies_metadata",
    "broker_reads_configuration",
)

DONE_BY_HAND: Mapping[str, str] = {
    "producer_appends": "send a new record to broker {0}",
    "producer_retries": "the producer sends the record again to broker {1}, after its request.timeout.ms",
    "producer_resends": "the producer sends the record again to broker {1}, after its request.timeout.ms",
    "controller_fails_over": "the leader's session ends (freeze it, or kill -9), so that broker {0} is elected",
    "controller_elects_preferred": "elect broker {0}: kafka-leader-election --election-type preferred",
    "controller_elects_unclean": "elect broker {0}: kafka-leader-election --election-type unclean",
    "controller_fences_broker": "the session of broker {0} ends: freeze it, or kill -9",
    "controller_fences_leader": "the session of leader {0} ends: freeze it, or kill -9; broker {1} is elected",
    "controller_fences_last_leader": "the session of leader {0} ends: freeze it, or kill -9",
    "controller_unfences_broker": "broker {0} is let in again: thaw or start it",
    "leader_asks_to_shut_down": "stop broker {0} (SIGTERM); broker {1} is elected",
    "broker_asks_to_shut_down": "stop broker {0} (SIGTERM)",
    "broker_shuts_down": "broker {0} ends",
    "broker_bounces": "kill -9 broker {0}, and start it at once",
    "broker_crashes": "kill -9 broker {0}",
    "broker_crashes_while_it_fetches": "kill -9 broker {0} while its fetch is held",
    "broker_loses_disk_while_it_fetches": "kill -9 broker {0} while its fetch is held, and delete its log directory",
    "leader_answers_parked_fetch": "leader {0} answers the fetch of broker {1} that has waited there",
    "broker_restarts": "start broker {0}",
    "broker_loses_power": "cut the power of the machine of broker {0}: kill -9 keeps what was written",
    "broker_loses_disk": "kill -9 broker {0}, delete its log directory, and start it",
    "leader_shrinks_isr": "wait until leader {0} removes a follower (replica.lag.time.max.ms)",
    "leader_deletes_records": "delete records: kafka-delete-records",
    "leader_answers_deletion": "wait until kafka-delete-records returns",
    "last_leader_asks_to_shut_down": "stop broker {0} (SIGTERM)",
    "controller_begins_reassignment": "assign the partition to brokers {0}: kafka-reassign-partitions --execute",
    "controller_reassigns_without_leader": "assign the partition to brokers {0}: kafka-reassign-partitions --execute",
    "controller_cancels_reassignment": "cancel the reassignment: kafka-reassign-partitions --cancel",
    "controller_cancels_without_leader": "cancel the reassignment: kafka-reassign-partitions --cancel",
    "operator_changes_min_insync_replicas": "set min.insync.replicas={0} for the topic: kafka-configs --alter",
    "controller_unregisters_broker": "unregister broker {0}: kafka-cluster unregister --id {0}",
    "operator_deletes_replica_folder": "delete the partition's folder in the log directory of broker {0}",
    "broker_reports_directory": (
        "move the replica of broker {0} to another log directory: kafka-reassign-partitions with log_dirs"
    ),
    "consumer_fetches": "let a consumer read from broker {1}",
}
"""What a person does, with the places of the arguments."""

OF_REPLICAS = ("controller_begins_reassignment", "controller_reassigns_without_leader")
OF_A_VALUE = ("operator_changes_min_insync_replicas",)
"""Steps whose first argument is a set of brokers, or a number."""


@dataclass(frozen=True)
class Names:
    """The names of the nodes: the id of the broker that is 0 in the trace, and the name of the controller."""

    first_broker: int = 0
    controller: str = CONTROLLER

    def brokers(self, step: Step) -> list[int]:
        """The arguments of a step as ids of brokers, in order; an argument that is no broker gives a meaningless id."""
        return [self.first_broker + each for each in step.ordinals]


def script_of(trace: Trace, names: Names | None = None) -> list[str]:
    """The lines of the script of a trace: the rules, then comments on each step, which refer to the rules by line."""
    return _Script(trace, names or Names()).lines()


class _Script:
    def __init__(self, trace: Trace, names: Names) -> None:
        self._trace = trace
        self._names = names
        self._has_kraft = int(trace.instance.protocol.name.partition(".")[0]) >= FIRST_WITH_KRAFT

    def lines(self) -> list[str]:
        at_steps = [rule for step in self._trace.steps if (rule := self._rule(step)) is not None]
        rules = list(dict.fromkeys([*self._fetches(), *at_steps]))
        numbers = {rule: number for number, rule in enumerate(rules, 1)}
        return [*(f"hold {rule} after begun until released" for rule in rules), *self._comments(numbers)]

    def _fetches(self) -> Iterator[str]:
        """Rules on fetches for each leader in the trace and each follower, even if no fetch between the two arrives."""
        steps = [step for step in self._trace.steps if step.action in LEADERS]
        first = self._names.first_broker
        for leader in sorted({self._names.brokers(step)[LEADERS[step.action]] for step in steps}):
            for follower in range(first, first + self._trace.instance.configuration.replicas):
                if follower != leader:
                    yield _fetch(follower, leader)

    def _comments(self, numbers: Mapping[str, int]) -> Iterator[str]:
        yield "#"
        yield f"# {label(self._trace.instance)}; broker 0 of the trace is broker {self._names.first_broker}"
        yield f"# Before: set {TIMES[0]},"
        yield f"# {TIMES[1]} and {SESSION[self._has_kraft]} so high that nothing times out by itself."
        yield "# Start the brokers behind the proxy, and bring them into the first state of the trace. Then type:"
        yield from (f"#   begin {number}" for number in numbers.values())
        for position, step in enumerate(self._trace.steps, 1):
            yield f"# {position}. {self._trace.instance.spell_step(step)}"
            yield from self._act(step, numbers)
        if self._trace.property_name is not None:
            yield f"# At the end: {self._trace.property_name} {self._trace.verdict}. Now type:"
            yield from (f"#   release {number}" for number in numbers.values())
            yield "# and read with a new consumer."

    def _act(self, step: Step, numbers: Mapping[str, int]) -> Iterator[str]:
        """The lines that say what a person types or does so that this step happens."""
        rule = self._rule(step)
        brokers = self._names.brokers(step)
        if rule is None:
            instruction = DONE_BY_HAND.get(step.action, "wait until this has happened; nothing is held for it")
            yield f"#   now: {instruction.format(*self._words(step))}"
        elif step.action == "response_is_lost":
            yield f"#   now: wait until broker {brokers[0]} gives up the answer that line {numbers[rule]} holds"
            yield "#   (its replica.socket.timeout.ms; the recording says `dropped`)"
        else:
            yield f"#   pass {numbers[rule]}"

    def _words(self, step: Step) -> list[str]:
        """The arguments of a step as text, as a person writes them."""
        first, *others = [*map(str, self._names.brokers(step)), ""]
        if step.action in OF_A_VALUE:
            first = str(step.ordinals[0])
        elif step.action in OF_REPLICAS:
            replicas = range(self._trace.instance.configuration.replicas)
            first = ",".join(str(self._names.first_broker + r) for r in replicas if step.ordinals[0] >> r & 1)
        return [first, *others]

    def _rule(self, step: Step) -> str | None:
        """The rule that holds the message of `step`; None if this step has no message that passes the proxy."""
        brokers, controller = self._names.brokers(step), self._names.controller
        for make, table in _TABLES.items():
            if step.action in table:
                return make(*(brokers[at] for at in table[step.action]))
        if step.action in LEARNED:
            metadata = f"response fetch from {controller} to broker {brokers[0]}"
            return metadata if self._has_kraft else f"leader_and_isr to broker {brokers[0]}"
        if (
            step.action in ("controller_handles_alter_partition", "controller_completes_reassignment")
            and self._has_kraft
        ):
            return f"alter_partition from broker {brokers[0]} to {controller}"
        if step.action == "leader_hears_answer" and self._has_kraft:
            return f"response alter_partition from {controller} to broker {brokers[0]}"
        return None


def _fetch(follower: int, leader: int) -> str:
    return f"fetch from broker {follower} to broker {leader}"


def _answer(follower: int, leader: int) -> str:
    return f"response fetch from broker {leader} to broker {follower}"


_TABLES: Mapping[Callable[[int, int], str], Mapping[str, tuple[int, int]]] = {_fetch: FETCHED, _answer: ANSWERED}
