"""Converts a wire recording to observations, line by line.

In:  a wire recording, and the folders broker<i>/ beside it.
Out: the objects of a recording of observations, each with the line of the wire recording that shows it.

Which observations the traffic gives:

- a Produce request: its records are sent; its response without error: they are acknowledged, each at its offset;
- a follower's Fetch request: the follower's whole log, if the traffic has shown all of it;
- a Fetch response: the broker's high watermark, if no other observation lies between request and response;
- an AlterPartition response, a change in the metadata log, a Metadata response with news: leader, leader epoch and ISR,
  and in the latter two the replicas, if the partition is reassigned;
- an AlterPartitionReassignments request: the controller may reassign the partition; its response: it has, or has not;
- faults of brokers, results at a producer, and records that a consumer has read: the same;
- the folders: the logs and checkpoints at the end. (Once the brokers are shut down for that, nothing else is observed.)

The last line counts the lines that give no observation: messages that are not decoded or say nothing about the
partition, notes, and the lines after the shutdown at the end; and requests that were sent again.

An observation says that something is true at its place among the others. So a fact about a past moment is left out,
unless nothing was observed between that moment and the message that shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from isrcheck.conformance.follow.format.ndjson import UnreadableError, bad_line
from isrcheck.conformance.follow.wire.beside import Seen, disks_in, happenings_beside, settings_beside
from isrcheck.conformance.follow.wire.messages import Happening, is_wire, wire_lines
from isrcheck.conformance.follow.wire.survey import MIN_ISR, UNCLEAN, Survey, survey_of
from isrcheck.conformance.follow.wire.traffic import Observation, Traffic, disk

MOST_OBSERVATIONS = 100_000
MOST_RECORDS = 1_000_000
"""The most records in all logs of all observations."""

REBALANCE_SECONDS = 300
"""The default of leader.imbalance.check.interval.seconds: later, there can be elections without a request."""


@dataclass(frozen=True)
class Shown:
    """An observation without its number, and the line of the wire recording that shows it."""

    number: int
    t: float
    keys: Observation


def observations_of(
    path: Path, content: bytes | None = None, *, is_online: bool = False
) -> Iterator[tuple[int, Observation]]:
    """The observations of a wire recording, each with the line that shows it; a header is first. Raises UsageError.

    If the content is given, nothing is read from the disk, so folders of brokers are left out. Following online drops
    each observation after its turn, so their number is unlimited.
    """
    beside = path if content is None else None
    survey = survey_of(path, wire_lines(path, content), happenings_beside(beside))
    settings_beside(beside, survey)
    yield 1, _header(survey)
    records = 0
    for n, shown in enumerate(_shown(path, content, survey, is_online=is_online)):
        records += len(shown.keys.get("log", ()))
        if not is_online and (n >= MOST_OBSERVATIONS or records > MOST_RECORDS):
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
    if survey.first_offset:
        found["first_offset"] = survey.first_offset
    if survey.replicas:
        found["replicas"] = list(survey.replicas)
    return found


def _shown(path: Path, content: bytes | None, survey: Survey, *, is_online: bool) -> Iterator[Shown]:
    traffic = Traffic(survey, may_repeat=not is_online)
    happenings = [line for line in wire_lines(path, content) if isinstance(line, Happening)]
    seen = Seen(path, traffic, happenings) if content is None else None
    last = 1, 0.0
    if len(survey.acks) > 1:
        mixed = f"producers with acks={' and '.join(sorted(survey.acks))}; followed as acks={survey.weakest_acks}"
        yield Shown(1, 0.0, {"kind": "note", "what": mixed})
    lines = wire_lines(path, content)
    for line in lines:
        if seen is not None:
            yield from (Shown(one.number, one.t, keys) for one, keys in seen.until(line.t))
        if line.number == survey.shut_down_at:
            traffic.unused.shut_down_at, traffic.unused.after = line.number, 1 + sum(1 for _ in lines)
            traffic.unused.beside = 0 if seen is None else seen.left()
            break
        last = line.number, line.t
        try:
            for keys in traffic.take(line):
                yield Shown(line.number, line.t, keys)
        except UnreadableError as error:
            raise bad_line(path, line.number, error) from None
    else:
        if seen is not None:
            yield from (Shown(one.number, one.t, keys) for one, keys in seen.until(float("inf")))
    if content is None:
        for one in disks_in(path.parent, survey.topic, survey.partition, survey.first_offset, survey.topic_id):
            keys = disk(one.broker, one.log, survey.first_offset)
            if one.checkpoint is not None:
                keys["high_watermark_checkpoint"] = one.checkpoint
            yield Shown(*last, {**keys, "label": f"broker{one.broker}/ at the end", "from": f"broker{one.broker}"})
    counted = {"unused": traffic.unused.told(), "copies": traffic.records.copies}
    if any(counted.values()):
        yield Shown(*last, {"kind": "note", "what": "counted", **{key: said for key, said in counted.items() if said}})
