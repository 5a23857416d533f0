"""Reads and validates values of settings as Kafka does, and prints them without secrets.

In:  the text of a value.
Out: the value in Python, or a ValueError with the reason and the cure; text that is safe to print.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from isrcheck.checker.kafka_config.releases import version_of_inter_broker_protocol, version_of_metadata

WHAT_JAVA_TRIMS = "".join(map(chr, range(33)))
"""The characters that Java's String.trim removes; Kafka trims every value."""

MOST = 2**31 - 1
"""The largest value of a Java int."""


# --- Reading ----------------------------------------------------------------------------------------------------------


def read_acks(text: str) -> str:
    """Read `acks`; -1 means all."""
    if text not in ("all", "-1", "0", "1"):
        raise ValueError(f"{quoted(text)} is not a value of acks; write all (or -1), 1 or 0")
    return "all" if text == "-1" else text


def read_true_or_false(text: str) -> bool:
    """Read a boolean setting, in upper or lower case."""
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{quoted(text)} is neither true nor false; write true or false")
    return text.lower() == "true"


def read_isolation_level(text: str) -> str:
    """Read `isolation.level`, which must be in lower case."""
    if text not in ("read_committed", "read_uncommitted"):
        raise ValueError(f"{quoted(text)} is not an isolation level; write read_committed or read_uncommitted")
    return text


def read_transactional_id(text: str) -> str:
    """Read `transactional.id`, which must not be empty."""
    if not text:
        raise ValueError("Kafka refuses an empty value; write a name, or leave the key out")
    return text


def read_count(text: str) -> int:
    """Read a count, at least 1."""
    return _whole(text, 1, "write for example 2")


def read_requests(text: str) -> int:
    """Read a number of requests, at least 1."""
    return _whole(text, 1, "write for example 5")


def read_times(text: str) -> int:
    """Read a number of retries or of milliseconds, at least 0."""
    return _whole(text, 0, "write for example 0")


def read_feature_level(text: str) -> int:
    """Read the level of a feature that is off (0) or on (1)."""
    if text not in ("0", "1"):
        raise ValueError(f"{quoted(text)} is neither 0 nor 1; write 1 if the feature is on, or 0")
    return int(text)


def _whole(text: str, least: int, cure: str) -> int:
    if re.fullmatch(r"[+-]?0*\d{1,10}", text, re.ASCII) is None or not least <= int(text) <= MOST:
        raise ValueError(f"{quoted(text)} is not a whole number from {least} to {MOST}; {cure}")
    return int(text)


READERS: Mapping[str, Callable[[str], object]] = {
    "acks": read_acks,
    "retries": read_times,
    "max.in.flight.requests.per.connection": read_requests,
    "enable.idempotence": read_true_or_false,
    "transactional.id": read_transactional_id,
    "isolation.level": read_isolation_level,
    "delivery.timeout.ms": read_times,
    "linger.ms": read_times,
    "request.timeout.ms": read_times,
    "min.insync.replicas": read_count,
    "replication.factor": read_count,
    "default.replication.factor": read_count,
    "unclean.leader.election.enable": read_true_or_false,
    "inter.broker.protocol.version": version_of_inter_broker_protocol,
    "log.message.format.version": version_of_inter_broker_protocol,
    "message.format.version": version_of_inter_broker_protocol,
    "metadata.version": version_of_metadata,
    "eligible.leader.replicas.version": read_feature_level,
}
"""The reader of each key that affects the answer; the values of other keys are not interpreted."""


# --- Showing ----------------------------------------------------------------------------------------------------------

# Deliberately too cautious: the value of a misspelt password key is still a password.
_SECRET = re.compile(r"pas+w|pass|pwd|secret|jaas|credential|token|\.key$", re.IGNORECASE)


def shown(key: str, value: str) -> str:
    """Return a value on one line; a secret becomes [hidden], as in Kafka's logs."""
    return "[hidden]" if _SECRET.search(key) else printable(value)


def printable(text: str) -> str:
    """Return text on one line, with control characters escaped."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def quoted(text: str) -> str:
    """Return text for a message: printable, in quotes, at most 60 characters."""
    return f"'{printable(text if len(text) <= 60 else text[:60] + '...')}'"
