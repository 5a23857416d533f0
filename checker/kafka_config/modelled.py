"""Kafka's keys that the model `kafka` represents by an entry with another meaning.

In:  nothing.
Out: `MODELLED`, for `check sweep`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

MOST_IN_FLIGHT_SEARCHED = 5
"""A search uses at most this many requests in flight: more make no difference for its few records."""

MODELLED: Mapping[str, tuple[str, Callable[[Any], int]]] = {
    "replication.factor": ("replicas", int),
    "unclean.leader.election.enable": ("unclean_elections", int),
    "max.in.flight.requests.per.connection": (
        "max_in_flight_requests",
        lambda requests: min(requests, MOST_IN_FLIGHT_SEARCHED),
    ),
}
"""The model's configuration entry for each of these Kafka keys, with the conversion of the value. If Kafka allows
unclean elections, the model allows one."""
