"""Reads what clients and tools print of a running cluster: kcat (text and JSON), rpk (JSON), kafka-metadata-quorum, and
the AWS command line.

kcat and rpk show no settings of brokers; rpk does not show which replicas are in sync either.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from isrcheck.checker.cluster.contents import Contents, Partition
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.formats.terraform import with_defaults_of_msk
from isrcheck.checker.cluster.formats.tree import Tree
from isrcheck.checker.cluster.formats.values import settings_from, text_of_properties
from isrcheck.checker.cluster.property_files import LINE_END, PropertiesError, Section, printable, quoted
from isrcheck.checker.cluster.releases import Role
from isrcheck.checker.cluster.versions import Evidence, Mode

# --- kcat ---

_KCAT_TOPIC = re.compile(r'  topic "(?P<name>[^"]*)" with (?P<count>\d+) partitions:.*')
_KCAT_PARTITION = re.compile(
    r"    partition (?P<number>\d+), leader (?P<leader>-?\d+), replicas: (?P<replicas>[\d,]*), isrs: (?P<isr>[\d,]*).*"
)
_KCAT_BEGINS = re.compile(r"Metadata for (?:all topics|.*) \(from broker .*\):")


def _is_kcat(part: Part) -> bool:
    return not part.tree and _KCAT_BEGINS.fullmatch(part.first) is not None


def _read_kcat(part: Part, contents: Contents) -> None:
    topic = ""
    for number, line in enumerate(LINE_END.split(part.text), start=1):
        if found := _KCAT_TOPIC.fullmatch(line):
            topic = found["name"]
            _add_topic(contents, topic, f"{part.path}:{number}")
        elif found := _KCAT_PARTITION.fullmatch(line):
            replicas, isr = (tuple(map(int, filter(None, found[name].split(",")))) for name in ("replicas", "isr"))
            place = f"{part.path}:{number}"
            _add_partition(contents, topic, int(found["number"]), int(found["leader"]), replicas, isr, place)
        elif line.lstrip().startswith(("topic ", "partition ")):
            what = quoted(line.strip())
            raise PropertiesError(f"{part.path}:{number}: {what} is not a line of kcat -L; describe again")


def _read_kcat_json(part: Part, contents: Contents) -> None:
    for topic in part.tree.at("topics").items:
        name = topic.text_at("topic")
        _add_topic(contents, name, topic.place)
        for one in topic.at("partitions").items:
            replicas, isr = (
                tuple(_id(broker.at("id")) for broker in one.at(field).items) for field in ("replicas", "isrs")
            )
            number, leader = _id(one.at("partition")), _id(one.at("leader"))
            _add_partition(contents, name, number, leader, replicas, isr, one.place)


def _id(value: Tree) -> int:
    if value.text is None or re.fullmatch(r"-1|\d{1,9}", value.text, re.ASCII) is None:
        what = quoted(value.text or "nothing")
        raise PropertiesError(f"{value.place}: {what} is not the id of a broker; describe again")
    return int(value.text)


def _add_topic(contents: Contents, name: str, place: str) -> None:
    if not name:
        raise PropertiesError(f"{place}: this topic has no name; describe again")
    contents.topics.setdefault(name, [])


def _add_partition(
    contents: Contents,
    topic: str,
    number: int,
    leader: int,
    replicas: Sequence[int],
    isr: Sequence[int],
    place: str,
) -> None:
    """Add a partition as the metadata of a client show it; the leader -1 means that it has no leader."""
    if topic not in contents.topics or not replicas or not set(isr) <= set(replicas):
        problem = "no replicas" if not replicas else "members of its ISR that are no replicas"
        problem = problem if topic in contents.topics else "no topic above it"
        raise PropertiesError(f"{place}: {printable(topic)}-{number} has {problem}; describe again")
    contents.add_partition(Partition(topic, number, None if leader < 0 else leader, tuple(replicas), tuple(isr), place))


# --- rpk ---


def _described_by_rpk(part: Part) -> Sequence[Tree]:
    described = part.tree.items or (part.tree,)
    return described if all(one.at("summary", "name") for one in described) else ()


def _read_rpk(part: Part, contents: Contents) -> None:
    for one in _described_by_rpk(part):
        summary = one.at("summary")
        partitions, replicas = _id(summary.at("partitions")), _id(summary.at("replicas"))
        own = [
            entry for entry in one.at("configs").items if "DYNAMIC_TOPIC" in entry.text_at("source").replace(" ", "_")
        ]
        settings = settings_from((entry.text_at("key"), entry.at("value")) for entry in own)
        is_shown = bool(one.at("configs"))
        contents.add_topic(summary.text_at("name"), settings if is_shown else None, partitions, replicas, summary.place)
    contents.remarks.append(
        f"{part.path}: rpk does not show which replicas are in sync (give the output of kafka-topics --describe or"
        " kcat -L); the brokers are assumed to be those of Kafka, because Redpanda replicates by Raft"
    )


# --- kafka-metadata-quorum ---

_VOTERS = re.compile(r"CurrentVoters:\s+\[(?P<voters>.*)\]\s*")
_LEADER = re.compile(r"LeaderId:\s+(?P<id>-?\d+)\s*")
_REPLICA = re.compile(
    r"(?P<id>\d+)\s.*?(?:\s(?P<fetched>-?\d+)(?P<ago> ms ago)?\s+(?P<caught_up>-?\d+)(?: ms ago)?)?"
    r"\s+(?P<status>Leader|Follower|Observer)\s*"
)
_LAG = re.compile(r"MaxFollowerLag:\s+(?P<records>-?\d+)\s*")
_LAG_TIME = re.compile(r"MaxFollowerLagTimeMs:\s+(?P<milliseconds>-?\d+)\s*")
MOST_LAG = 3_000
"""The most milliseconds that a voter lags if it surely is up: a leader from which no majority fetches for so long steps
down (LeaderState.CHECK_QUORUM_TIMEOUT_FACTOR, controller.quorum.fetch.timeout.ms)."""


def _is_quorum(part: Part) -> bool:
    return not part.tree and re.match(r"ClusterId:|(?:NodeId|ReplicaId)\s", part.first) is not None


def _read_quorum(part: Part, contents: Contents) -> None:
    voters, active = dict(_voters(part)), None
    for line in part.head:
        found = _LEADER.fullmatch(line) or _REPLICA.fullmatch(line)
        if found is not None and found.groupdict().get("status", "Leader") == "Leader":
            active = int(found["id"])
    if not voters:
        raise PropertiesError(f"{part.path}: no voters are in it; give the output of kafka-metadata-quorum describe")
    if contents.voters and set(contents.voters) != set(voters):
        raise PropertiesError(f"{part.path}: its voters differ from those of another file; keep the later output")
    contents.voters |= voters
    _read_doubts(part, contents)
    contents.active_controller = active if active is not None and active >= 0 else contents.active_controller
    place = next(iter(voters.values()))
    contents.signs.append(Evidence(f"shows voters ({place})", "3.3", mode=Mode.KRAFT, tool="kafka-metadata-quorum"))
    contents.remarks += remarks_on_voters(len(voters), place)


def _read_doubts(part: Part, contents: Contents) -> None:
    """Read what shows that no controller is active, or that a voter lags."""
    lines = list(enumerate(LINE_END.split(part.text), start=1))
    rows = [(f"{part.path}:{number}", found) for number, line in lines if (found := _REPLICA.fullmatch(line))]
    lag, doubts = 0, contents.doubts
    for number, line in lines:
        place = f"{part.path}:{number}"
        if found := _LEADER.fullmatch(line):
            doubts.no_leader = place if int(found["id"]) < 0 else ""
        elif found := _LAG.fullmatch(line):
            lag = int(found["records"])
        elif (found := _LAG_TIME.fullmatch(line)) and lag > 0:
            milliseconds = int(found["milliseconds"])
            if milliseconds > MOST_LAG:
                doubts.unnamed = f"lags by {milliseconds / 1000:,.0f} s ({place})"
            elif milliseconds < 0:
                doubts.unnamed = f"lags by {lag:,} records ({place})"
    leader = next((found for _, found in rows if found["status"] == "Leader" and found["fetched"]), None)
    if leader is None or int(leader["fetched"]) < 0:
        return  # before 3.4, the tool shows no times
    for place, found in rows:
        if found["status"] == "Follower" and found["fetched"]:
            if int(found["fetched"]) < 0:
                doubts.voters[int(found["id"])] = f"has never fetched from the active controller ({place})"
            elif int(found["caught_up"]) < 0:
                doubts.voters[int(found["id"])] = f"has never caught up with the active controller ({place})"
            elif (behind := _age(found, leader)) > MOST_LAG:
                doubts.voters[int(found["id"])] = f"lags by {behind / 1000:,.0f} s ({place})"


def _age(found: re.Match[str], leader: re.Match[str]) -> int:
    """Return how many milliseconds ago a voter had all records of the leader, or fetched from it, if that is longer."""
    oldest = [int(found[name]) - int(leader[name]) for name in ("fetched", "caught_up")]
    return max(oldest) if found["ago"] else -min(oldest)


def remarks_on_voters(count: int, place: str) -> Iterator[str]:
    """Yield a remark if this number of controllers survives no loss, or only as many as one controller fewer."""
    if count < 3 or count % 2 == 0:
        yield (
            f"{place}: the number of voting controllers is {count}: the loss of {(count - 1) // 2 + 1} leaves the"
            " cluster without an active controller"
        )


def _voters(part: Part) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(LINE_END.split(part.text), start=1):
        place = f"{part.path}:{number}"
        if found := _VOTERS.fullmatch(line):
            ids = re.findall(r'"id":\s*(\d+)', found["voters"]) or re.findall(r"\d+", found["voters"])
            yield from ((int(text), place) for text in ids)
        elif (found := _REPLICA.fullmatch(line)) and found["status"] != "Observer":
            yield int(found["id"]), place


# --- aws kafka ---


def _read_revision(part: Part, contents: Contents) -> None:
    value = part.tree.at("ServerProperties")
    try:
        text = base64.b64decode(value.text or "", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        text = value.text or ""
    settings = with_defaults_of_msk(list(text_of_properties(replace(value, text=text))), value, contents)
    contents.sections.append(Section(Role.BROKER, "the MSK configuration", settings))


METADATA = (
    Format("the output of kcat -L", _is_kcat, _read_kcat),
    Format(
        "the output of kcat -L -J",
        lambda part: bool(part.tree.at("originating_broker") and part.tree.at("topics")),
        _read_kcat_json,
    ),
    Format("the output of rpk topic describe --format json", lambda part: bool(_described_by_rpk(part)), _read_rpk),
    Format("the output of kafka-metadata-quorum describe", _is_quorum, _read_quorum),
    Format(
        "the output of aws kafka describe-configuration-revision",
        lambda part: bool(part.tree.at("ServerProperties")),
        _read_revision,
    ),
)
