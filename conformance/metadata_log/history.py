"""Replays records of the metadata log, as Kafka's controllers and brokers do, and keeps every change.

A partition's leader epoch grows by one with each record that names a leader, also if the leader stays; its partition
epoch grows with every record about the partition (PartitionRegistration.merge). A ClearElrRecord changes only the
partitions that have an ELR or a last known ELR (ReplicationControlManager.removeTopicElrs). The records between a
BeginTransactionRecord and an EndTransactionRecord count together, and not at all after an AbortTransactionRecord.

If records are missing, what they said is not known: all states are forgotten, and the fields of a partition are known
again once a record or a snapshot has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from isrcheck.conformance.kafka_format import metadata_records as kafka
from isrcheck.conformance.kafka_format.metadata_records import MetadataRecord
from isrcheck.conformance.metadata_log.states import NO_CHANGE, Change, Event, PartitionState

SHOWN = ("min.insync.replicas", "unclean.leader.election.enable", "cleanup.policy", "retention.ms", "retention.bytes")
"""The settings whose values are shown. Of others only the name is shown, because they may be secret."""

RESOURCES = {2: "topic", 4: "broker", 8: "logger of broker", 16: "client metrics", 32: "group"}
IN_RECORD = {
    "replicas": "replicas",
    "isr": "isr",
    "elr": "eligible_leader_replicas",
    "last_known_elr": "last_known_elr",
    "adding": "adding_replicas",
    "removing": "removing_replicas",
}
"""The lists of brokers of a state, and their names in a record."""

Key = tuple[str, int]
"""The topic id and the number of a partition."""


@dataclass(frozen=True, slots=True)
class Logged:
    """A record at its place in the metadata log."""

    offset: int
    epoch: int
    """The epoch of the controller that appended the record."""

    time: str
    source: str
    """The file; for a line of a recording, FILE:LINE."""

    record: MetadataRecord | None
    """None for a control record of the metadata log itself."""

    content: bytes
    """The bytes of the record, to compare copies."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot: the records that make the state before the record at `offset`."""

    offset: int
    epoch: int
    """The epoch of the controller that appended the last record before `offset`."""

    source: str
    """The file."""

    records: Sequence[Logged]


class History:
    """The states of all partitions, and the changes of the partitions that are asked for."""

    def __init__(self, is_wanted: Callable[[str, int], bool] = lambda topic, partition: True) -> None:
        self.topics: dict[str, str] = {}
        """The names of all topics that ever were, by topic id."""

        self.changes: dict[Key, list[Change]] = {}
        """The changes of each partition that is asked for, oldest first."""

        self.events: list[Event] = []
        """The changes of brokers, topics, settings and features, oldest first."""

        self.contradictions: list[str] = []
        """Places at which two files contradict each other."""

        self.remarks: list[str] = []
        """What limits the history, such as missing records, in sentences."""

        self.kinds: dict[str, int] = {}
        """How many records of each kind were read."""

        self.next_offset = 0
        """The offset after the last record that was replayed."""

        self._is_wanted = is_wanted
        self._states: dict[Key, PartitionState] = {}
        self._partitions: dict[str, set[int]] = {}
        self._existing: dict[str, str] = {}
        self._is_whole = True
        self._has_begun = False
        self._pending: list[Logged] | None = None
        self._newest: Logged | None = None
        self._dropped = 0

    @property
    def skipped(self) -> dict[str, int]:
        """How many records there are of each kind that is not decoded."""
        decoded = {message.name for message in kafka.MESSAGES.values()}
        return {name: number for name, number in self.kinds.items() if name not in decoded}

    def keep_events_of(self, topics: Set[str]) -> None:
        """Keep only the events of brokers, of all brokers, of features, and of these topics."""
        kept = {f"topic {topic}" for topic in topics}
        self.events = [
            event for event in self.events if not event.subject.startswith("topic ") or event.subject in kept
        ]

    def name_of(self, topic_id: str) -> str:
        """The name of a topic; its id in brackets if no record names it."""
        return self.topics.get(topic_id, f"({topic_id})")

    # ------------------------------------------------------------------------------------------ the place in the log

    def take(self, logged: Logged) -> None:
        """Replay a record. Records come in the order of their offsets; of equal offsets, newer epochs come first."""
        newest = self._newest
        if newest is not None and logged.epoch < newest.epoch:
            # A newer controller had no record at this place when it began: so this record was never committed.
            self._dropped += logged.offset >= self.next_offset or logged.offset == newest.offset
            return
        if logged.offset < self.next_offset:
            if newest is not None and logged.offset == newest.offset and logged.content != newest.content:
                self.contradictions.append(
                    f"the records at offset {logged.offset} of epoch {logged.epoch} differ in {newest.source} and"
                    f" {logged.source}; the first is replayed"
                )
            return
        self._advance(logged.offset)
        self.next_offset = logged.offset + 1
        self._newest = logged
        if logged.record is not None:
            self.kinds[logged.record.name] = self.kinds.get(logged.record.name, 0) + 1
            self._transact(logged, logged.record.kind)

    def load(self, snapshot: Snapshot) -> None:
        """Compare the states with a snapshot; if records are missing before it, take the states from it."""
        if snapshot.offset < self.next_offset:
            return
        self._advance(snapshot.offset)
        self.next_offset = snapshot.offset
        found = History()
        for logged in snapshot.records:
            if logged.record is not None:
                found._replay(logged, logged.record)
        if self._is_whole and self._has_begun:
            self._compare(snapshot, found)
            return
        self._forget()
        self._is_whole = self._has_begun = True
        for logged in snapshot.records:
            if logged.record is not None:
                self._replay(replace(logged, offset=snapshot.offset), logged.record, "in a snapshot")

    def close(self) -> None:
        """Add the remarks that can be made only at the end: an open transaction, and records that were left out."""
        if self._pending is not None:
            self.remarks.append(
                f"the files end within a transaction of the metadata log: its {len(self._pending)} records do not count"
            )
        if self._dropped:
            self.remarks.append(
                f"{self._dropped} records of deposed controllers, which were never committed, are left out"
            )

    def _advance(self, offset: int) -> None:
        if offset <= self.next_offset:
            self._has_begun = self._has_begun or offset == 0
            return
        if self._has_begun:
            self.remarks.append(
                f"the records from offset {self.next_offset} to {offset - 1} are missing: what they said is not known"
            )
        else:
            self.remarks.append(f"the history begins at offset {offset}")
        self._has_begun = True
        self._forget()

    def _forget(self) -> None:
        self._is_whole = False
        self._states.clear()
        self._partitions.clear()
        self._pending = None

    def _compare(self, snapshot: Snapshot, found: History) -> None:
        for key in sorted({*found._states, *self._states}):
            here, there = self._states.get(key), found._states.get(key)
            place = f"{self.name_of(key[0])}-{key[1]}, before offset {snapshot.offset}"
            if here is None or there is None:
                has, lacks = ("log", "snapshot") if there is None else ("snapshot", "log")
                self.contradictions.append(
                    f"{place}: the {has} has the partition, the {lacks} {snapshot.source} does not"
                )
                continue
            for name, logged, kept in here.differences(there):
                self.contradictions.append(f"{place}: {name} is {logged} by the log, {kept} in {snapshot.source}")

    # ---------------------------------------------------------------------------------------------------- the records

    def _transact(self, logged: Logged, kind: int) -> None:
        if kind == kafka.BEGIN_TRANSACTION:
            self._pending = []
        elif kind == kafka.ABORT_TRANSACTION:
            self.remarks.append(
                f"the transaction that ends at offset {logged.offset} was aborted: its records do not count"
            )
            self._pending = None
        elif kind == kafka.END_TRANSACTION:
            pending, self._pending = self._pending or [], None
            for one in pending:
                if one.record is not None:
                    self._replay(one, one.record)
        elif self._pending is not None:
            self._pending.append(logged)
        elif logged.record is not None:
            self._replay(logged, logged.record)

    def _replay(self, logged: Logged, record: MetadataRecord, what: str | None = None) -> None:
        values = record.fields
        match record.kind:
            case kafka.TOPIC:
                self.topics[values["topic_id"]] = values["name"]
                self._existing[values["name"]] = values["topic_id"]
                self._tell(logged, f"topic {values['name']}", what or f"created, topic id {values['topic_id']}")
            case kafka.REMOVE_TOPIC:
                self._remove_topic(logged, values["topic_id"])
            case kafka.PARTITION:
                key = _key(values)
                self._put(logged, key, _state_of(values), what or "created", self._states.get(key))
            case kafka.PARTITION_CHANGE:
                before = self._states.get(_key(values))
                self._put(logged, _key(values), merged(before or PartitionState(), values), "changed", before)
            case kafka.CLEAR_ELR:
                self._clear_elr(logged, values["topic_name"])
            case kafka.CONFIG:
                self._tell(logged, _resource(values), _setting(values))
            case kafka.FEATURE_LEVEL:
                self._tell(logged, f"feature {values['name']}", f"level {values['feature_level']}")
            case _:
                words = ", ".join(_of_broker(record))
                if words:
                    self._tell(logged, f"broker {values['broker_id']}", words)

    def _put(
        self, logged: Logged, key: Key, state: PartitionState, what: str, before: PartitionState | None = None
    ) -> None:
        self._states[key] = state
        self._partitions.setdefault(key[0], set()).add(key[1])
        self._note(logged, key, state, what, before)

    def _note(self, logged: Logged, key: Key, state: PartitionState, what: str, before: PartitionState | None) -> None:
        if self._is_wanted(self.name_of(key[0]), key[1]):
            change = Change(logged.offset, logged.time, logged.source, what, state, before)
            self.changes.setdefault(key, []).append(change)

    def _remove_topic(self, logged: Logged, topic_id: str) -> None:
        name = self.name_of(topic_id)
        self._existing.pop(name, None)
        for partition in sorted(self._partitions.pop(topic_id, ())):
            state = self._states.pop((topic_id, partition))
            self._note(logged, (topic_id, partition), state, "topic deleted", state)
        self._tell(logged, f"topic {name}", "deleted")

    def _clear_elr(self, logged: Logged, topic: str) -> None:
        """Clear the ELR of a topic; of all topics, if the name is empty."""
        only = self._existing.get(topic) if topic else None
        for key, state in list(self._states.items()):
            if (not topic or key[0] == only) and (state.elr or state.last_known_elr):
                cleared = replace(state, elr=(), last_known_elr=(), partition_epoch=_next(state.partition_epoch))
                self._put(logged, key, cleared, "ELR cleared", state)

    def _tell(self, logged: Logged, subject: str, what: str) -> None:
        self.events.append(Event(logged.offset, logged.time, subject, what))


def _key(values: Mapping[str, Any]) -> Key:
    return values["topic_id"], values["partition_id"]


def _state_of(values: Mapping[str, Any]) -> PartitionState:
    """The state in a PartitionRecord, in which an absent list is empty."""
    return PartitionState(
        leader=values["leader"],
        leader_epoch=values["leader_epoch"],
        partition_epoch=values["partition_epoch"],
        is_recovering=values["leader_recovery_state"] == 1,
        **{name: values[key] or () for name, key in IN_RECORD.items()},
    )


def merged(before: PartitionState, values: Mapping[str, Any]) -> PartitionState:
    """The state after a PartitionChangeRecord."""
    changed: dict[str, Any] = {name: values[key] for name, key in IN_RECORD.items() if values[key] is not None}
    if values["leader"] != NO_CHANGE:
        changed |= {"leader": values["leader"], "leader_epoch": _next(before.leader_epoch)}
    if values["leader_recovery_state"] != -1:
        changed["is_recovering"] = values["leader_recovery_state"] == 1
    return replace(before, partition_epoch=_next(before.partition_epoch), **changed)


def _next(epoch: int | None) -> int | None:
    return None if epoch is None else epoch + 1


def _resource(values: Mapping[str, Any]) -> str:
    kind, name = values["resource_type"], values["resource_name"]
    return f"{RESOURCES.get(kind, f'resource of type {kind}')} {name}" if name else "all brokers"


def _setting(values: Mapping[str, Any]) -> str:
    name, value = values["name"], values["value"]
    if value is None:
        return f"{name} removed"
    return f"{name}={value}" if name in SHOWN else f"{name} set (the value is not shown)"


def _of_broker(record: MetadataRecord) -> list[str]:
    """What a record says of a broker, in words; nothing if it is about no broker, or
    changes nothing that the history has."""
    values = record.fields
    match record.kind:
        case kafka.REGISTER_BROKER:
            rack = "" if values["rack"] is None else f", rack {values['rack']}"
            fenced = ", fenced" if values["fenced"] else ""
            return [f"registered with broker epoch {values['broker_epoch']}{rack}{fenced}"]
        case kafka.UNREGISTER_BROKER:
            return ["unregistered"]
        case kafka.FENCE_BROKER:
            return ["fenced"]
        case kafka.UNFENCE_BROKER:
            return ["unfenced"]
        case kafka.BROKER_CHANGE:
            words = {1: ["fenced"], -1: ["unfenced"]}.get(values["fenced"], [])
            return [*words, "in controlled shutdown"] if values["in_controlled_shutdown"] == 1 else words
    return []
