"""The settings of a case as columns of a table.

In:  the lines of a table.
Out: each setting with its heading, Kafka's key, and its value as text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isrcheck.checker.atlas.pages.content import Line


@dataclass(frozen=True)
class Setting:
    """A setting: its name in an address, the heading of its column, Kafka's key, and its value for a line."""

    name: str
    heading: str
    key: str
    of: Callable[[Line], str]


def _text(name: str) -> Callable[[Line], str]:
    return lambda line: str(getattr(line.case, name))


def _switch(name: str) -> Callable[[Line], str]:
    return lambda line: "on" if getattr(line.case, name) else "off"


def _verification(line: Line) -> str:
    return "off" if dict(line.case.transactions).get("TXN_VERIFY") == "OFF" else "as in the release"


RELEASES = Setting("kafka", "Kafka", "the release of the brokers", lambda line: line.releases)
REPLICAS = Setting("replicas", "replicas", "replication.factor", _text("replication_factor"))

SETTINGS = {
    "acks": Setting("acks", "acks", "acks", _text("acks")),
    "replication_factor": REPLICAS,
    "min_insync_replicas": Setting("min-isr", "min ISR", "min.insync.replicas", _text("min_insync_replicas")),
    "unclean_election": Setting(
        "unclean", "unclean election", "unclean.leader.election.enable", _switch("unclean_election")
    ),
    "leader_rebalance": Setting(
        "rebalance", "leader rebalance", "auto.leader.rebalance.enable", _switch("leader_rebalance")
    ),
    "enable_idempotence": Setting("idempotence", "idempotent", "enable.idempotence", _switch("enable_idempotence")),
    "retries": Setting("retries", "retries", "retries", _switch("retries")),
    "max_in_flight_requests": Setting(
        "in-flight", "in flight", "max.in.flight.requests.per.connection", _text("max_in_flight_requests")
    ),
    "transactions": Setting("verification", "verification", "transaction.partition.verification.enable", _verification),
}
"""The settings by their names in a `Case`."""


def settings_of(names: Sequence[str]) -> tuple[Setting, ...]:
    """The columns of a table: the releases, and the settings with these names."""
    return (RELEASES, *(SETTINGS[name] for name in names))


def values_of(setting: Setting, lines: Sequence[Line]) -> list[str]:
    """The values of a setting: releases in the order of the lines, numbers in order, anything else after them."""
    found = list(dict.fromkeys(setting.of(line) for line in lines))
    if setting is RELEASES:
        return found
    return sorted(found, key=lambda text: (not text.isdecimal(), text.rjust(3), text))
