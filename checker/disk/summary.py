"""How much a search used the disk, for reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from isrcheck.checker.results.exploration import mean_error
from isrcheck.checker.results.run import Part, Run


@dataclass(frozen=True)
class DiskSummary(Part):
    """The figures of one search on disk: bytes, sorted runs, checkpoints, ..."""

    key: ClassVar[str] = "disk"

    folder: str
    used: int
    """The bytes in the folder at the end."""
    most: int
    """The most bytes in the folder at any time."""
    runs: int
    """The sorted runs in which duplicates were looked for."""
    room: int
    """The most states in memory."""
    checkpoints: int
    """The number of checkpoints that the search wrote."""
    resumed_at: int | None = None
    """The depth at which the search was resumed, if it was."""
    lost: str = ""
    """The message about a disk that was full or failed, if it did."""

    def lines(self, run: Run, /) -> list[str]:
        """The lines about the disk in the detailed results of a search."""
        mib = 1 << 20
        lines = [
            f"on disk: at most {self.most / mib:,.1f} MiB in {self.folder}, {self.runs} sorted"
            f" run{'s' * (self.runs != 1)}, {self.checkpoints} checkpoint{'s' * (self.checkpoints != 1)};"
            f" at most {self.room:,} states in memory"
        ]
        if self.resumed_at is not None:
            lines.append(f"resumed at depth {self.resumed_at}; counts and times cover the whole search")
        if self.used:
            lines.append(
                f"the folder keeps {self.used / mib:,.1f} MiB: go on with --resume {self.folder}, or delete it"
            )
        error = mean_error(run.explored.levels)
        if error is not None:
            lines.append(f"forecasts of the next level: {error[0]:.1%} off on average, in {error[1]} levels")
        return lines

    def as_object(self, run: Run, /) -> dict[str, Any]:
        """The object under `disk` in the output of `--json`."""
        error = mean_error(run.explored.levels)
        return {
            "folder": self.folder,
            "bytes": self.used,
            "most_bytes": self.most,
            "runs": self.runs,
            "states_in_memory": self.room,
            "checkpoints": self.checkpoints,
            "resumed_at_depth": self.resumed_at,
            "lost": self.lost or None,
            "forecasts": 0 if error is None else error[1],
            "mean_forecast_error": None if error is None else round(error[0], 4),
        }
