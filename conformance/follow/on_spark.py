"""Logs on Spark: what is in them travels to the executors, and a verdict comes back from each.

In:  a running session, the paths of the logs, what is `Asked` of each. Out: `Found` for each, as soon as it is known.

One log is one task. Executors do not see the disk of the driver, and the driver's memory is not for thousands of logs:
they are read as they are sent, so many bytes at a time.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from isrcheck.checker.spark.runtime.environment_check import require_same
from isrcheck.checker.spark.runtime.session import Session
from isrcheck.checker.spark.runtime.task_statistics import TaskStatistics, run_job, task_statistics, values_of
from isrcheck.conformance.follow.format.ndjson import content_of
from isrcheck.conformance.follow.verdicts import Asked, Found, Word, follow_one, unreadable
from isrcheck.models.messages.errors import UsageError

MOST_BYTES = 64 << 20
"""How long a log may be that travels: a task holds all of it in memory, and Spark sends no task of 128 MiB."""

MOST_AT_ONCE = 256 << 20
"""How many bytes travel together, packed."""

Parcel = tuple[int, str, bytes]
"""A log that travels: its number, its name, and what is in it, packed."""


def follow_on_spark(
    session: Session,
    paths: Sequence[Path],
    asked: Asked,
    take: Callable[[int, Found], None],
    look: Callable[[], None],
) -> None:
    """Follow every log. Raises SparkLostError or UsageError where Spark fails; what was taken by then counts."""
    require_same(session, look)
    for parcels in _loads(_parcels(paths, take)):
        statistics = task_statistics(session.context)
        _follow_load(session, parcels, asked, statistics, take, look)


def _follow_load(
    session: Session,
    parcels: Sequence[Parcel],
    asked: Asked,
    statistics: TaskStatistics,
    take: Callable[[int, Found], None],
    look: Callable[[], None],
) -> None:
    def take_all() -> None:
        for number, record in sorted(values_of(statistics).items()):
            take(number, _found_of(record))

    def take_and_look() -> None:
        take_all()
        look()

    def work() -> None:
        session.context.parallelize(parcels, len(parcels)).foreach(lambda parcel: _follow(parcel, asked, statistics))

    try:
        run_job(session, work, take_and_look)
    finally:
        take_all()


def _parcels(paths: Sequence[Path], take: Callable[[int, Found], None]) -> Iterator[Parcel]:
    """The logs that can be read; of the others it is said that they cannot."""
    for number, path in enumerate(paths):
        try:
            content = content_of(path, MOST_BYTES)
            if content is None:
                raise UsageError(
                    f"{path}: larger than {MOST_BYTES >> 20} MiB, which is the most that is sent to an executor;"
                    " follow it without --engine spark, which reads line by line"
                )
        except UsageError as error:
            take(number, unreadable(error))
        else:
            yield number, str(path), zlib.compress(content)


def _loads(parcels: Iterator[Parcel]) -> Iterator[list[Parcel]]:
    """As many at a time as may travel together."""
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


def _follow(parcel: Parcel, asked: Asked, statistics: TaskStatistics) -> None:
    number, name, packed = parcel
    statistics.add({number: _record_of(follow_one(Path(name), asked, zlib.decompress(packed)))})


def _record_of(found: Found) -> dict[str, object]:
    """A verdict as it comes back: texts, lists of them, and a truth value."""
    return {**vars(found), "word": found.word.value, "rejections": [list(lines) for lines in found.rejections]}


def _found_of(record: dict[str, object]) -> Found:
    return Found(**{**record, "word": Word(record["word"])})  # type: ignore[arg-type]  # as they were recorded
