"""The folder of a report: checks that the folder may be used, and writes the report into it.

In:  a folder, a `ReportContent` (content.py). Out: files.

A new report replaces the earlier one (checker/running/marked_folder.py). While a search runs, and after a crash, the
page says that `check` has not finished, so that nobody mistakes an old report for a new one.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from isrcheck.checker.reports.build_files import junit, regressions, sarif
from isrcheck.checker.reports.content import ReportContent, unfinished
from isrcheck.checker.reports.page import page
from isrcheck.checker.running.marked_folder import MarkedFolder
from isrcheck.commands.exit_codes import UNDECIDED
from isrcheck.models.messages import UsageError
from isrcheck.traces.drawing.page import page as trace_page
from isrcheck.traces.format.files import SUFFIX

TRACES = "traces"
OURS = re.compile(
    rf"index\.html|junit\.xml|results\.sarif|test_regressions\.py|{TRACES}/[\w.-]+({re.escape(SUFFIX)}|\.html)"
)
REPORT = MarkedFolder("report", version=1, option="--report DIR", ours=OURS, folders=(TRACES,))


class NoRoomError(UsageError):
    """The disk of a report's folder is full."""


def begin(folder: Path, command: str) -> None:
    """Write an unfinished report into a folder. Raises UsageError if the folder has other files or is not writable, and
    NoRoomError if its disk is full."""
    try:
        REPORT.refuse_strangers(folder)
        folder.mkdir(parents=True, exist_ok=True)
        REPORT.put(folder, _files(folder, unfinished(command, UNDECIDED)))
    except OSError as error:
        where = f"{error.filename or folder}: {error.strerror}"
        kind = NoRoomError if error.errno in (errno.ENOSPC, errno.EDQUOT) else UsageError
        raise kind(f"{where}; give another folder with --report DIR") from None


def write(folder: Path, make: Callable[[], ReportContent]) -> str:
    """Write the report that `make` returns into its folder. Returns the reason if writing fails, else an empty text."""
    try:
        REPORT.put(folder, _files(folder, make()))
    except OSError as error:
        why = f"{error.filename or folder}: the report cannot be written: {error.strerror}"
        return f"{why}; make room, or give another folder with --report DIR"
    except UsageError as error:
        return f"{folder}: the report cannot be written: {error}"
    return ""


def _files(folder: Path, report: ReportContent) -> Mapping[str, bytes]:
    """Return the content of every file of a report, by name. Raises OSError."""
    found: dict[str, bytes] = {}
    for trace_file in (one for search in report.searches for one in search.traces):
        found[f"{TRACES}/{trace_file.path.name}"] = trace_file.path.read_bytes()
        found[f"{TRACES}/{trace_file.name}.html"] = _encoded(
            trace_page(trace_file.trace, index="../index.html").alone()
        )
    now = datetime.now(UTC)
    found["junit.xml"] = _encoded(junit(report, now.strftime("%Y-%m-%dT%H:%M:%S")))
    found["results.sarif"] = _encoded(sarif(report))
    found["test_regressions.py"] = _encoded(regressions(report, folder))
    found["index.html"] = _encoded(page(report, now.strftime("%Y-%m-%d %H:%M UTC")).alone())
    return found


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")
