"""Where brokers listen, as an operator types it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from isrcheck.models.messages import UsageError

MOST_PORT = 65_535
_ADDRESS = re.compile(r"(?:\[(?P<six>[^\]\s]+)\]|(?P<host>[^:\s/,]+)):(?P<port>\d{1,5})", re.ASCII)


@dataclass(frozen=True)
class Address:
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_addresses(option: str, text: str) -> tuple[Address, ...]:
    """Read HOST:PORT, or several separated by commas. Raises UsageError."""
    addresses = []
    for part in map(str.strip, text.split(",")):
        match = _ADDRESS.fullmatch(part)
        if match is None or not 1 <= int(match["port"]) <= MOST_PORT:
            raise UsageError(f"{option} {part}: not HOST:PORT; write it as in {option} localhost:9092")
        addresses.append(Address(match["six"] or match["host"], int(match["port"])))
    return tuple(addresses)


def read_listener(option: str, text: str) -> Address:
    """Read PORT or HOST:PORT, on which a server of isrcheck listens; without a host, only this machine reaches it.
    Raises UsageError."""
    if text.isdecimal() and text.isascii():
        text = f"127.0.0.1:{text}"
    addresses = read_addresses(option, text)
    if len(addresses) > 1:
        raise UsageError(f"{option} {text}: more than one address; give one, as in {option} 9404")
    return addresses[0]
