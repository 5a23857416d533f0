"""Follows logs on Spark: the driver sends the contents of the logs, and the executors send back the verdicts.

Each log is one task. Executors cannot read the driver's disk, and thousands of logs do not fit into the driver's
memory, so the logs are read and sent in batches of limited size.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from isrcheck.checker.spark.session import Session
from isrcheck.checker.spark.tasks import TaskStatistics, require_same, run_job, task_statistics, values_of
from isrcheck.conformance.follow.format.ndjson import content_of
from isrcheck.conformance.follow.runs import Verdict
from isrcheck.conformance.follow.verdicts import FollowRequest, LogVerdict, follow_one, unreadable
from isrcheck.conformance.follow.wire.convert import wire_observations
from isrcheck.models.messages import UsageError

MOST_BYTES = 64 << 20
"""The largest log that is sent, in bytes: a task holds all of it in memory, and is limited to 128 MiB by Spark."""

MOST_AT_ONCE = 256 << 20
"""The size of a batch of compressed logs, in bytes."""

Parcel = tuple[int, str, bytes, bool]
"""A log that is sent: its number, its name, and its compressed content.

The last item says whether the content is a wire recording with the files beside it, converted on this machine: one pair
of a line and an observation per line.
"""


def follow_on_spark(
    session: Session,
    paths: Sequence[Path],
    request: FollowRequest,
    take: Callable[[int, LogVerdict], None],
    look: Callable[[], None],
) -> None:
    """Follow all logs: call `take` with each log's number and verdict, and `look` again and again while Spark works.
    Raises SparkLostError or UsageError if Spark fails; the verdicts that `take` has got by then are valid."""
    require_same(session, look)
    for parcels in _loads(_parcels(paths, take)):
        statistics = task_statistics(session.context)
        follow_load(session, parcels, request, statistics, take, look)


def follow_load(
    session: Session,
    parcels: Sequence[Parcel],
    request: FollowRequest,
    statistics: TaskStatistics,
    take: Callable[[int, LogVerdict], None],
    look: Callable[[], None],
) -> None:
    def take_all() -> None:
        for number, record in sorted(values_of(statistics).items()):
            take(number, verdict_of(record))

    def take_and_look() -> None:
        take_all()
        look()

    def work() -> None:
        session.context.parallelize(parcels, len(parcels)).foreach(lambda parcel: _follow(parcel, request, statistics))

    try:
        run_job(session, work, take_and_look)
    finally:
        take_all()


def _parcels(paths: Sequence[Path], take: Callable[[int, LogVerdict], None]) -> Iterator[Parcel]:
    """Yield each readable log, packed for an executor; for any other log, call `take` with the verdict on it."""
    for number, path in enumerate(paths):
        try:
            wire = wire_observations(path)
            content = (
                content_of(path, MOST_BYTES)
                if wire is None
                else b"".join(json.dumps(pair).encode() + b"\n" for pair in wire)
            )
            if content is None:
                raise UsageError(
                    f"{path}: larger than {MOST_BYTES >> 20} MiB, the largest log that is sent to an executor;"
                    " follow it without --engine spark: then it is read line by line"
                )
        except UsageError as error:
            take(number, unreadable(error))
        else:
            yield number, str(path), zlib.compress(content), wire is not None


def _loads(parcels: Iterator[Parcel]) -> Iterator[list[Parcel]]:
    """Group logs into batches to send; a batch has at most MOST_AT_ONCE bytes, or is a single log that is larger."""
    load, weight = list[Parcel](), 0
    for parcel in parcels:
        if load and weight + len(parcel[2]) > MOST_AT_ONCE:
            yield load
            load, weight = [], 0
        load.append(parcel)
        weight += len(parcel[2])
    if load:
        yield load


# ------------------------------------------------------------------------------------------------------- on executors


def _follow(parcel: Parcel, request: FollowRequest, statistics: TaskStatistics) -> None:
    number, name, packed, is_converted = parcel
    content = zlib.decompress(packed)
    objects = [(line, keys) for line, keys in map(json.loads, content.splitlines())] if is_converted else None
    verdict = follow_one(Path(name), request, None if is_converted else content, objects=objects)
    statistics.add({number: record_of(verdict)})


def record_of(log: LogVerdict) -> dict[str, object]:
    """A verdict on a log as executors send it back: a dict of texts, lists of texts, and a truth value."""
    return {**vars(log), "verdict": log.verdict.value, "rejections": [list(lines) for lines in log.rejections]}


def verdict_of(record: dict[str, Any]) -> LogVerdict:
    return LogVerdict(**{**record, "verdict": Verdict(record["verdict"])})
