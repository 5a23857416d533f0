"""What every part of a broker's process is given: the time, and the rules that it follows."""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import Switches
from isrcheck.conformance.cluster.configuration.settings import Settings
from isrcheck.conformance.cluster.network.network import Clock


@dataclass(eq=False)
class Part:
    """A part of a broker, in one cluster."""

    _clock: Clock
    _settings: Settings
    _switches: Switches
    _bug: Bug | None
