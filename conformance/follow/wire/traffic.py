"""Converts the lines of a wire recording to observations, one after the other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from isrcheck.conformance.follow.format.ndjson import UnreadableError, get
from isrcheck.conformance.follow.recorded.faults import FaultKind, may_be_fault
from isrcheck.conformance.follow.recorded.lines import ELECT, ELECT_UNCLEAN, NULL, REASSIGN
from isrcheck.conformance.follow.wire.controller import Controller, View
from isrcheck.conformance.follow.wire.exchanges import (
    NO_ERROR,
    Entry,
    FetchRequest,
    KnownLogs,
    Log,
    Pending,
    Produced,
    SentRecord,
    Sessions,
    records_in,
)
from isrcheck.conformance.follow.wire.messages import NOTE, Happening, Message, is_number, listed, numbers
from isrcheck.conformance.follow.wire.survey import FAULTS, Survey, acks_of, asked_in, shuts_down

MOST_KINDS = 4
"""The kinds of undecoded messages that are named."""

UNUSED = {
    "acks": ("acknowledgement", "of a request that is not in the recording"),
    "after": ("line", "from line {at} on, after all brokers begin to shut down"),
    "beside": ("line", "of observations.ndjson after all brokers begin to shut down"),
    "older": ("disk", "in observations.ndjson that may have been read too early"),
    "undecoded": ("message", "not decoded ({kinds})"),
    "notes": ("note", "about no fault"),
    "others": ("message", "about neither logs nor leaders nor ISR"),
}
"""For each count of messages without an observation: a noun, and which of them are counted."""


@dataclass
class Unused:
    """Counts the lines of the recording that give no observation, by reason."""

    counts: Counter[str] = field(default_factory=Counter)

    undecoded: Counter[str] = field(default_factory=Counter)
    """The messages that are not decoded, by their API."""

    shut_down_at: int = 0
    """The line from which on all brokers are shut down."""

    def spell(self) -> str:
        kinds = [f"{count:,} {api or 'of unknown kind'}" for api, count in self.undecoded.most_common()]
        others = f" and {len(kinds) - MOST_KINDS} more kinds" if len(kinds) > MOST_KINDS else ""
        self.counts["undecoded"] = self.undecoded.total()
        return "; ".join(
            f"{self.counts[name]:,} {noun}{'s' * (self.counts[name] > 1)} "
            + which.format(at=self.shut_down_at, kinds=", ".join(kinds[:MOST_KINDS]) + others)
            for name, (noun, which) in UNUSED.items()
            if self.counts[name]
        )


Observation = dict[str, Any]


def without_none(**keys: Any) -> Observation:
    """The observation that has these keys, except the keys whose value is None."""
    return {key: value for key, value in keys.items() if value is not None}


REASSIGNS = "AlterPartitionReassignments"

UNCERTAIN = ("request_timed_out", "network_exception", "not_controller")
"""Errors after which the controller may have taken the request, or may take it later."""

UNKNOWN = "a reassignment of replicas that no line shows before"
REORDERED = "a change of the order of the replicas"


class Reassignments:
    """Converts requests to reassign the partition, and their answers; remembers the requests without an answer yet."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self._unasked = survey.assignments.unasked()
        self._reordered = set(survey.assignments.reordered())
        self._pending = Pending()

    def before(self, line: Message) -> Iterator[Observation]:
        """Yield the observations to insert before this line: reassignments that no recorded request explains, and
        changes of the order of the replicas, which the model does not have."""
        if line.number in self._reordered:
            yield unmodelled(REORDERED, line.api)
        for target in self._unasked.get(line.number, ()):
            replicas = None if target is None else list(target)
            yield {"kind": "fault", "what": REASSIGN, "replicas": replicas, "unseen": True}

    def asks(self, line: Message) -> Iterator[Observation]:
        """The observation that an operator asks for other replicas, or cancels a reassignment."""
        for partition in self.survey.partitions(line.body, "topics", "partitions"):
            target = asked_in(partition)
            if not self.survey.assignments.first:
                yield unmodelled(UNKNOWN, REASSIGNS)
            elif target != ():  # the controller refuses an empty list
                replicas = None if target is None else list(target)
                self._pending.put(line, {"replicas": replicas})
                yield {"kind": "fault", "what": REASSIGN, "replicas": replicas}

    def answers(self, line: Message) -> Iterator[Observation]:
        """The observation that the controller took a request, or refused it; none if its error leaves both possible."""
        keys: Observation | None = self._pending.pop(line)
        if keys is None:
            return
        for partition in self.survey.partitions(line.body, "responses", "partitions"):
            errors = [message.get("error_code", NO_ERROR) for message in (line.body, partition)]
            error = next((error for error in errors if error != NO_ERROR), None)
            if error not in UNCERTAIN:
                yield {"kind": "reassigned", **keys, **({} if error is None else {"refused": True})}


def unmodelled(why: str, event: str) -> Observation:
    """Return a note on an event that the model does not have: `event` is its name, `why` describes it in words."""
    return {"kind": "note", "what": event, "unmodelled": why}


SAME_PROCESS = (FaultKind.FREEZE.value, FaultKind.THAW.value, FaultKind.CUT.value)
"""Faults after which a broker continues as the same process."""

SILENT = ("hold", "release", ELECT, "delay", "pass", "refused", "heal")
"""Interventions without a claim: other lines show their effects."""

UNMODELLED = {
    "DeleteRecords": "the deletion of records by an administrator",
    "DeleteTopics": "the deletion of a topic",
    "AlterReplicaLogDirs": "a move of a replica to another folder",
    "AlterConfigs": "a change of settings, whose request is not decoded",
    "IncrementalAlterConfigs": "a change of settings, whose request is not decoded",
}
"""Requests whose effects no path has: later lines are not rejected."""

UNDECODED = "a reassignment of replicas, whose request is not decoded"

SAYING = (
    "Produce",
    "Fetch",
    "AlterPartition",
    "ElectLeaders",
    "Metadata",
    "CreateTopics",
    "BrokerHeartbeat",
    REASSIGNS,
    *UNMODELLED,
)
"""The requests and responses that are read. Others say nothing about the partition."""

MOST_TEXT = 200
"""The characters of a remark that are kept."""

Shown = tuple[View, frozenset[int]]
"""What a Metadata response says of the partition: its state, and its offline replicas."""


class Traffic:
    """Converts the lines of a recording one by one, and remembers what earlier lines have shown."""

    def __init__(self, survey: Survey, *, may_repeat: bool = True) -> None:
        self.survey = survey
        self.records = Produced(may_repeat=may_repeat)
        self.sessions = Sessions(survey)
        self.logs = KnownLogs(survey.first_offset)
        self.controller = Controller()
        self.produced = Pending()
        self.fetched = Pending()
        self.metadata_requests = Pending()
        self.held: set[tuple[str, int | None, int]] = set()
        self.stopping: set[int] = set()
        self.heard: dict[int, tuple[int, int]] = {}
        self.followed: dict[int, int] = {}
        self.shown_logs: dict[int, Log] = {}
        self.shown_at: dict[int, float] = {}
        self.shown_ends: dict[int, tuple[int, int]] = {}
        self.shown: dict[int, Shown] = {}
        self.applied: dict[int, int] = {}
        self.turns = 0
        self.now = 0.0
        self.given_at = 0.0
        self.shown_high_watermarks: dict[int, tuple[int, int]] = {}
        self.rebalanced: set[int] = set()
        self.unused = Unused()
        self.reassignments = Reassignments(survey)
        self.count = 0

    def take(self, line: Message | Happening) -> Iterator[Observation]:
        """The observations of one line. Raises UnreadableError."""
        self.now = line.t
        yield from self.give(self._happening(line) if isinstance(line, Happening) else self._message(line))

    def give(self, observations: Iterable[Observation]) -> Iterator[Observation]:
        """Count these observations, which may also come from observations.ndjson, and return them."""
        for observation in observations:
            self.count += 1
            self.given_at = max(self.given_at, self.now)
            self.turns += observation["kind"] in ("metadata", "fault") and observation.get("what") != "send"
            yield observation

    # ------------------------------------------------------------------------------------------- faults and clients

    def _happening(self, line: Happening) -> Iterator[Observation]:
        what, keys = line.what, line.keys
        broker: Any = keys.get("broker")
        if what in FAULTS:
            if is_number(broker):
                yield from self.befall(what, broker, keys.get("peer"))
        elif what == "send":
            yield from self.sends([(value_in(keys), None)])
        elif what == "client_result":
            offset, value = keys.get("offset"), value_in(keys)
            if keys.get("error") is None and not self.records.offsets(value):  # otherwise the response was seen
                yield from self.acks([(value, offset if is_number(offset) else None)])
        elif what == "client_read":
            yield from self._reads(keys)
        elif what == NOTE:
            text = str(keys.get("text", ""))[:MOST_TEXT]
            if not may_be_fault(text):
                self.unused.counts["notes"] += 1
            else:
                yield unmodelled(f"the note {text!r} may be a fault that no line records", NOTE)
        elif what not in SILENT:
            if is_number(broker):
                kinds = ", ".join(FAULTS)
                raise UnreadableError(f"unknown fault {what[:60]!r} of broker {broker}; there are: {kinds}")
            yield {"kind": "note", "what": what[:MOST_TEXT]}

    def befall(self, what: str, broker: int, peer: Any = None) -> Iterator[Observation]:
        """The observation of a fault of a broker, unless it is a shutdown that the traffic has already shown."""
        is_stop = what == FaultKind.STOP.value
        if is_stop and broker in self.stopping:
            return
        self.followed.pop(broker, None)
        self.heard.pop(broker, None)
        if what not in SAME_PROCESS:
            self.shown.pop(broker, None)
            self.applied.pop(broker, None)
            (self.stopping.add if is_stop else self.stopping.discard)(broker)
        yield without_none(kind="fault", what=what, broker=broker, peer=peer)

    def sends(self, records: Sequence[SentRecord]) -> Iterator[Observation]:
        """Yield an observation of each record that a producer sends; none for a record that it sends again."""
        for value in self.records.sends(records):
            yield without_none(kind="fault", what="send", value=value, acks=self.survey.weakest_acks)

    def acks(self, records: list[tuple[str, int | None]]) -> Iterator[Observation]:
        """Yield an observation of each acknowledgement that a producer gets; none for a record already acknowledged."""
        for value, offset in records:
            if (offset is None or offset >= self.survey.first_offset) and self.records.acks(value, offset):
                news = None if offset is None or self._is_shown(value, offset) else offset
                yield without_none(kind="acked", value=value, offset=news, acks=self.survey.weakest_acks)

    def _is_shown(self, value: str, offset: int) -> bool:
        """Whether a follower's log has shown the record at this offset, so that the record need not be shown again."""
        return any(offset < len(log) and log[offset][0] == value for log in self.shown_logs.values())

    def _reads(self, keys: Any) -> Iterator[Observation]:
        records = keys.get("records")
        if not isinstance(records, list) or not all(
            isinstance(pair, list) and len(pair) == 2 and is_number(pair[0]) and isinstance(pair[1], str | None)
            for pair in records
        ):
            raise UnreadableError('"records" has to be a list of [offset, value]; give it')
        yield {"kind": "client_read", "records": records}

    # --------------------------------------------------------------------------------------------------- the traffic

    def _message(self, line: Message) -> Iterator[Observation]:
        if line.undecoded:
            self.unused.undecoded[line.api] += 1
            if line.api in (REASSIGNS, *UNMODELLED) and line.is_request:
                yield unmodelled(UNMODELLED.get(line.api, UNDECODED), line.api)
            return
        if line.api not in SAYING:
            self.unused.counts["others"] += 1
        yield from self.reassignments.before(line)
        if line.api == REASSIGNS:
            if not line.is_held:
                yield from self.reassignments.asks(line) if line.is_request else self.reassignments.answers(line)
        elif line.api in UNMODELLED and line.is_request and not line.is_held:
            if self._is_about_it(line):
                yield unmodelled(UNMODELLED[line.api], line.api)
        elif line.api == "Produce":
            yield from self._produce_request(line) if line.is_request else self._produce_response(line)
        elif line.api == "Fetch" and line.broker is None:
            yield from self._metadata_log(line)
        elif line.api == "Fetch":
            yield from self._fetch_request(line) if line.is_request else self._fetch_response(line)
        elif shuts_down(line):
            yield from self.befall(FaultKind.STOP.value, get(line.body, "broker_id", int))
        elif line.api == "AlterPartition":
            yield from self._alter_request(line) if line.is_request else self._alter_partition(line)
        elif line.api == "ElectLeaders" and line.is_request:
            yield {"kind": "fault", "what": ELECT_UNCLEAN if line.body.get("election_type", 0) == 1 else ELECT}
        elif line.api == "Metadata" and line.is_request:
            if line.broker is not None:
                is_known = self.metadata_requests.peek(line) is None  # else two clients have the same name
                self.metadata_requests.put(line, self.shown.get(line.broker) if is_known else None)
        elif line.api == "Metadata":
            yield from self._metadata(line)

    def _produce_request(self, line: Message) -> Iterator[Observation]:
        acks_of(line)
        for partition in self.survey.partitions(line.body, "topic_data", "partition_data"):
            records = records_in(partition)
            was_held = self.produced.peek(line) == records
            self.produced.put(line, records)
            yield from self.sends(() if was_held else records)

    def _produce_response(self, line: Message) -> Iterator[Observation]:
        if line.is_held:  # the producer does not know yet
            return
        records: list[SentRecord] | None = self.produced.pop(line)
        if records is None:
            self.unused.counts["acks"] += any(
                partition.get("error_code") == NO_ERROR
                for partition in self.survey.partitions(line.body, "responses", "partition_responses")
            )
            return
        for partition in self.survey.partitions(line.body, "responses", "partition_responses"):
            base = get(partition, "base_offset", int)
            if partition.get("error_code") != NO_ERROR:
                if base < 0:
                    self.records.refused(records)
                continue
            values = [value for value, _ in records]
            view = self.controller.last
            if base >= 0 and view is not None and line.broker == view.leader:
                for offset, value in enumerate(values, base):
                    self.logs.add(view.leader, Entry(offset, view.leader_epoch, value))
            yield from self.acks([(value, base + at if base >= 0 else None) for at, value in enumerate(values)])

    def _fetch_request(self, line: Message) -> Iterator[Observation]:
        was_held = line.exchange in self.held and not line.is_held
        (self.held.add if line.is_held else self.held.discard)(line.exchange)
        if line.is_held and not line.body:
            return
        fetch = self.sessions.ask(line)
        if fetch is None:
            return
        self.controller.hears_of(fetch.leader_epoch)
        if fetch.follower is not None and not was_held:
            yield from self._follower(fetch.follower, line.broker, fetch)
        self.fetched.put(line, (self.count, self.turns, _waits_until(line)))

    def _follower(self, follower: int, leader: int | None, fetch: FetchRequest) -> Iterator[Observation]:
        """The observations of a follower that fetches: its log, and the high watermark that it took from an answer."""
        had_records = self.logs.has_records(follower)
        log = self.logs.fetches(follower, fetch)
        if log is not None and (log != self.shown_logs.get(follower, ()) or (had_records and not log)):
            self.shown_logs[follower] = log
            self.shown_at[follower] = self.now
            yield disk(follower, log, self.survey.first_offset)
        end = fetch.offset, fetch.last_epoch
        if log is None and self.shown_ends.get(follower, (0, -1)) != end:
            epoch = None if fetch.last_epoch < 0 else fetch.last_epoch
            yield without_none(kind="log_end", broker=follower, log_end_offset=fetch.offset, last_epoch=epoch)
        self.shown_ends[follower] = end
        heard_from, heard = self.heard.pop(follower, (None, 0))
        if heard_from == leader:  # the follower may not have read the last answer of another leader
            high_watermark = min(heard, fetch.offset)
            if high_watermark >= self.survey.first_offset and self.followed.get(follower) != high_watermark:
                self.followed[follower] = high_watermark
                yield {"kind": "high_watermark", "broker": follower, "high_watermark": high_watermark}

    def _fetch_response(self, line: Message) -> Iterator[Observation]:
        answered = self.sessions.answer(line)
        since, turn, waits_until = self.fetched.pop(line) or (None, None, None)
        was_held = line.exchange in self.held
        (self.held.add if line.is_held else self.held.discard)(line.exchange)
        follower = _follower_of(line.client)
        if answered is None or line.broker is None:
            return
        if not was_held:
            for entry in answered.entries:
                self.logs.add(line.broker, entry)
                self.controller.hears_of(entry.epoch)
        if follower is not None and not line.is_held:
            if answered.diverging_end is not None:
                self.logs.truncate(follower, answered.diverging_end)
            self.logs.offer(follower, answered.entries)
            self.heard.pop(follower, None)
            if answered.diverging_end is None:
                self.heard[follower] = line.broker, answered.high_watermark
        is_now = since == self.count or (
            waits_until is not None and _has_nothing(line) and self.given_at <= waits_until
        )
        if turn == self.turns and not was_held and answered.entries:
            yield from self._records(line.broker, follower, answered.entries)
        value, at = answered.high_watermark, self.count
        if is_now and value >= self.survey.first_offset and self.shown_high_watermarks.get(line.broker) != (value, at):
            self.shown_high_watermarks[line.broker] = value, at + 1
            yield {"kind": "high_watermark", "broker": line.broker, "high_watermark": value}

    def _records(self, broker: int, follower: int | None, entries: Sequence[Entry]) -> Iterator[Observation]:
        """The observation that a leader has the records with which it answers a fetch. The caller has checked that no
        election and no fault came between the fetch and the answer."""
        kept = [entry for entry in entries if entry.offset >= self.survey.first_offset]
        view = self.controller.last
        if not kept or view is None or view.leader != broker:
            return
        records = [[entry.offset, entry.value] for entry in kept]
        yield {"kind": "holds", "broker": broker, "records": records, "batch_epochs": [entry.epoch for entry in kept]}
        if follower is None:
            yield {"kind": "client_read", "records": records}

    def _metadata_log(self, line: Message) -> Iterator[Observation]:
        for change in [] if line.is_request else listed(line.body, "partition_changes"):
            if change.get("topic_id") != self.survey.topic_id or get(change, "type", str) != "PartitionChange":
                continue
            if get(change, "partition", int) != self.survey.partition:
                continue
            leader = get(change, "leader", int) if change.get("leader") is not None else None
            isr, replicas = (
                numbers(change, key) if change.get(key) is not None else None for key in ("isr", "replicas")
            )
            changed = get(change, "offset", int), leader, isr, replicas
            denied = self.controller.rewrites(*changed)
            if denied is not None:
                yield _shown(None, denied)
            else:
                yield from self._view(self.controller.logs(*changed))

    def _alter_request(self, line: Message) -> Iterator[Observation]:
        if line.is_held or line.exchange not in self.held:
            for partition in self.survey.partitions(line.body, "topics", "partitions"):
                yield {
                    "kind": "alter_partition",
                    "leader": get(line.body, "broker_id", int),
                    "isr": _proposed(partition),
                    "leader_epoch": get(partition, "leader_epoch", int),
                    "partition_epoch": get(partition, "partition_epoch", int),
                }
        (self.held.add if line.is_held else self.held.discard)(line.exchange)

    def _alter_partition(self, line: Message) -> Iterator[Observation]:
        for partition in self.survey.partitions(line.body, "topics", "partitions"):
            if partition.get("error_code") == NO_ERROR:
                epoch = get(partition, "partition_epoch", int)
                view = _view_in(partition, "isr")
                if self.controller.denies(view, epoch):
                    yield _shown(None, replace(view, partition_epoch=epoch))
                else:
                    yield from self._view(self.controller.answers(view, epoch))

    def _metadata(self, line: Message) -> Iterator[Observation]:
        before: Shown | None = self.metadata_requests.pop(line)
        for partition in self.survey.partitions(line.body, "topics", "partitions"):
            if partition.get("leader_epoch", -1) != -1:
                replicas = numbers(partition, "replica_nodes") if "replica_nodes" in partition else None
                view = replace(_view_in(partition, "isr_nodes"), replicas=replicas)
                yield from self.sees(line.broker, view)
                if line.broker is not None:
                    yield from self._applied(line.broker, before, view, partition)

    def _applied(self, broker: int, before: Shown | None, view: View, partition: Any) -> Iterator[Observation]:
        """Yield the observation that a broker has applied its earlier state `before`, if it now shows `view` instead.

        With KRaft, one thread takes the metadata images in order: it shows an image to clients, and the partitions
        apply it, before the thread takes the next image (BrokerMetadataPublisher.onMetadataUpdate).
        """
        offline = numbers(partition, "offline_replicas") if "offline_replicas" in partition else ()
        shown = replace(view, isr=tuple(sorted(view.isr))), frozenset(offline)
        self.shown[broker] = shown
        epoch = None if before is None or before == shown else self.controller.position_of(before[0])
        if epoch is not None and epoch > self.applied.get(broker, 0):
            self.applied[broker] = epoch
            yield {"kind": "applied", "broker": broker, "partition_epoch": epoch}

    def sees(self, broker: int | None, view: View) -> Iterator[Observation]:
        """The observation of the state that a broker shows to a client, if it is news or contradicts other messages."""
        if broker is not None and view.leader >= 0 and self.controller.contradicts(view):
            yield _shown(broker, view)
        else:
            yield from self._view(self.controller.is_seen(view))

    def _view(self, view: View | None) -> Iterator[Observation]:
        if view is None:
            return
        replicas = list(view.replicas) if view.replicas and self.survey.assignments.is_reassigned else None
        yield without_none(kind="metadata", **view.keys, replicas=replicas)
        if view.leader_epoch in self.survey.elections.rebalanced_after - self.rebalanced:
            self.rebalanced.add(view.leader_epoch)
            yield {"kind": "fault", "what": ELECT, "unasked": True}

    def _is_about_it(self, line: Message) -> bool:
        """Whether a request names the recorded partition's topic, or names no topic at all."""
        topics = [topic for key in ("topics", "dirs") for topic in listed(line.body, key)]
        topics = [inner for topic in topics for inner in (listed(topic, "topics") or [topic])]
        return not topics or any(self.survey.is_about(topic) for topic in topics)


def disk(broker: int, log: Log, first: int) -> Observation:
    """The observation that a broker has this log, which begins at the offset `first`."""
    return {
        "kind": "disk",
        "broker": broker,
        "log": [[offset, value] for offset, (value, _) in enumerate(log, first)],
        "batch_epochs": [epoch for _, epoch in log],
    }


def _shown(broker: int | None, view: View) -> Observation:
    """The observation that a broker, or the controller (None), shows a state that contradicts other messages."""
    return without_none(kind="view", **view.keys, broker=broker)


def _waits_until(line: Message) -> float | None:
    """Return when a fetch's `max_wait` ends; without records, the broker answers no earlier. None: no wait is known."""
    wait: Any = line.body.get("max_wait")
    is_told = isinstance(wait, int | float) and wait >= 0 and line.body.get("min_bytes", 0) != 0
    return line.t + float(wait) if is_told else None


def _has_nothing(line: Message) -> bool:
    """Whether an answer to a fetch is empty for every partition because the broker has waited for the whole `max_wait`.
    Kafka: DelayedFetch. A client over its quota gets an empty answer at once, with a `throttle_time` above 0."""
    return line.body.get("responses") == [] and line.body.get("throttle_time") == 0


def _view_in(partition: Any, isr: str) -> View:
    return View(get(partition, "leader_id", int), get(partition, "leader_epoch", int), numbers(partition, isr))


def _proposed(partition: Any) -> list[int]:
    """The ISR that an AlterPartition request proposes; since version 3, its members have broker epochs."""
    if partition.get("new_isr") is not None:
        return list(numbers(partition, "new_isr"))
    return [get(member, "broker_id", int) for member in listed(partition, "new_isr_with_epochs")]


def value_in(keys: Any) -> str:
    """The value of a record in a line. Raises UnreadableError."""
    return NULL if keys.get("value", "") is None else str(get(keys, "value", str))


def _follower_of(client: str) -> int | None:
    """The follower whose fetcher has this client id, broker-<i>-fetcher-<j>; None if it is not a follower."""
    match = re.fullmatch(r"broker-(\d{1,9})-fetcher-[^-]*", client)
    return None if match is None else int(match[1])
