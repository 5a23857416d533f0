"""The options of a search on disk, as the command line gives them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MINUTES = 5.0


@dataclass(frozen=True)
class DiskRequest:
    """The options of a search on disk. `room`, the most states in memory, is for tests."""

    folder: Path
    is_resumed: bool = False
    """Whether the search in the folder is resumed."""
    minutes: float = MINUTES
    """The minutes between checkpoints."""
    room: int | None = None
    """The number of states in memory (None: what the memory limit allows)."""

    @property
    def option(self) -> str:
        """The option that names the folder: --disk or --resume."""
        return "--resume" if self.is_resumed else "--disk"
