"""What happened in a play.

In:  nothing.
Out: `Played`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from isrcheck.conformance.replay.compare import Divergence
from isrcheck.conformance.wire.script.clients import Reading, Told


@dataclass
class Played:
    """What happened. `told` maps each record to what its producer was told, and after which step."""

    told: dict[str, tuple[int, Told]] = field(default_factory=dict)
    reading: Reading | None = None
    divergence: Divergence | None = None
