"""The folder of a report: whose it is, and how a report comes into it.

In:  a folder, a `Told` (told.py). Out: files.

The report of an earlier run is replaced: everything is written beside it first, then file for file takes its place, and
what is left of the earlier one goes. Nothing else in the folder is touched. While a search goes on, and where it dies,
the folder says that it has not finished: yesterday's report must not pass for today's.
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
from isrcheck.checker.reports.content import Told, unfinished
from isrcheck.checker.reports.junit import junit
from isrcheck.checker.reports.page import page
from isrcheck.checker.reports.regressions import regressions
from isrcheck.checker.reports.sarif import sarif
from isrcheck.models.messages.errors import UsageError
from isrcheck.traces.drawing.page import page as trace_page
from isrcheck.traces.format.folder import SUFFIX
from isrcheck.traces.format.output import DRAFT, draft_in, write_through

MARKER = "isrcheck-report.json"
VERSION = 1
MOST_MARKER = 16 << 20
TRACES = "traces"
OURS = re.compile(
    rf"index\.html|junit\.xml|results\.sarif|test_regressions\.py|{TRACES}/[\w.-]+({re.escape(SUFFIX)}|\.html)"
)
"""The files of a report; a marker that names any other one is not believed."""

CURE = "move it away, or give another folder with --report DIR"


def begin(folder: Path, words: str) -> None:
    """Take a folder for the report of a command that begins; it says so until there is one. Raises UsageError where the
    folder is somebody else's, or cannot be written to."""
    try:
        _refuse_strangers(folder)
        folder.mkdir(parents=True, exist_ok=True)
        _put(folder, unfinished(words, UNDECIDED))
    except OSError as error:
        where = f"{error.filename or folder}: {error.strerror}"
        raise UsageError(f"{where}; give another folder with --report DIR") from None


def write(folder: Path, make: Callable[[], Told]) -> str:
    """Put a report into its folder; returns what kept it from being written, or nothing."""
    try:
        _put(folder, make())
    except OSError as error:
        why = f"{error.filename or folder}: the report cannot be written: {error.strerror}"
        return f"{why}; make room, or give another folder with --report DIR"
    except UsageError as error:
        return f"{folder}: the report cannot be written: {error}"
    return ""


def _put(folder: Path, told: Told) -> None:
    files = dict(_files(folder, told))
    earlier = _named(folder)
    draft = draft_in(folder)
    try:
        draft.mkdir(0o700)
        for name, content in files.items():
            _write(draft / name, content)
        # First the marker, with the names of both: a report that was half replaced is still known for ours.
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


def _files(folder: Path, told: Told) -> Mapping[str, bytes]:
    """Every file of a report by its name, traces first."""
    found: dict[str, bytes] = {}
    for history in (one for search in told.searches for one in search.histories):
        found[f"{TRACES}/{history.path.name}"] = history.path.read_bytes()
        found[f"{TRACES}/{history.name}.html"] = _encoded(trace_page(history.trace))
    now = datetime.now(UTC)
    found["junit.xml"] = _encoded(junit(told, now.strftime("%Y-%m-%dT%H:%M:%S")))
    found["results.sarif"] = _encoded(sarif(told))
    found["test_regressions.py"] = _encoded(regressions(told, folder))
    found["index.html"] = _encoded(page(told, now.strftime("%Y-%m-%d %H:%M UTC")))
    return found


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")


def _marker(files: Mapping[str, bytes]) -> bytes:
    return _encoded(json.dumps({"isrcheck": "report", "version": VERSION, "files": sorted(files)}, indent=1) + "\n")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_through(path, content)


# ---------------------------------------------------------------------------------------------- what is there already


def _named(folder: Path) -> list[str]:
    """The files that the marker of a folder names; none where there is no marker. Raises UsageError, OSError."""
    marker = folder / MARKER
    try:
        if marker.stat().st_size > MOST_MARKER:
            raise UsageError(f"{marker}: too large for a marker of ours; {CURE}")
        content = json.loads(marker.read_bytes())
        version, files = content["version"], content["files"]
        is_ours = content["isrcheck"] == "report" and isinstance(files, list)
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"{marker}: damaged, or not of isrcheck; {CURE}") from None
    if not is_ours or type(version) is not int:
        raise UsageError(f"{marker}: damaged, or not of isrcheck; {CURE}")
    if version > VERSION:
        raise UsageError(f"{folder}: a report of a newer isrcheck (version {version}); {CURE}")
    return [name for name in files if isinstance(name, str) and OURS.fullmatch(name)]


def _refuse_strangers(folder: Path) -> None:
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise UsageError(f"{folder}: not a folder; give another one with --report DIR")
    if (folder / TRACES).is_symlink():
        raise UsageError(f"{folder / TRACES}: a link; {CURE}")
    _named(folder)
    with contextlib.closing(os.scandir(folder)) as entries:
        is_empty = all(entry.name.startswith(DRAFT) for entry in entries)
    if not is_empty and not (folder / MARKER).is_file():
        raise UsageError(f"{folder}: not empty, and not a report of isrcheck; {CURE}")
