"""The kinds of elections.

In:  nothing.
Out: `Election`, which an operator, or a driver, asks a controller for.
"""

from __future__ import annotations

from enum import Enum


class Election(Enum):
    """The kinds of elections. Kafka: PartitionLeaderElectionAlgorithms (offline, preferred, unclean)."""

    FAIL_OVER = "fail-over"
    PREFERRED = "preferred"
    UNCLEAN = "unclean"
