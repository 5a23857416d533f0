"""Follows many logs, one after the other in this process or on Spark; the report is the same.

In:  the paths that the user gave: files, and folders of logs; a `FollowRequest` for all logs, and `FollowOptions`.
Out: text on stdout, errors on stderr, an exit code.
"""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.checker.spark.faults import SparkLostError
from isrcheck.checker.spark.request import SparkOptions
from isrcheck.checker.spark.session import spark_session
from isrcheck.commands.exit_codes import INTERRUPTED, UNDECIDED, USAGE
from isrcheck.commands.program import interrupts, say
from isrcheck.conformance.console import complain
from isrcheck.conformance.follow.verdicts import FollowRequest, LogVerdict, Word, follow_one
from isrcheck.conformance.follow.wire.beside import FILE as BESIDE
from isrcheck.conformance.follow.wire.messages import FILE as WIRE
from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.format import files
from isrcheck.traces.format.files import parse_document, read_trace

SUFFIX = ".ndjson"
"""The suffix of the logs in a folder."""


@dataclass
class Logs:
    """The logs to follow, and an error message for each folder without logs, unreadable folder, and duplicate."""

    paths: list[Path] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)


def logs_of(given: Sequence[Path]) -> Logs:
    """The logs for these paths; for a folder, the logs directly in it, sorted by name.

    Files beside a wire recording belong to it.
    """
    logs, known = Logs(), dict[object, Path]()
    for path in given:
        try:
            found = list(_in(path))
        except UsageError as error:
            logs.unreadable.append(str(error))
            continue
        if not found:
            logs.empty.append(f"{path}: a folder without a log (*{SUFFIX}); conform run writes some into runs/")
        for one in found:
            first = known.setdefault(_identity(one), one)
            if first is one:
                logs.paths.append(one)
            else:
                logs.twice.append(f"{one} is the same file as {first}, and is followed once")
    return logs


def _in(path: Path) -> Iterator[Path]:
    try:
        if not path.is_dir():
            yield path
            return
        found = sorted(one for one in path.iterdir() if one.name.endswith(SUFFIX))
        is_recording = path / WIRE in found
        yield from (one for one in found if not (is_recording and one.name == BESIDE))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give a folder that can be read") from None


def _identity(path: Path) -> object:
    """The identity of a file, equal for two names of one file."""
    try:
        status = path.stat()
    except OSError:
        return path
    return status.st_dev, status.st_ino


MOST_REJECTIONS = 3
"""The most rejected runs of one log that are reported in detail."""


@dataclass(frozen=True)
class FollowOptions:
    """The options for many logs: those of Spark (None: follow in this process), the folder for traces, and the options
    with which `conform follow` follows one of the logs in the same way.
    """

    spark: SparkOptions | None
    out: Path | None
    words: Sequence[str]


class Report:
    """Prints the verdicts in the order of the logs, whatever the order in which they become known."""

    def __init__(self, paths: Sequence[Path], out: Path | None) -> None:
        self.paths = paths
        self.out = out
        self.line = ProgressLine("conform")
        self.found: dict[int, LogVerdict] = {}
        self.codes: set[int] = set()
        self.where = ""
        self.began = self.ended = time.monotonic()
        self._told: set[int] = set()

    def begin(self, where: str = "") -> None:
        """Start the clock; `where` ends the closing line."""
        self.where = where
        self.began = self.ended = time.monotonic()

    def take(self, number: int, found: LogVerdict) -> None:
        """Add the verdict on a log, and print it once all earlier logs have theirs."""
        if number in self.found:
            return
        self.found[number] = found
        self.ended = time.monotonic()
        self.codes |= found.exit_codes
        while len(self._told) in self.found:
            self._tell(len(self._told))

    def look(self) -> None:
        """Print the progress on stderr."""
        rejected = sum(found.word == Word.REJECTED for found in self.found.values())
        self.line.tell(
            f"{len(self.found):,} of {len(self.paths):,} logs followed, {rejected:,} rejected",
            time.monotonic() - self.began,
        )

    def end(self, words: Sequence[str]) -> None:
        """Print the remaining verdicts, the details of the rejected logs, and the number of logs per verdict."""
        for number in sorted(self.found.keys() - self._told):  # after a gap, if the work ended early
            self._tell(number)
        for number, found in sorted(self.found.items()):
            for first, *more in found.rejections[:MOST_REJECTIONS]:
                say("", escaped(first), *map(escaped, more))
            if len(found.rejections) > MOST_REJECTIONS:
                say("", f"  and {len(found.rejections) - MOST_REJECTIONS:,} more runs of this log")
            if found.rejections:
                say(f"  the full report: {shlex.join(['conform', 'follow', str(self.paths[number]), *words])}")
        counts = Counter(found.word for found in self.found.values())
        tally = ", ".join(f"{counts[word]:,} {word}" for word in Word if counts[word])
        many, known = len(self.paths), len(self.found)
        of = f"{many:,} log{'' if many == 1 else 's'}" if known == many else f"{known:,} of {many:,} logs"
        said = [f"{of}: {tally or 'no verdict'}", f"{self.ended - self.began:.1f} s{self.where}"]
        say(*([""] if any(found.rejections for found in self.found.values()) else []), "; ".join(said))

    def _tell(self, number: int) -> None:
        self._told.add(number)
        found = self.found[number]
        self.line.clear()
        if found.word == Word.UNREADABLE:
            complain(found.why)
            return
        say(escaped(str(found)))
        if self.out is not None and found.trace is not None:
            try:
                kept = files.write(read_trace(parse_document(found.trace)), self.out)
            except UsageError as error:
                self.codes.add(complain(str(error)))
            else:
                say(f"  written: {kept}; replay it: conform replay {kept}")


def follow_many(paths: Sequence[Path], request: FollowRequest, manner: FollowOptions) -> set[int]:
    """Follow all logs; return the exit codes of their verdicts. Raises UsageError if Spark is not available."""
    report = Report(paths, manner.out)
    why = ""
    try:
        if manner.spark is None:
            _follow_here(report, request)
        else:
            _follow_there(report, request, manner.spark)
    except KeyboardInterrupt:
        why = "interrupted"
        report.codes = {INTERRUPTED}
    except (SparkLostError, UsageError) as error:
        if not report.found and isinstance(error, UsageError):
            raise
        why = str(error)
        report.codes.add(USAGE if isinstance(error, UsageError) else UNDECIDED)
    report.line.clear()
    report.end(manner.words)
    if why:
        left = len(paths) - len(report.found)
        complain(
            f"{why}; {left:,} of {len(paths):,} logs were not followed to their end; nothing is decided about them"
        )
    return report.codes


def _follow_here(report: Report, request: FollowRequest) -> None:
    with interrupts() as seen:

        def tick() -> None:
            report.look()
            if seen:  # during compilation by LLVM, where the exception was lost
                raise KeyboardInterrupt

        report.begin()
        for number, path in enumerate(report.paths):
            report.take(number, follow_one(path, request, tick=tick, announce=report.line.announce))
            tick()


def _follow_there(report: Report, request: FollowRequest, options: SparkOptions) -> None:
    with spark_session(options, report.line.announce) as session:
        from isrcheck.conformance.follow.on_spark import (
            follow_on_spark,
        )  # imported here, because it needs Spark's packages

        report.begin(f" on {session.master}, which took {session.start_seconds:.1f} s to start")
        follow_on_spark(session, report.paths, request, report.take, report.look)
