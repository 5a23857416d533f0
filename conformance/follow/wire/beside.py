"""Reads the files beside a wire recording: observations.ndjson, and the folders broker<i>/ that brokers left on disk.

observations.ndjson has what the experimenter saw of the same cluster at the same time; segments (broker<i>/TOPIC-0/
*.log) must be of Kafka 0.11 or later. A line that contradicts the traffic raises UsageError; so does every defect of a
folder, with the file and, in a segment, the byte.

Both recordings have times in seconds since the same start, and are merged by these times. Of each kind of line in
observations.ndjson, these parts are used:

- `disk`: everything, because the traffic shows no leader's log and no checkpoints. The line is left out if the traffic
  has shown another log of the broker shortly before: the disk may have been read earlier than that.
- `metadata`: what a broker's answer to a client would show, so the line counts only if it is news (controller.py).
- `acked`, `send`, `client_read` and faults of brokers: only what the traffic does not show. The offset of an
  acknowledged record has to be that of the response.
- the header: its settings, where the traffic shows none.
- the lines after the shutdown at the end, and remarks: nothing.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isrcheck.conformance.follow.format.ndjson import UnreadableError, bad_line, content_of, objects_of
from isrcheck.conformance.follow.recorded.lines import Header, read_line
from isrcheck.conformance.follow.wire.controller import View
from isrcheck.conformance.follow.wire.exchanges import spelled
from isrcheck.conformance.follow.wire.messages import Happening, is_number
from isrcheck.conformance.follow.wire.survey import FAULTS, MIN_ISR, UNCLEAN, Survey
from isrcheck.conformance.follow.wire.traffic import Observation, Traffic, disk, value_in, without_none
from isrcheck.conformance.kafka_format.log_folder import offsets_of, topic_id_of
from isrcheck.conformance.kafka_format.record_batches import (
    HEADER,
    MAGIC,
    BatchHeader,
    CompressionError,
    MalformedRecordsError,
    records_of,
)
from isrcheck.models.messages import UsageError

MOST_BYTES = 16 << 20
"""The largest file that is read, and the most bytes into which a batch is decompressed."""

MOST_BROKERS = 100


@dataclass(frozen=True)
class DiskContent:
    """A broker's log, as values and leader epochs from the first offset on; and its checkpointed high watermark."""

    broker: int
    log: tuple[tuple[str, int], ...]
    checkpoint: int | None

    def observation(self, first: int) -> Observation:
        """The `disk` observation of this content; `first` is the offset of the log's first record."""
        checkpoint = without_none(high_watermark_checkpoint=self.checkpoint)
        return {**disk(self.broker, self.log, first), **checkpoint}


def disks_in(
    folder: Path, topic: str | None, index: int = 0, first: int = 0, topic_id: str | None = None
) -> Iterator[DiskContent]:
    """The content of partition `index` of the topic in each broker<i>/ of a folder, by ascending i, without records
    before the offset `first`. A topic whose name is not known is found by its id. Raises UsageError, and FileError."""
    try:
        named = [(re.fullmatch(r"broker([0-9]{1,9})", path.name), path) for path in folder.iterdir()]
        brokers = {int(match[1]): path for match, path in named if match and path.is_dir()}
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; give a folder that can be read") from None
    if len(brokers) > MOST_BROKERS:
        raise UsageError(f"{folder}: more than {MOST_BROKERS} folders of brokers; leave out brokers without a replica")
    for broker, path in sorted(brokers.items()):
        name = _name_in(path, index, topic_id) if topic is None else topic
        partition = path / f"{name}-{index}"
        if name is not None and partition.is_dir():
            segments = sorted(partition.glob("*.log"))
            if not segments:
                raise UsageError(f"{partition}: no segment (*.log) in it; copy the folder again, or leave it out")
            log = tuple(record for segment in segments for record in _records(segment, _read(segment)))
            checkpoint = path / "replication-offset-checkpoint"
            offsets = offsets_of(checkpoint) if checkpoint.is_file() else {}
            yield DiskContent(broker, _checked(partition, log, first), offsets.get(partition.name))


def _name_in(broker: Path, index: int, topic_id: str | None) -> str | None:
    """The name of the topic with this id, by the files `partition.metadata` of a broker; None: no file has the id."""
    try:
        spelled_id = base64.urlsafe_b64encode(uuid.UUID(topic_id).bytes).decode().rstrip("=") if topic_id else None
    except ValueError:
        return None
    for path in sorted(broker.glob(f"*-{index}/partition.metadata")):
        if spelled_id is not None and topic_id_of(path) == spelled_id:
            return path.parent.name.removesuffix(f"-{index}")
    return None


def _checked(partition: Path, log: tuple[tuple[int, str, int], ...], first: int) -> tuple[tuple[str, int], ...]:
    begins = log[0][0] if log else first
    for position, (offset, _, _) in enumerate(log, min(begins, first)):
        if offset != position:
            defect = f"the record at position {position - min(begins, first)} has offset {offset}"
            where = f"at {first} or before" if first else "at 0"
            raise UsageError(f"{partition}: {defect}; only logs that begin {where} and have no gaps can be followed")
    return tuple((value, epoch) for offset, value, epoch in log if offset >= first)


def _read(path: Path) -> bytes:
    content = content_of(path, MOST_BYTES)
    if content is None:
        raise UsageError(f"{path}: larger than {MOST_BYTES >> 20} MiB; give a shorter recording")
    return content


def _records(path: Path, data: bytes) -> Iterator[tuple[int, str, int]]:
    """Offset, value and leader epoch of each record in a segment; a batch that was cut at the end is not read."""
    at = 0
    while len(data) - at >= HEADER.size:
        header = BatchHeader.of(data, at)
        if not header.base_offset and not header.length:  # preallocated space
            return
        is_dense = 0 <= header.record_count == header.last_offset_delta + 1
        if header.magic != MAGIC or header.size < HEADER.size or not is_dense or header.base_offset < 0:
            raise UsageError(f"{path}: no record batch of format 2 is at byte {at}; give a segment of 0.11 or later")
        if at + header.size > len(data):
            return
        try:
            for record in records_of(header, data[at + HEADER.size : at + header.size], MOST_BYTES):
                text = None if record.value is None else record.value.decode(errors="replace")
                yield record.offset, spelled(record.offset, text, is_control=header.is_control), header.leader_epoch
        except CompressionError as error:
            raise UsageError(f"{path}: the batch at byte {at} is {error}; record with gzip, lz4 or none") from None
        except MalformedRecordsError:
            raise UsageError(f"{path}: a record of the batch at byte {at} is damaged; copy the segment again") from None
        at += header.size


FILE = "observations.ndjson"
"""The name of the file beside the wire recording."""

MOST_LINES = 10_000

SHORTLY = 0.01
"""Seconds by which the content of a disk may be older than its line."""

AGREE = 1.0
"""Seconds by which the two files may differ about the time of a fault or of a read."""

SETTINGS = (MIN_ISR, UNCLEAN, "replicas")
"""The settings of a header that count."""

MEMORY = ("broker", "log", "batch_epochs", "leader_epoch_checkpoint", "high_watermark_checkpoint", "label")
"""The keys of a disk line."""


def lines_beside(wire: Path) -> Iterator[Happening]:
    """The lines of observations.ndjson beside a wire recording, if there is such a file. Raises UsageError."""
    path = wire.parent / FILE
    if not path.exists():
        return
    for number, keys in objects_of(path):
        if number > MOST_LINES:
            raise bad_line(path, number, f"more than {MOST_LINES:,} lines; give a shorter recording")
        if keys.get("kind") == "header":
            if number > 1:
                raise bad_line(path, number, "a header after other lines; put one header first")
            continue
        t = keys.get("t")
        if isinstance(t, bool) or not isinstance(t, int | float):
            raise bad_line(path, number, '"t" has to be the seconds since the start; give it')
        read_line(path, number, keys)
        yield Happening(number, number, t, str(keys.get("what", keys["kind"])), keys)


def happenings_beside(wire: Path | None) -> Iterator[Happening]:
    """What people and clients did according to observations.ndjson beside a wire recording. Raises UsageError."""
    lines = () if wire is None else lines_beside(wire)
    return (line for line in lines if line.keys["kind"] in ("fault", "acked", "client_read"))


def settings_beside(wire: Path | None, survey: Survey) -> None:
    """Add the settings of the header of observations.ndjson to those that the traffic shows. Raises UsageError."""
    path = None if wire is None else wire.parent / FILE
    if path is None or not path.exists():
        return
    number, keys = next(objects_of(path), (1, {}))
    header = read_line(path, number, keys) if keys.get("kind") == "header" else None
    if not isinstance(header, Header):
        return
    for setting in keys:
        if setting not in ("kind", "n", "t", "label", *SETTINGS):
            raise bad_line(path, number, f"{setting} has no effect here: wire.ndjson shows the setting; leave it out")
    least, unclean, replicas = header.min_insync_replicas, header.unclean_election, tuple(sorted(header.replicas))
    for setting, mine, theirs in (
        (MIN_ISR, least, survey.min_insync_replicas),
        (UNCLEAN, unclean, survey.unclean_election),
        ("replicas", replicas or None, survey.replicas or None),
    ):
        if mine is not None and theirs is not None and mine != theirs:
            raise bad_line(
                path, number, f"{setting} is {keys[setting]}, but wire.ndjson shows another value; correct it"
            )
    survey.min_insync_replicas = survey.min_insync_replicas if least is None else least
    survey.unclean_election = survey.unclean_election if unclean is None else unclean
    survey.replicas = survey.replicas or replicas


class LinesBeside:
    """The lines of observations.ndjson, inserted between the lines of the traffic by their times."""

    def __init__(self, wire: Path, traffic: Traffic, happenings: list[Happening]) -> None:
        self.path = wire.parent / FILE
        self.traffic = traffic
        self.happenings = happenings
        self._lines = lines_beside(wire)
        self._next = next(self._lines, None)

    def left(self) -> int:
        """The number of lines that were not taken yet, including the next line."""
        return 0 if self._next is None else 1 + sum(1 for _ in self._lines)

    def until(self, t: float) -> Iterator[tuple[int, float, Observation]]:
        """The observations of the lines before this time, each with the number and time of its line. Raises
        UsageError."""
        while self._next is not None and self._next.t < t:
            line, self._next = self._next, next(self._lines, None)
            self.traffic.now = line.t
            try:
                for keys in self.traffic.give(self._take(line)):
                    yield line.number, line.t, {**keys, "from": FILE}
            except UnreadableError as error:
                raise bad_line(self.path, line.number, error) from None

    def _take(self, line: Happening) -> Iterator[Observation]:
        kind, keys = line.keys["kind"], line.keys
        if kind == "disk":
            yield from self._disk(line)
        elif kind == "metadata" and keys.get("leader_epoch") is not None and keys.get("leader") is not None:
            view = View(keys["leader"], keys["leader_epoch"], tuple(keys["isr"]), replicas=keys.get("replicas"))
            yield from self.traffic.sees(keys.get("seen_by"), view)
        elif kind == "acked":
            yield from self._acked(keys)
        elif kind == "client_read" and not self._is_in_the_traffic(line, "client_read"):
            yield {"kind": kind, "records": keys["records"]}
        elif kind == "fault" and keys["what"] == "send":
            yield from self.traffic.sends([(value_in(keys), None)])
        elif kind == "fault" and keys["what"] in FAULTS and is_number(keys.get("broker")):
            is_new = not self._is_in_the_traffic(line, keys["what"])
            yield from self.traffic.befall(keys["what"], keys["broker"], keys.get("peer")) if is_new else ()

    def _disk(self, line: Happening) -> Iterator[Observation]:
        broker, log = line.keys["broker"], line.keys["log"]
        shown, at = self.traffic.shown_logs.get(broker), self.traffic.shown_at.get(broker, 0.0)
        is_other = shown is not None and [value for value, _ in shown] != [value for _, value in log]
        if is_other and line.t - at < SHORTLY:
            self.traffic.unused.counts["older"] += 1
            yield {"kind": "note", "what": f"the disk of broker {broker} may have been read before its last fetch"}
        else:
            yield {"kind": "disk", **{key: line.keys[key] for key in MEMORY if key in line.keys}}

    def _acked(self, keys: Mapping[str, Any]) -> Iterator[Observation]:
        value, offset = value_in(keys), keys.get("offset")
        shown = self.traffic.records.offsets(value)
        if shown and offset is not None and offset not in shown:
            other = " and ".join(map(str, sorted(shown)))
            raise UnreadableError(
                f"{value[:60]} is acknowledged at offset {offset}, but at {other} in wire.ndjson; correct one of them"
            )
        yield from self.traffic.acks([(value, offset)])

    def _is_in_the_traffic(self, line: Happening, kind: str) -> bool:
        """Whether wire.ndjson has the fault or read of `line` at about the same time. Raises UnreadableError if
        wire.ndjson has, at about that time, a read of other records than `line`."""
        for happening in self.happenings:
            is_about_it = happening.what == kind and happening.keys.get("broker") == line.keys.get("broker")
            if is_about_it and abs(happening.t - line.t) < AGREE:
                if happening.keys.get("records") != line.keys.get("records"):
                    where = f"line {happening.number} of wire.ndjson"
                    raise UnreadableError(f"{where} says that the consumer reads other records; correct one of them")
                return True
        return False
