"""The folder of a report: checks that the folder may be used, and writes the report into it.

In:  a folder, a `ReportContent` (content.py). Out: files.

A new report replaces the earlier one: all new files are first written to a temporary folder, then moved into place, and
the remaining files of the earlier report are deleted. Other files in the folder are not touched. While a search runs,
and after a crash, the page says that `check` has not finished, so that nobody mistakes an old report for a new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from isrcheck.checker.outcome.exit_codes import UNDECIDED
from isrcheck.checker.reports.content import ReportContent, unfinished
from isrcheck.checker.reports.junit import junit
from isrcheck.checker.reports.page import page
from isrcheck.checker.reports.regressions import regressions
from isrcheck.checker.reports.sarif import sarif
from isrcheck.models.messages.errors import UsageError
from isrcheck.traces.drawing.pages import page as trace_page
from isrcheck.traces.format.folder import SUFFIX
from isrcheck.traces.format.output import DRAFT, draft_in, write_through

MARKER = "isrcheck-report.json"
VERSION = 1
MOST_MARKER = 16 << 20
TRACES = "traces"
OURS = re.compile(
    rf"index\.html|junit\.xml|results\.sarif|test_regressions\.py|{TRACES}/[\w.-]+({re.escape(SUFFIX)}|\.html)"
)
"""The file names of a report. Other names in a marker file are ignored, so that such files are never deleted."""

CURE = "move it away, or give another folder with --report DIR"


def begin(folder: Path, command: str) -> None:
    """Write an unfinished report into a folder. Raises UsageError if the folder has other files or is not writable."""
    try:
        _refuse_strangers(folder)
        folder.mkdir(parents=True, exist_ok=True)
        _put(folder, unfinished(command, UNDECIDED))
    except OSError as error:
        where = f"{error.filename or folder}: {error.strerror}"
        raise UsageError(f"{where}; give another folder with --report DIR") from None


def write(folder: Path, make: Callable[[], ReportContent]) -> str:
    """Write the report that `make` returns into its folder. Returns the reason if writing fails, else an empty text."""
    try:
        _put(folder, make())
    except OSError as error:
        why = f"{error.filename or folder}: the report cannot be written: {error.strerror}"
        return f"{why}; make room, or give another folder with --report DIR"
    except UsageError as error:
        return f"{folder}: the report cannot be written: {error}"
    return ""


def _put(folder: Path, report: ReportContent) -> None:
    files = dict(_files(folder, report))
    earlier = _named(folder)
    draft = draft_in(folder)
    try:
        draft.mkdir(0o700)
        for name, content in files.items():
            _write(draft / name, content)
        # The marker comes first and names the files of both reports: a half-replaced report is still recognised.
        _write(draft / MARKER, _marker({**dict.fromkeys(earlier, b""), **files}))
        (draft / MARKER).replace(folder / MARKER)
        (folder / TRACES).mkdir(exist_ok=True)
        for name in sorted(files, key=lambda name: (name == "index.html", name)):
            (draft / name).replace(folder / name)
        for name in set(earlier) - set(files):
            (folder / name).unlink(missing_ok=True)
        _write(draft / MARKER, _marker(files))
        (draft / MARKER).replace(folder / MARKER)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _files(folder: Path, report: ReportContent) -> Mapping[str, bytes]:
    """Return the content of every file of a report, by name. Raises OSError."""
    found: dict[str, bytes] = {}
    for trace_file in (one for search in report.searches for one in search.traces):
        found[f"{TRACES}/{trace_file.path.name}"] = trace_file.path.read_bytes()
        found[f"{TRACES}/{trace_file.name}.html"] = _encoded(trace_page(trace_file.trace, index="../index.html"))
    now = datetime.now(UTC)
    found["junit.xml"] = _encoded(junit(report, now.strftime("%Y-%m-%dT%H:%M:%S")))
    found["results.sarif"] = _encoded(sarif(report))
    found["test_regressions.py"] = _encoded(regressions(report, folder))
    found["index.html"] = _encoded(page(report, now.strftime("%Y-%m-%d %H:%M UTC")))
    return found


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")


def _marker(files: Mapping[str, bytes]) -> bytes:
    return _encoded(json.dumps({"isrcheck": "report", "version": VERSION, "files": sorted(files)}, indent=1) + "\n")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_through(path, content)


# ------------------------------------------------------------------------------------------------- an existing folder


def _named(folder: Path) -> list[str]:
    """Return the files that the marker file of a folder lists, empty if there is none. Raises UsageError, OSError."""
    marker = folder / MARKER
    try:
        if marker.stat().st_size > MOST_MARKER:
            raise UsageError(f"{marker}: too large to be a file of isrcheck; {CURE}")
        content = json.loads(marker.read_bytes())
        version, files = content["version"], content["files"]
        is_ours = content["isrcheck"] == "report" and isinstance(files, list)
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"{marker}: damaged, or not written by isrcheck; {CURE}") from None
    if not is_ours or type(version) is not int:
        raise UsageError(f"{marker}: damaged, or not written by isrcheck; {CURE}")
    if version > VERSION:
        raise UsageError(f"{folder}: written by a newer isrcheck (report version {version}); {CURE}")
    return [name for name in files if isinstance(name, str) and OURS.fullmatch(name)]


def _refuse_strangers(folder: Path) -> None:
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise UsageError(f"{folder}: not a folder; give a folder with --report DIR")
    if (folder / TRACES).is_symlink():
        raise UsageError(f"{folder / TRACES}: is a symbolic link; {CURE}")
    _named(folder)
    with contextlib.closing(os.scandir(folder)) as entries:
        is_empty = all(entry.name.startswith(DRAFT) for entry in entries)
    if not is_empty and not (folder / MARKER).is_file():
        raise UsageError(f"{folder}: contains other files, and no report of isrcheck; {CURE}")
