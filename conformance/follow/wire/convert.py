"""Converts a wire recording to observations, line by line.

Which observations the traffic gives:

- a Produce request: its records are sent; its response without error: they are acknowledged, each at its offset;
- a follower's Fetch request: the follower's whole log, if the traffic has shown all of it;
- a Fetch response: the broker's high watermark, if no other observation lies between request and response;
- an AlterPartition response, a change in the metadata log, a Metadata response with news: leader, leader epoch and ISR,
  and, except for an AlterPartition response, the replicas, if the partition is reassigned;
- an AlterPartitionReassignments request: the controller may reassign the partition; its response: the controller has
  taken the request, or has refused it;
- lines about faults of brokers, results at a producer, and records that a consumer has read: the same observations;
- the folders: the logs and checkpoints at the end. (After the brokers are shut down for copying their folders, nothing
  else is observed.)

At the end, a note counts the lines that give no observation (messages that are not decoded or say nothing about the
partition, notes, and the lines after the shutdown at the end), and the requests that were sent again.

An observation says that something is true at its position in the sequence of observations. So a fact about a past
moment is left out, unless nothing was observed between that moment and the message that shows the fact.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from isrcheck.conformance.follow.format.ndjson import UnreadableError, bad_line, lines_of
from isrcheck.conformance.follow.recorded.lines import is_observation
from isrcheck.conformance.follow.wire.beside import LinesBeside, disks_in, happenings_beside, settings_beside
from isrcheck.conformance.follow.wire.messages import Happening, is_wire, wire_lines
from isrcheck.conformance.follow.wire.survey import MIN_ISR, UNCLEAN, Survey, survey_of
from isrcheck.conformance.follow.wire.traffic import Observation, Traffic, without_none
from isrcheck.conformance.kafka_format.log_folder import FileError
from isrcheck.models.messages import UsageError

MOST_OBSERVATIONS = 100_000
MOST_RECORDS = 1_000_000
"""The most records in all logs of all observations."""

REBALANCE_SECONDS = 300
"""The default of leader.imbalance.check.interval.seconds: later, there can be elections without a request."""

Shown = tuple[int, float, Observation]
"""The line of the wire recording that shows an observation, its time, and the observation without its number."""


def observations_of(
    path: Path, content: bytes | None = None, *, is_online: bool = False
) -> Iterator[tuple[int, Observation]]:
    """The observations of a wire recording, each with the line that shows it; a header is first. Raises UsageError.

    If the content is given, nothing is read from the disk, so folders of brokers are left out. With `is_online`, the
    number of observations is not limited, because the caller does not keep the observations.
    """
    beside = path if content is None else None
    survey = survey_of(path, wire_lines(path, content), happenings_beside(beside))
    settings_beside(beside, survey)
    yield 1, _header(survey)
    records = 0
    for n, (number, t, keys) in enumerate(_shown(path, content, survey, is_online=is_online)):
        records += len(keys.get("log", ()))
        if not is_online and (n >= MOST_OBSERVATIONS or records > MOST_RECORDS):
            raise bad_line(path, number, "too many observations up to here; give a shorter recording")
        yield number, {"n": n, "t": t, **keys}


def wire_observations(path: Path, content: bytes | None = None) -> Iterator[tuple[int, Observation]] | None:
    """The observations of a file if it is a wire recording, otherwise None. Raises UsageError."""
    return observations_of(path, content) if is_wire(path, content) else None


def is_recording(path: Path, model: str | None, content: bytes | None = None) -> bool:
    """Whether a file is a recording of Kafka, as observations or as wire traffic, and not a log of events. Raises
    UsageError if the file cannot be read, or if it is such a recording and a model other than kafka is requested."""
    _, line = next(lines_of(path, content), (1, b""))
    is_of_kafka = is_observation(line) or is_wire(path, content)
    if is_of_kafka and model not in (None, "kafka"):
        raise UsageError(f"{path}: it is a recording of kafka, not a log of {model}; leave --model out")
    return is_of_kafka


def _header(survey: Survey) -> Observation:
    has_all_requests = survey.seconds < REBALANCE_SECONDS or None
    settings = {MIN_ISR: survey.min_insync_replicas, UNCLEAN: survey.unclean_election, "all_requests": has_all_requests}
    starts = {"first_offset": survey.first_offset or None, "replicas": list(survey.replicas) or None}
    return without_none(kind="header", **settings, **starts)


def _shown(path: Path, content: bytes | None, survey: Survey, *, is_online: bool) -> Iterator[Shown]:
    traffic = Traffic(survey, may_repeat=not is_online)
    happenings = [line for line in wire_lines(path, content) if isinstance(line, Happening)]
    beside = LinesBeside(path, traffic, happenings) if content is None else None
    last = 1, 0.0
    if len(survey.acks) > 1:
        mixed = f"producers with acks={' and '.join(sorted(survey.acks))}; followed as acks={survey.weakest_acks}"
        yield *last, {"kind": "note", "what": mixed}
    lines = wire_lines(path, content)
    for line in lines:
        if beside is not None:
            yield from beside.until(line.t)
        if line.number == survey.ending.at:
            traffic.unused.shut_down_at = line.number
            traffic.unused.counts["after"] = 1 + sum(1 for _ in lines)
            traffic.unused.counts["beside"] = 0 if beside is None else beside.left()
            break
        last = line.number, line.t
        try:
            for keys in traffic.take(line):
                yield *last, keys
        except UnreadableError as error:
            raise bad_line(path, line.number, error) from None
    else:
        if beside is not None:
            yield from beside.until(float("inf"))
    if content is None:
        try:
            for disk in disks_in(path.parent, survey.topic, survey.partition, survey.first_offset, survey.topic_id):
                keys = disk.observation(survey.first_offset)
                yield *last, {**keys, "label": f"broker{disk.broker}/ at the end", "from": f"broker{disk.broker}"}
        except FileError as error:
            raise UsageError(str(error)) from None
    counts = without_none(unused=traffic.unused.spell() or None, copies=traffic.records.copies or None)
    if counts:
        yield *last, {"kind": "note", "what": "counted", **counts}
