"""Lines of text logs that tell the state of a partition: server.log, state-change.log, controller.log.

| line | logger | since |
|---|---|---|
| `partition change for t-0 with topic ID ...: isr: [1, 2] -> [1], partitionEpoch: 0 -> 1` | controller | 3.0 |
| `Created partition t-0 with topic ID ... and PartitionRegistration(...)` | controller | 3.0 |
| `Replayed PartitionRecord for new partition t-0 with ... and PartitionRegistration(...)` | controller | 3.6 |
| `[Partition t-0 broker=1] ISR updated to 1,2 ... and version updated to 3` | leader | 2.0 |
| `Leader t-0 with topic id ... starts at leader epoch 1 ... with partition epoch 1, ...` | leader | 3.3 |
| `Follower t-0 starts at leader epoch 1 ... with partition epoch 1 ... Current leader is 2.` | follower | 3.3 |
| `Skipped the become-leader state change for t-0 ..., ... PartitionRegistration(...)` | leader | 4.2 |
| `Skipped the become-follower state change for t-0 ...` | follower | 4.2 |
| `Changed partition t-0 from ... with state LeaderAndIsr(leader=1, ..., zkVersion=0)` | controller | - 3.9 |
| `Replayed partition change PartitionChangeRecord(...) for topic t. (isr: [1, 2] -> [1], ...)` | controller | 4.3 |
| `Replayed partition assignment change PartitionChangeRecord(...) for topic t. (isr: ...)` | controller | 4.3 |
| `Node 1 has altered ISR for t-0. isr: [1, 2] -> [1], ..., leaderEpoch: 0 -> 0` | controller | 4.3 |
| `AlterPartition request from node 1 for t-0 completed the ongoing ... isr: ...` | controller | 4.3 |
| `Rejecting AlterPartition request from node 1 for t-0 because ... current ISR is [1, 2]. ...` | controller | 4.3 |
| `... unclean leader election for offline partition t-0... (isr: [], ..., leaderEpoch: 1)` | controller | 4.3 |

Each line tells a part of the state at a partition epoch (with ZooKeeper: at the version of the partition's node); the
rest of the state is not known. Only a line `partition change for` has the old and the new value of all that the change
alters, so what it leaves out is the same before and after the change. A line about an ISR or a leader in none of these
forms is counted, because a newer Kafka may write another form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from isrcheck.conformance.kafka_format.log_folder import FileError, opened
from isrcheck.conformance.metadata_log.states import NO_CHANGE, PartitionState

BEFORE = "before "
"""Precedes the time of a line that tells of a state only that it was the one before."""

LONGEST_LINE = 1 << 14
"""The longest line, in bytes: of a longer line, the rest is skipped."""

PARTITION = r"(?P<topic>[A-Za-z0-9._-]{1,249})-(?P<partition>[0-9]{1,9})"
BROKERS = r"[0-9, ]*"
TIME = re.compile(r"\[?(?P<time>[0-9][0-9T:.,/ +-]*[0-9])")

REGISTRATION = re.compile(r"(?P<name>\w+)(?:=|: )(?P<value>\[[^\]]*\]|[\w-]+)")
DIFFERENCE = re.compile(r"(?P<name>\w+): (?P<before>\[[^\]]*\]|[\w-]+) -> (?P<after>\[[^\]]*\]|[\w-]+)")
KAFKA_NAMES = {
    "replicas": "replicas",
    "replicaSet": "replicas",
    "isr": "isr",
    "elr": "elr",
    "eligibleLeaderReplicas": "elr",
    "lastKnownElr": "last_known_elr",
    "addingReplicas": "adding",
    "removingReplicas": "removing",
    "leader": "leader",
    "leaderEpoch": "leader_epoch",
    "partitionEpoch": "partition_epoch",
    "zkVersion": "partition_epoch",
    "leaderRecoveryState": "is_recovering",
}
"""Kafka's names of the fields of a state."""


Groups = Mapping[str, Any]
"""The named groups of a pattern that matches a line."""

States = Iterator[tuple[PartitionState, bool]]
"""The states that a line tells, and for each of them, whether it is equal to the state at the partition epoch before in
all that the line leaves out."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a line says of a partition: its state at a partition epoch, as far as the line tells it."""

    topic: str
    partition: int
    topic_id: str | None
    """None if the line does not tell it."""

    time: str
    """When the line was written; for the state before the change that the line tells: `before` and this time."""

    where: str
    """FILE:LINE"""

    state: PartitionState
    follows: bool = False
    """Whether the state is equal to the state at the partition epoch before in all that the line leaves out."""


@dataclass
class TextLogs:
    """What was read of text logs, in numbers."""

    lines: int = 0
    claims: int = 0
    """How many lines tell a state."""

    not_understood: int = 0
    """How many lines are about an ISR or a leader, but in no known form."""

    first_not_understood: str = ""
    """The first such line, as FILE:LINE."""

    unplaced: list[str] = field(default_factory=list)
    """The lines that have only the name of a topic, if several topics had this name, as FILE:LINE."""


def claims_in(path: Path, tally: TextLogs, complain: Callable[[str], object]) -> Iterator[Claim]:
    """The claims of the lines of a text log, in their order. If the file cannot be read, `complain` is called with a
    line that says why."""
    try:
        with opened(path) as (file, _):
            number = 0
            while data := file.readline(LONGEST_LINE):
                number += 1
                rest = data
                while rest and not rest.endswith(b"\n"):
                    rest = file.readline(LONGEST_LINE)
                if b"\0" in data:
                    complain(f"{path}:{number}: neither text nor a file of a metadata log; give the right file")
                    return
                tally.lines += 1
                line = data.decode(errors="replace")
                if any(word in line for word in WORDS):
                    yield from _counted(line, f"{path}:{number}", tally)
    except FileError as error:
        complain(str(error))


def _counted(line: str, where: str, tally: TextLogs) -> Iterator[Claim]:
    claims = list(claims_of(line, where))
    tally.claims += bool(claims)
    if not claims and NOT_UNDERSTOOD.search(line):
        tally.not_understood += 1
        tally.first_not_understood = tally.first_not_understood or where
    yield from claims


def claims_of(line: str, where: str) -> Iterator[Claim]:
    """The claims of a line: at most two, if it tells a state and the one before."""
    for pattern, read in FORMS:
        match = pattern.search(line)
        if match:
            at = TIME.match(line)
            yield from _claims(match.groupdict(), read, at["time"] if at else "?", where)
            return


def _claims(found: Groups, read: Callable[[Groups], States], time: str, where: str) -> Iterator[Claim]:
    try:
        states = list(read(found))
    except ValueError:  # a number of thousands of digits
        return
    for state, follows in states:
        if state.partition_epoch is not None:
            at = time if state is states[-1][0] else f"{BEFORE}{time}"
            topic, partition, topic_id = found["topic"], int(found["partition"]), found.get("topic_id")
            yield Claim(topic, partition, topic_id, at, where, state, follows)


def _of_difference(found: Groups) -> States:
    """The state before and after `partition change for`."""
    matches = list(DIFFERENCE.finditer(found["differences"]))
    yield _state({match["name"]: match["before"] for match in matches}), False
    yield _state({match["name"]: match["after"] for match in matches}), True


def _of_replay(found: Groups) -> States:
    """The state before and after `Replayed partition change`. The record has the new values of what changes; the epochs
    are those after the change, which raises the partition epoch by one (PartitionRegistration.merge)."""
    changes = list(DIFFERENCE.finditer(found["differences"]))
    before = _state({match["name"]: match["before"] for match in changes})
    yield replace(before, partition_epoch=int(found["epoch"]) - 1), False
    record = {match["name"]: match["value"] for match in REGISTRATION.finditer(found["record"])}
    unchanged = {"leader": str(NO_CHANGE), "leaderRecoveryState": "-1"}
    told = {name: value for name, value in record.items() if value != unchanged.get(name)}
    told |= {match["name"]: match["after"] for match in changes}
    yield _state({**told, "leaderEpoch": found["leader_epoch"], "partitionEpoch": found["epoch"]}), False


def _of_two_states(found: Groups) -> States:
    """The state before and after a change that a leader asked for; the line does not have all that changed."""
    for state, _ in _of_difference(found):
        yield state, False


def _of_rejection(found: Groups) -> States:
    names = {"isr": "isr", "replicas": "replicas", "leaderEpoch": "leader_epoch", "partitionEpoch": "epoch"}
    yield _state({name: found[group] for name, group in names.items()}), False


def _of_registration(found: Groups) -> States:
    yield _state({match["name"]: match["value"] for match in REGISTRATION.finditer(found["registration"])}), False


def _of_update(found: Groups) -> States:
    """`ISR updated`, which the leader writes when the controller has answered its request in the leader's epoch."""
    state = PartitionState(isr=_brokers(found["isr"]), partition_epoch=int(found["epoch"]), leader=int(found["broker"]))
    yield state, False


def _of_leader(found: Groups) -> States:
    yield _state_in_words(found, int(found["broker"]), _brokers(found["isr"])), False


def _of_follower(found: Groups) -> States:
    yield _state_in_words(found, int(found["leader"]), None), False


def _state_in_words(found: Groups, leader: int, isr: tuple[int, ...] | None) -> PartitionState:
    return PartitionState(
        leader=leader, isr=isr, leader_epoch=int(found["leader_epoch"]), partition_epoch=int(found["epoch"])
    )


def _of_zookeeper(found: Groups) -> States:
    """The state that a controller with ZooKeeper writes; since 3.5, its ISR has an epoch beside each broker."""
    isr = re.sub(r"BrokerState\(brokerId=([0-9]+), brokerEpoch=-?[0-9]+\)", r"\1", found["isr"])
    yield _state_in_words(found, int(found["leader"]), _brokers(isr)), False


def _brokers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in re.findall(r"[0-9]+", text))


def _state(values: Mapping[str, str]) -> PartitionState:
    """The state in fields by Kafka's names; fields that are not part of a state are ignored."""
    known: dict[str, Any] = {}
    for name, value in values.items():
        if name not in KAFKA_NAMES:
            continue
        if value.startswith("["):
            known[KAFKA_NAMES[name]] = _brokers(value)
        elif name == "leaderRecoveryState":
            known[KAFKA_NAMES[name]] = value in ("RECOVERING", "1")  # the number in a record
        elif re.fullmatch(r"-?[0-9]{1,10}", value):
            known[KAFKA_NAMES[name]] = int(value)
    return PartitionState(**known)


TOPIC_ID = r"with topic (?:ID|id) (?:Some\()?(?P<topic_id>[A-Za-z0-9_-]{22})\)?"
DIFFERENCES = r"(?P<differences>isr: \[.*)"
BROKER = r"\[Broker id=(?P<broker>[0-9]+)\]"
EPOCHS = r"starts at leader epoch (?P<leader_epoch>[0-9]+) from offset .* with partition epoch (?P<epoch>[0-9]+)"

FORMS: tuple[tuple[re.Pattern[str], Callable[[Groups], States]], ...] = (
    (re.compile(rf"partition change for {PARTITION} {TOPIC_ID}: (?P<differences>.*)"), _of_difference),
    (
        re.compile(
            rf"(?:Created partition|Replayed PartitionRecord for (?:new|existing) partition) {PARTITION} {TOPIC_ID}"
            r" and PartitionRegistration\((?P<registration>.*)\)"
        ),
        _of_registration,
    ),
    (
        re.compile(
            rf"\[Partition {PARTITION} broker=(?P<broker>[0-9]+)\] ISR updated (?:from AlterIsr )?to"
            rf" \[?(?P<isr>{BROKERS})\]? *(?:\(under-min-isr\) )?and (?:zkVersion|version) updated to"
            r" \[?(?P<epoch>[0-9]+)\]?"
        ),
        _of_update,
    ),
    (
        re.compile(
            rf"Skipped the become-(?:leader|follower) state change for {PARTITION} {TOPIC_ID}, partition registration"
            r" PartitionRegistration\((?P<registration>.*?)\) and isNew="
        ),
        _of_registration,
    ),
    (re.compile(rf"{BROKER} Leader {PARTITION} {TOPIC_ID} {EPOCHS},.* ISR \[(?P<isr>{BROKERS})\]"), _of_leader),
    (
        re.compile(rf"Follower {PARTITION} {EPOCHS} and .*Current leader is (?P<leader>-?[0-9]+)\."),
        _of_follower,
    ),
    (
        re.compile(
            rf"Changed partition {PARTITION} from \w+ to \w+ with state LeaderAndIsr\(leader=(?P<leader>-?[0-9]+),"
            r" leaderEpoch=(?P<leader_epoch>[0-9]+), isr(?:WithBrokerEpoch)?=\w+\((?P<isr>.*?)\),"
            r" (?:leaderRecoveryState=\w+, )?(?:zkVersion|partitionEpoch)=(?P<epoch>[0-9]+)\)"
        ),
        _of_zookeeper,
    ),
    (
        re.compile(
            r"Replayed partition (?:assignment )?change PartitionChangeRecord\(partitionId=(?P<partition>[0-9]{1,9}),"
            r" topicId=(?P<topic_id>[A-Za-z0-9_-]{22}), (?P<record>.*)\) for topic (?P<topic>[A-Za-z0-9._-]{1,249})\."
            rf" \({DIFFERENCES}, partitionEpoch: (?P<epoch>[0-9]+), leaderEpoch: (?P<leader_epoch>[0-9]+)\)"
        ),
        _of_replay,
    ),
    (re.compile(rf"Node [0-9]+ has altered ISR for {PARTITION}\. {DIFFERENCES}"), _of_two_states),
    (
        re.compile(
            rf"AlterPartition request from node [0-9]+ for {PARTITION} completed the ongoing partition reassignment"
            rf"(?:\.| and triggered a leadership change) {DIFFERENCES}"
        ),
        _of_two_states,
    ),
    (
        re.compile(
            rf"Rejecting AlterPartition request from node [0-9]+ for {PARTITION} because .* current ISR is"
            rf" (?P<isr>\[{BROKERS}\])\. Current replica set is (?P<replicas>\[{BROKERS}\])\."
            r" Current partitionEpoch is (?P<epoch>[0-9]+)\. Current leaderEpoch is (?P<leader_epoch>[0-9]+)\."
        ),
        _of_rejection,
    ),
    (
        re.compile(
            rf"unclean leader election for offline partition {PARTITION}(?:\.|: \w+\.| because .*\.)"
            r" \((?P<registration>isr: \[.*)\)"
        ),
        _of_registration,
    ),
)
"""The forms of lines, and how the state in them is read."""

WORDS = (
    "partition change for ",
    "PartitionRegistration(",
    "ISR ",
    "starts at leader epoch",
    "with state LeaderAndIsr",
    "isr: [",
)
"""A line with none of these words tells no state, and is not held against the forms."""

NOT_UNDERSTOOD = re.compile(r"partition change for|ISR (?:was )?(?:updated|changed)|starts at leader epoch")
"""Words of lines about a state: a line that has them, but none of the forms, is counted as not understood."""
