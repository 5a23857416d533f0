"""Follows many logs, one after the other in this process or on Spark; the report is the same."""

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
from isrcheck.conformance.follow.runs import Verdict
from isrcheck.conformance.follow.verdicts import FollowRequest, LogVerdict, follow_one
from isrcheck.conformance.follow.wire.beside import FILE as BESIDE
from isrcheck.conformance.follow.wire.messages import FILE as WIRE
from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.format import files
from isrcheck.traces.format.files import parse_document, read_trace

SUFFIX = ".ndjson"
"""The suffix of the logs in a folder."""


@dataclass
class Logs:
    """The logs to follow (`paths`); and error messages: about folders without logs, about paths that cannot be read,
    and about files that were given twice."""

    paths: list[Path] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)


def logs_of(paths: Sequence[Path]) -> Logs:
    """The logs for these paths; for a folder, the logs directly in it, sorted by name. In the folder of a wire
    recording, observations.ndjson is a part of the recording, not a log."""
    logs, first_paths = Logs(), dict[object, Path]()
    for path in paths:
        try:
            logs_there = list(_in(path))
        except UsageError as error:
            logs.unreadable.append(str(error))
            continue
        if not logs_there:
            logs.empty.append(f"{path}: a folder without a log (*{SUFFIX}); conform run writes some into runs/")
        for log in logs_there:
            first = first_paths.setdefault(_identity(log), log)
            if first is log:
                logs.paths.append(log)
            else:
                logs.twice.append(f"{log} is the same file as {first}, and is followed once")
    return logs


def _in(path: Path) -> Iterator[Path]:
    try:
        if not path.is_dir():
            yield path
            return
        logs = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIX))
        is_recording = path / WIRE in logs
        yield from (file for file in logs if not (is_recording and file.name == BESIDE))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give a folder that can be read") from None


def _identity(path: Path) -> object:
    """Device and inode of a file, which are equal for two paths of one file; the path itself if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return path
    return status.st_dev, status.st_ino


MOST_REJECTIONS = 3
"""The most rejected runs of one log that are reported in detail."""


class Report:
    """Prints the verdicts in the order of the logs, whatever the order in which they become known."""

    def __init__(self, paths: Sequence[Path], out: Path | None) -> None:
        self.paths = paths
        self.out = out
        self.line = ProgressLine("conform")
        self.verdicts: dict[int, LogVerdict] = {}
        self.codes: set[int] = set()
        self.begin()
        self._printed: set[int] = set()

    def begin(self, where: str = "") -> None:
        """Start the clock. `where`, a note on where the logs are followed, is added to the report's last line."""
        self.where = where
        self.began = self.ended = time.monotonic()

    def take(self, number: int, verdict: LogVerdict) -> None:
        """Add the verdict on a log; it is printed as soon as all earlier logs have verdicts, too."""
        if number in self.verdicts:
            return
        self.verdicts[number] = verdict
        self.ended = time.monotonic()
        self.codes |= verdict.exit_codes
        while len(self._printed) in self.verdicts:
            self._print(len(self._printed))

    def look(self) -> None:
        """Print the progress on stderr."""
        rejected = sum(log.verdict is Verdict.REJECTED for log in self.verdicts.values())
        self.line.tell(
            f"{len(self.verdicts):,} of {len(self.paths):,} logs followed, {rejected:,} rejected",
            time.monotonic() - self.began,
        )

    def end(self, words: Sequence[str]) -> None:
        """Print the verdicts that are not printed yet; the details of each rejected log, with the command (its options
        are `words`) that prints the full report on this log; and the number of logs per verdict."""
        for number in sorted(self.verdicts.keys() - self._printed):  # after a gap, if the work ended early
            self._print(number)
        for number, log in sorted(self.verdicts.items()):
            for first, *details in log.rejections[:MOST_REJECTIONS]:
                say("", escaped(first), *map(escaped, details))
            if len(log.rejections) > MOST_REJECTIONS:
                say("", f"  and {len(log.rejections) - MOST_REJECTIONS:,} more runs of this log")
            if log.rejections:
                say(f"  the full report: {shlex.join(['conform', 'follow', str(self.paths[number]), *words])}")
        counts = Counter(log.verdict for log in self.verdicts.values())
        tally = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in Verdict if counts[verdict])
        many, count = len(self.paths), len(self.verdicts)
        of = f"{many:,} log{'' if many == 1 else 's'}" if count == many else f"{count:,} of {many:,} logs"
        if any(log.rejections for log in self.verdicts.values()):
            say("")
        say(f"{of}: {tally or 'no verdict'}; {self.ended - self.began:.1f} s{self.where}")

    def _print(self, number: int) -> None:
        self._printed.add(number)
        log = self.verdicts[number]
        self.line.clear()
        if log.verdict is Verdict.UNREADABLE:
            complain(log.why)
            return
        say(escaped(str(log)))
        if self.out is not None and log.trace is not None:
            try:
                written = files.write(read_trace(parse_document(log.trace)), self.out)
            except UsageError as error:
                self.codes.add(complain(str(error)))
            else:
                say(f"  written: {written}; replay it: conform replay {written}")


def follow_many(
    paths: Sequence[Path],
    request: FollowRequest,
    spark: SparkOptions | None,
    out: Path | None,
    words: Sequence[str],
) -> set[int]:
    """Follow all logs, on Spark or, if `spark` is None, in this process; return the exit codes of their verdicts.

    Traces are written into the folder `out`. `words` are the options with which `conform follow` follows a single log
    in the same way. Raises UsageError if Spark is not available.
    """
    report = Report(paths, out)
    why = ""
    try:
        if spark is None:
            _follow_here(report, request)
        else:
            _follow_there(report, request, spark)
    except KeyboardInterrupt:
        why = "interrupted"
        report.codes = {INTERRUPTED}
    except (SparkLostError, UsageError) as error:
        if not report.verdicts and isinstance(error, UsageError):
            raise
        why = str(error)
        report.codes.add(USAGE if isinstance(error, UsageError) else UNDECIDED)
    report.line.clear()
    report.end(words)
    if why:
        left = len(paths) - len(report.verdicts)
        complain(
            f"{why}; {left:,} of {len(paths):,} logs were not followed to their end; nothing is decided about them"
        )
    return report.codes


def _follow_here(report: Report, request: FollowRequest) -> None:
    with interrupts() as pressed:

        def tick() -> None:
            report.look()
            if pressed:  # during compilation by LLVM, where the exception was lost
                raise KeyboardInterrupt

        report.begin()
        for number, path in enumerate(report.paths):
            report.take(number, follow_one(path, request, tick=tick, announce=report.line.announce))
            tick()


def _follow_there(report: Report, request: FollowRequest, options: SparkOptions) -> None:
    with spark_session(options, report.line.announce) as session:
        from isrcheck.conformance.follow.on_spark import follow_on_spark  # imported here: it needs Spark's packages

        report.begin(f" on {session.master}, which took {session.start_seconds:.1f} s to start")
        follow_on_spark(session, report.paths, request, report.take, report.look)
