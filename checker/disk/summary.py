"""How a search used the disk, for reports.

In:  counts of a search on disk.
Out: a `DiskSummary`, its lines in a report, and its JSON object.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.forecast import mean_error


@dataclass(frozen=True)
class DiskSummary:
    """One search on disk: its folder; the bytes there at the end, and at most; the sorted runs in which duplicates were
    looked for; the most states in memory; the checkpoints it wrote, and the depth at which it was resumed.

    `lost` is the message about a disk that was full or failed, if it did.
    """

    folder: str
    used: int
    most: int
    runs: int
    room: int
    checkpoints: int
    resumed_at: int | None = None
    lost: str = ""


def disk_lines(disk: DiskSummary, exploration: Exploration) -> list[str]:
    """The lines about the disk in the report of a search ."""
    mib = 1 << 20
    lines = [
        f"on disk: at most {disk.most / mib:,.1f} MiB in {disk.folder}, {disk.runs} sorted"
        f" run{'s' * (disk.runs != 1)}, {disk.checkpoints} checkpoint{'s' * (disk.checkpoints != 1)};"
        f" at most {disk.room:,} states in memory"
    ]
    if disk.resumed_at is not None:
        lines.append(f"resumed at depth {disk.resumed_at}; counts and times cover the whole search")
    if disk.used:
        lines.append(f"the folder keeps {disk.used / mib:,.1f} MiB: go on with --resume {disk.folder}, or delete it")
    error = mean_error(exploration.levels)
    if error is not None:
        lines.append(f"forecasts of the next level: {error[0]:.1%} off on average, in {error[1]} levels")
    return lines


def disk_object(disk: DiskSummary, exploration: Exploration) -> dict[str, Any]:
    """The object under `disk` in the output of `--json`."""
    error = mean_error(exploration.levels)
    return {
        "folder": disk.folder,
        "bytes": disk.used,
        "most_bytes": disk.most,
        "runs": disk.runs,
        "states_in_memory": disk.room,
        "checkpoints": disk.checkpoints,
        "resumed_at_depth": disk.resumed_at,
        "lost": disk.lost or None,
        "forecasts": 0 if error is None else error[1],
        "mean_forecast_error": None if error is None else round(error[0], 4),
    }
