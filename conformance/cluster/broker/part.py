"""The base class of the parts of a broker's process; it holds what every part uses: the clock and the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import Switches
from isrcheck.conformance.cluster.configuration.settings import Settings
from isrcheck.conformance.cluster.network.network import Clock


@dataclass(eq=False)
class Part:
    """One part of a broker's process; all parts in one cluster share the clock, settings, switches and seeded bug."""

    _clock: Clock
    _settings: Settings
    _switches: Switches
    _bug: Bug | None
