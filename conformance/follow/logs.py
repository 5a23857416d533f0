"""Finds the logs to follow: files, and the logs in folders, each file once.

In:  the paths that the user gave.
Out: `Logs`: the files, in that order, and complaints about paths without a readable log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from isrcheck.conformance.follow.wire.beside import FILE as BESIDE
from isrcheck.conformance.follow.wire.lines.messages import FILE as WIRE
from isrcheck.models.messages import UsageError

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

    What lies beside a wire recording belongs to it.
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
