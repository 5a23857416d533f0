"""Converts a wire recording to observations, line by line.

In:  a wire recording, and the folders broker<i>/ beside it.
Out: the objects of a recording of observations, each with the line of the wire recording that shows it.

Which observations the traffic gives:

- a Produce request: its records are sent; its response without error: they are acknowledged, each at its offset;
- a follower's Fetch request: the follower's whole log, if the traffic has shown all of it;
- a Fetch response: the broker's high watermark, if no other observation lies between request and response;
- an AlterPartition response, a change in the metadata log, a Metadata response with news: leader, leader epoch and ISR;
- faults of brokers, what a producer was told, and what a consumer has read: the same;
- the folders: the logs and checkpoints at the end. (Once the brokers are shut down for that, nothing else is observed.)

An observation says that something is true at its place among the others. So what a message shows of a past moment is
left out, unless nothing was observed between that moment and the message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isrcheck.conformance.follow.format.ndjson import UnreadableError, bad_line, get
from isrcheck.conformance.follow.wire.controller import Controller, View
from isrcheck.conformance.follow.wire.disks import disks_in
from isrcheck.conformance.follow.wire.known_logs import KnownLogs, Log
from isrcheck.conformance.follow.wire.messages import (
    Happening,
    Message,
    is_number,
    is_wire,
    listed,
    numbers,
    wire_lines,
)
from isrcheck.conformance.follow.wire.sessions import (
    NO_ERROR,
    Answered,
    Asked,
    Entry,
    Pending,
    Sessions,
    entries_of,
)
from isrcheck.conformance.follow.wire.survey import MIN_ISR, UNCLEAN, Survey, acks_of, shuts_down, survey_of

FAULTS = ("kill -9", "freeze", "thaw", "start", "stop (controlled shutdown)")
"""The faults of brokers that observations know."""

SILENT = ("hold", "release", "elect preferred")
"""Interventions without a claim: other lines show their effects."""

MOST_OBSERVATIONS = 100_000
MOST_RECORDS = 1_000_000
"""The most records in all logs of all observations."""

REBALANCE_SECONDS = 300
"""The default of leader.imbalance.check.interval.seconds: later, there can be elections that nobody requests."""

Observation = dict[str, Any]


@dataclass(frozen=True)
class Shown:
    """An observation without its number, and the line of the wire recording that shows it."""

    number: int
    t: float
    keys: Observation


def observations_of(path: Path, content: bytes | None = None) -> Iterator[tuple[int, Observation]]:
    """The observations of a wire recording, each with the line that shows it; a header is first. Raises UsageError.

    If the content is given, nothing is read from the disk, so folders of brokers are left out.
    """
    survey = survey_of(path, wire_lines(path, content))
    yield 1, _header(survey)
    records = 0
    for n, shown in enumerate(_shown(path, content, survey)):
        records += len(shown.keys.get("log", ()))
        if n >= MOST_OBSERVATIONS or records > MOST_RECORDS:
            raise bad_line(path, shown.number, "too many observations up to here; give a shorter recording")
        yield shown.number, {"n": n, "t": shown.t, **shown.keys}


def wire_observations(path: Path, content: bytes | None = None) -> Iterator[tuple[int, Observation]] | None:
    """The observations of a file if it is a wire recording, otherwise None. Raises UsageError."""
    return observations_of(path, content) if is_wire(path, content) else None


def _header(survey: Survey) -> Observation:
    found: Observation = {"kind": "header"}
    if survey.min_insync_replicas is not None:
        found[MIN_ISR] = survey.min_insync_replicas
    if survey.unclean_election is not None:
        found[UNCLEAN] = survey.unclean_election
    if survey.seconds < REBALANCE_SECONDS:
        found["all_requests"] = True
    if survey.replicas:
        found["replicas"] = list(survey.replicas)
    return found


def _shown(path: Path, content: bytes | None, survey: Survey) -> Iterator[Shown]:
    converter = _Converter(survey)
    last = 1, 0.0
    if len(survey.acks) > 1:
        mixed = f"producers with acks={' and '.join(sorted(survey.acks))}; followed as acks={survey.weakest_acks}"
        yield Shown(1, 0.0, {"kind": "note", "what": mixed})
    for line in wire_lines(path, content):
        if line.number == survey.shut_down_at:
            break
        last = line.number, line.t
        try:
            for keys in converter.take(line):
                yield Shown(line.number, line.t, keys)
        except UnreadableError as error:
            raise bad_line(path, line.number, error) from None
    if content is None:
        for disk in disks_in(path.parent, survey.topic or ""):
            keys = _disk(disk.broker, disk.log)
            if disk.checkpoint is not None:
                keys["high_watermark_checkpoint"] = disk.checkpoint
            yield Shown(*last, {**keys, "label": f"broker{disk.broker}/ at the end"})


def _disk(broker: int, log: Log) -> Observation:
    return {
        "kind": "disk",
        "broker": broker,
        "log": [[offset, value] for offset, (value, _) in enumerate(log)],
        "batch_epochs": [epoch for _, epoch in log],
    }


class _Converter:
    """The state of a conversion."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.sessions = Sessions(survey)
        self.logs = KnownLogs()
        self.controller = Controller()
        self.produced = Pending()
        self.fetched = Pending()
        self.held: set[tuple[str, int | None, int]] = set()
        self.sent: set[str] = set()
        self.acked: set[str] = set()
        self.stopping: set[int] = set()
        self.heard: dict[int, tuple[int, int]] = {}
        self.followed: dict[int, int] = {}
        self.told_logs: dict[int, Log] = {}
        self.told_high_watermarks: dict[int, tuple[int, int]] = {}
        self.count = 0

    def take(self, line: Message | Happening) -> Iterator[Observation]:
        """The observations of one line. Raises UnreadableError."""
        for found in self._happening(line) if isinstance(line, Happening) else self._message(line):
            self.count += 1
            yield found

    # ------------------------------------------------------------------------------------------- faults and clients

    def _happening(self, line: Happening) -> Iterator[Observation]:
        what, keys = line.what, line.keys
        broker: Any = keys.get("broker")
        if what in FAULTS:
            if is_number(broker):
                self.followed.pop(broker, None)
                self.heard.pop(broker, None)
                (self.stopping.add if what.startswith("stop") else self.stopping.discard)(broker)
                yield {"kind": "fault", "what": what, "broker": broker}
        elif what == "send":
            yield from self._sends([get(keys, "value", str)])
        elif what == "client_result":
            offset = keys.get("offset")
            if keys.get("error") is None:
                yield from self._acks([(get(keys, "value", str), offset if is_number(offset) else None)])
        elif what == "client_read":
            yield from self._reads(keys)
        elif what not in SILENT:
            if is_number(broker):
                known = ", ".join(FAULTS)
                raise UnreadableError(f"unknown fault {what[:60]!r} of broker {broker}; there are: {known}")
            yield {"kind": "note", "what": what[:200]}

    def _sends(self, values: list[str]) -> Iterator[Observation]:
        for value in values:
            if value not in self.sent:
                self.sent.add(value)
                acks = self.survey.weakest_acks
                yield {"kind": "fault", "what": "send", "value": value, **({} if acks is None else {"acks": acks})}

    def _acks(self, records: list[tuple[str, int | None]]) -> Iterator[Observation]:
        for value, offset in records:
            if value not in self.acked:
                self.acked.add(value)
                self.sent.add(value)
                acks = self.survey.weakest_acks
                found: Observation = {"kind": "acked", "value": value}
                if offset is not None and not self._is_shown(value, offset):
                    found["offset"] = offset
                yield found | ({} if acks is None else {"acks": acks})

    def _is_shown(self, value: str, offset: int) -> bool:
        """Whether a follower's log has shown the record at this offset; the search need not remember it then."""
        return any(offset < len(log) and log[offset][0] == value for log in self.told_logs.values())

    def _reads(self, keys: Any) -> Iterator[Observation]:
        records = keys.get("records")
        is_right = isinstance(records, list) and all(
            isinstance(one, list) and len(one) == 2 and is_number(one[0]) and isinstance(one[1], str) for one in records
        )
        if not is_right:
            raise UnreadableError('"records" has to be a list of [offset, value]; give it')
        if [offset for offset, _ in records] == list(range(len(records))):
            yield {"kind": "client_read", "records": records}
        else:
            yield {"kind": "note", "what": "a consumer read a log with gaps: markers, or aborted records"}

    # --------------------------------------------------------------------------------------------------- the traffic

    def _message(self, line: Message) -> Iterator[Observation]:
        if line.api == "Produce":
            yield from self._produce_request(line) if line.is_request else self._produce_response(line)
        elif line.api == "Fetch" and line.broker is None:
            yield from self._metadata_log(line)
        elif line.api == "Fetch":
            yield from self._fetch_request(line) if line.is_request else self._fetch_response(line)
        elif shuts_down(line):
            yield from self._shutdown(get(line.body, "broker_id", int))
        elif line.api == "AlterPartition":
            yield from self._alter_request(line) if line.is_request else self._alter_partition(line)
        elif line.api == "ElectLeaders" and line.is_request and line.body.get("election_type", 0) == 0:
            yield {"kind": "fault", "what": "elect preferred"}
        elif line.api == "Metadata" and not line.is_request:
            yield from self._metadata(line)

    def _produce_request(self, line: Message) -> Iterator[Observation]:
        acks_of(line)
        for topic in listed(line.body, "topic_data"):
            for partition in listed(topic, "partition_data") if self.survey.is_about(topic) else ():
                values = [entry.value for entry in entries_of(listed(partition, "records"))]
                self.produced.put(line, values)
                yield from self._sends(values)

    def _produce_response(self, line: Message) -> Iterator[Observation]:
        values = self.produced.peek(line) if line.is_held else self.produced.pop(line)
        if values is None or line.is_held:  # the producer does not know yet
            return
        for topic in listed(line.body, "responses"):
            for partition in listed(topic, "partition_responses") if self.survey.is_about(topic) else ():
                if partition.get("error_code") != NO_ERROR:
                    continue
                base = get(partition, "base_offset", int)
                view = self.controller.last
                if base >= 0 and view is not None and line.broker == view.leader:
                    for offset, value in enumerate(values, base):
                        self.logs.add(view.leader, Entry(offset, view.leader_epoch, value))
                yield from self._acks([(value, base + at if base >= 0 else None) for at, value in enumerate(values)])

    def _fetch_request(self, line: Message) -> Iterator[Observation]:
        if line.is_held:
            self.held.add(line.exchange)
            if not line.body:
                return
        was_held = line.exchange in self.held and not line.is_held
        self.held -= {line.exchange} if was_held else set()
        asked = self.sessions.ask(line)
        if asked is None:
            return
        self.controller.hears_of(asked.leader_epoch)
        if asked.follower is not None and not was_held:
            yield from self._follower(asked.follower, line.broker, asked)
        self.fetched.put(line, self.count)

    def _follower(self, follower: int, leader: int | None, asked: Asked) -> Iterator[Observation]:
        """A follower that fetches has its log, and has taken over the high watermark of the last answer."""
        log = self.logs.fetches(follower, asked)
        if log is not None and log != self.told_logs.get(follower, ()):
            self.told_logs[follower] = log
            yield _disk(follower, log)
        heard_from, heard = self.heard.pop(follower, (None, 0))
        if heard_from == leader:  # it may not have read the last answer of another leader
            high_watermark = min(heard, asked.offset)
            if self.followed.get(follower) != high_watermark:
                self.followed[follower] = high_watermark
                yield {"kind": "high_watermark", "broker": follower, "high_watermark": high_watermark}

    def _fetch_response(self, line: Message) -> Iterator[Observation]:
        answered = self.sessions.answer(line)
        since = self.fetched.pop(line)
        was_held = line.exchange in self.held
        if line.is_held:
            self.held.add(line.exchange)
        elif was_held:
            self.held.discard(line.exchange)
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
        if since == self.count:
            yield from self._high_watermark(line.broker, answered)

    def _high_watermark(self, broker: int, answered: Answered) -> Iterator[Observation]:
        value, at = answered.high_watermark, self.count
        if self.told_high_watermarks.get(broker) != (value, at):
            self.told_high_watermarks[broker] = value, at + 1
            yield {"kind": "high_watermark", "broker": broker, "high_watermark": value}

    def _metadata_log(self, line: Message) -> Iterator[Observation]:
        for change in [] if line.is_request else listed(line.body, "partition_changes"):
            if change.get("topic_id") != self.survey.topic_id or get(change, "type", str) != "PartitionChange":
                continue
            if get(change, "partition", int) != 0:
                continue
            leader = get(change, "leader", int) if change.get("leader") is not None else None
            isr = numbers(change, "isr") if change.get("isr") is not None else None
            yield from self._view(self.controller.logs(get(change, "offset", int), leader, isr))

    def _shutdown(self, broker: int) -> Iterator[Observation]:
        if broker not in self.stopping:
            self.stopping.add(broker)
            yield {"kind": "fault", "what": "stop (controlled shutdown)", "broker": broker}

    def _alter_request(self, line: Message) -> Iterator[Observation]:
        if line.is_held or line.exchange not in self.held:
            for topic in listed(line.body, "topics"):
                for partition in listed(topic, "partitions") if self.survey.is_about(topic) else ():
                    yield {
                        "kind": "alter_partition",
                        "leader": get(line.body, "broker_id", int),
                        "isr": _proposed(partition),
                        "leader_epoch": get(partition, "leader_epoch", int),
                        "partition_epoch": get(partition, "partition_epoch", int),
                    }
        (self.held.add if line.is_held else self.held.discard)(line.exchange)

    def _alter_partition(self, line: Message) -> Iterator[Observation]:
        for topic in listed(line.body, "topics"):
            for partition in listed(topic, "partitions") if self.survey.is_about(topic) else ():
                if partition.get("error_code") == NO_ERROR:
                    epoch = get(partition, "partition_epoch", int)
                    yield from self._view(self.controller.answers(_view_in(partition, "isr"), epoch))

    def _metadata(self, line: Message) -> Iterator[Observation]:
        for topic in listed(line.body, "topics"):
            for partition in listed(topic, "partitions") if self.survey.is_about(topic) else ():
                if partition.get("leader_epoch", -1) != -1:
                    yield from self._view(self.controller.is_seen(_view_in(partition, "isr_nodes")))

    def _view(self, view: View | None) -> Iterator[Observation]:
        if view is not None:
            yield {
                "kind": "metadata",
                "leader": view.leader,
                "leader_epoch": view.leader_epoch,
                "isr": list(view.isr),
                **({} if view.partition_epoch is None else {"partition_epoch": view.partition_epoch}),
            }


def _view_in(partition: Any, isr: str) -> View:
    return View(get(partition, "leader_id", int), get(partition, "leader_epoch", int), numbers(partition, isr))


def _proposed(partition: Any) -> list[int]:
    """The ISR in a request: with broker epochs since version 3."""
    if partition.get("new_isr") is not None:
        return list(numbers(partition, "new_isr"))
    return [get(member, "broker_id", int) for member in listed(partition, "new_isr_with_epochs")]


def _follower_of(client: str) -> int | None:
    """The follower whose fetcher has this client id, broker-<i>-fetcher-<j>; None if it is no follower."""
    words = client.split("-")
    if len(words) == 4 and words[0] == "broker" and words[2] == "fetcher" and words[1].isdecimal():
        return int(words[1]) if len(words[1]) < 10 else None
    return None
