"""Reads property files exactly as Kafka does, with java.util.Properties.load(InputStream).

Values are validated as in Kafka, and printed without secrets. `dialects` reads the keys of other clients.

There are three deliberate differences from Java. A byte order mark at the beginning is dropped: some editors insert it,
and Java would read it as a part of the first key. All values of a repeated key are returned: Java silently uses the
last one, but the caller should decide. Valid UTF-8 is read as UTF-8, while Java reads each byte as a latin-1 character:
Kafka's keys and the values that matter are ASCII, which both encodings share, and a client.id or a path appears as its
author wrote it. Text that is not valid UTF-8 is read as latin-1.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from isrcheck.checker.cluster.libraries import ClientLibrary
from isrcheck.checker.cluster.releases import Role, version_of_inter_broker_protocol, version_of_metadata
from isrcheck.models.messages import UsageError

# Java's line ends and white space; str.splitlines and str.strip accept more characters.
LINE_END = re.compile(r"\r\n|\r|\n")
WHITE_SPACE = " \t\f"

KEY_AND_VALUE = re.compile(r"(?P<key>(?:[^\\=: \t\f]|\\.)*)[ \t\f]*(?:[=:][ \t\f]*)?(?P<value>.*)", re.DOTALL)
ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
NAMED_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertiesError(UsageError, ValueError):
    """A file cannot be read or is contradictory; the message says in one line what is wrong, where, and the cure."""


@dataclass(frozen=True)
class Property:
    """A key and its value, with escapes resolved, and the physical line (from 1) on which the key begins."""

    key: str
    value: str
    path: Path
    line: int
    """The line; 0 if `path` is the whole place, as for an answer of a running broker."""
    written: str = ""
    """The setting as its file has it, if another client's name or value is translated: request.required.acks=-1."""

    @property
    def place(self) -> str:
        """The place of the property, as FILE:LINE."""
        return f"{self.path}:{self.line}" if self.line else str(self.path)


def read_properties(path: Path) -> list[Property]:
    """Return the properties of a file, in file order. Raises PropertiesError for a file that Kafka could not read."""
    return properties_of(path, read_text(path))


def properties_of(path: Path, text: str) -> list[Property]:
    """Return the properties of a text. Raises PropertiesError for a text that Kafka could not read."""
    properties = []
    for line, logical_line in _logical_lines(text):
        parts = KEY_AND_VALUE.fullmatch(logical_line)
        assert parts is not None, "the pattern matches every line that is not continued"
        key, value = (_without_escapes(parts[name], path, line) for name in ("key", "value"))
        properties.append(Property(key, value, path, line))
    return properties


def read_text(path: Path) -> str:
    """Return the text of a file. Raises PropertiesError if the file cannot be read."""
    try:
        return decode(path.read_bytes(), path)
    except FileNotFoundError:
        raise PropertiesError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise PropertiesError(f"{path}: is a directory; give a file in it") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise PropertiesError(f"{path}: cannot be read ({reason}); give a readable file") from None


def decode(content: bytes, path: Path) -> str:
    """Decode bytes as UTF-8, or else as latin-1; as UTF-16, if a byte order mark says so (as PowerShell writes a file).
    Raises PropertiesError, which names `path`, if there are NUL bytes."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and len(content) % 2 == 0:
        return content.decode("utf-16", "replace").replace("\0", "\ufffd")
    while content.startswith(codecs.BOM_UTF8):
        content = content.removeprefix(codecs.BOM_UTF8)
    if b"\0" in content:
        line = len(LINE_END.findall(content[: content.index(b"\0")].decode("latin-1"))) + 1
        raise PropertiesError(f"{path}:{line}: not a text file (it contains NUL bytes); save it as ASCII or UTF-8 text")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the logical lines except blank lines and comments, each with the number of its first physical line."""
    numbered = enumerate(LINE_END.split(text), start=1)
    for line_number, line in numbered:
        logical_line = line.lstrip(WHITE_SPACE)
        # A single backslash counts as blank. (At the end of a file, some versions of Java read an empty key.)
        if logical_line in ("", "\\") or logical_line[0] in "#!":
            continue
        parts = [logical_line]
        # An odd number of backslashes continues a line; an even number are escaped backslashes.
        while (len(parts[-1]) - len(parts[-1].rstrip("\\"))) % 2:
            # A blank continuation line ends the logical line; a continuation that starts with # is not a comment.
            _, continuation = next(numbered, (0, ""))
            parts[-1] = parts[-1][:-1]
            parts.append(continuation.lstrip(WHITE_SPACE))
        yield line_number, "".join(parts)


def _without_escapes(text: str, path: Path, line_number: int) -> str:
    def character(escape: re.Match[str]) -> str:
        name = escape[1]
        if name == "u":  # without four hexadecimal digits; the text is not shown, as it may be a password
            raise PropertiesError(
                rf"{path}:{line_number}: malformed \uXXXX escape; write \u and four hexadecimal digits, "
                r"or \\ for a backslash"
            )
        return chr(int(name[1:], 16)) if len(name) > 1 else NAMED_ESCAPES.get(name, name)

    # Java strings are UTF-16: two escapes that form a surrogate pair are one character.
    return ESCAPE.sub(character, text).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


# --- Values: read and validated as Kafka does, and printed without secrets --------------------------------------------

MOST = 2**31 - 1
"""The largest value of a Java int."""


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


BY_DURATION = "by_duration:"
"""The beginning of a value of auto.offset.reset that is a duration (KIP-1106)."""


def _one_of(values: Mapping[str, Any], otherwise: str, *, any_case: bool = False) -> Callable[[str], Any]:
    """Return a reader that turns a word into its value; `otherwise` is the message for other words, with the cure."""

    def read(text: str) -> Any:
        word = text.lower() if any_case else text
        if word not in values:
            raise ValueError(f"{quoted(text)} {otherwise}")
        return values[word]

    return read


def _whole(least: int, example: int) -> Callable[[str], int]:
    """Return a reader of whole numbers, from `least` to the greatest Java int; `example` is for the message."""

    def read(text: str) -> int:
        if re.fullmatch(r"[+-]?0*\d{1,10}", text, re.ASCII) is None or not least <= int(text) <= MOST:
            raise ValueError(
                f"{quoted(text)} is not a whole number from {least} to {MOST}; write for example {example}"
            )
        return int(text)

    return read


def _read_offset_reset(text: str) -> str:
    """Read `auto.offset.reset`, which must be in lower case; smallest and largest are of the old Scala consumer."""
    if text not in ("earliest", "latest", "none", "smallest", "largest") and not text.startswith(BY_DURATION):
        raise ValueError(f"{quoted(text)} is not a policy for offsets; write earliest, latest or none")
    return text


def _read_transactional_id(text: str) -> str:
    if not text:
        raise ValueError("Kafka refuses an empty value; write a name, or leave the key out")
    return text


def _read_process_roles(text: str) -> frozenset[str]:
    """Read the roles of a process in a KRaft cluster; an empty text, as with ZooKeeper, has no roles."""
    roles = [role.strip() for role in text.split(",")] if text else []
    if not {*roles} <= {"broker", "controller"} or len(roles) > len({*roles}):
        raise ValueError(f"{quoted(text)} is no list of process roles; write broker, controller or broker,controller")
    return frozenset(roles)


_true_or_false = _one_of(
    {"true": True, "false": False}, "is neither true nor false; write true or false", any_case=True
)
_times, _count = _whole(0, 0), _whole(1, 2)

READERS: Mapping[str, Callable[[str], Any]] = {
    "acks": _one_of(
        {"all": "all", "-1": "all", "0": "0", "1": "1"}, "is not a value of acks; write all (or -1), 1 or 0"
    ),
    "retries": _times,
    "max.in.flight.requests.per.connection": _whole(1, 5),
    "enable.idempotence": _true_or_false,
    "transactional.id": _read_transactional_id,
    "isolation.level": _one_of(
        {level: level for level in ("read_committed", "read_uncommitted")},
        "is not an isolation level; write read_committed or read_uncommitted",
    ),
    "auto.offset.reset": _read_offset_reset,
    "transaction.timeout.ms": _whole(0, 60000),  # a coordinator refuses 0
    "transaction.max.timeout.ms": _whole(1, 900000),
    "transaction.state.log.min.isr": _count,
    "transaction.state.log.replication.factor": _count,
    "transaction.partition.verification.enable": _true_or_false,
    "transaction.version": _one_of(
        {"0": 0, "1": 1, "2": 2}, "is not 0, 1 or 2; write 2 if transactions end with a new epoch, or 0"
    ),
    "delivery.timeout.ms": _times,
    "linger.ms": _times,
    "request.timeout.ms": _times,
    "min.insync.replicas": _count,
    "replication.factor": _count,
    "default.replication.factor": _count,
    "unclean.leader.election.enable": _true_or_false,
    "auto.leader.rebalance.enable": _true_or_false,
    "inter.broker.protocol.version": version_of_inter_broker_protocol,
    "log.message.format.version": version_of_inter_broker_protocol,
    "message.format.version": version_of_inter_broker_protocol,
    "metadata.version": version_of_metadata,
    "process.roles": _read_process_roles,
    "eligible.leader.replicas.version": _one_of(
        {"0": 0, "1": 1}, "is neither 0 nor 1; write 1 if the feature is on, or 0"
    ),
}
"""The reader of each key that affects the answer; the values of other keys are not interpreted."""


class Layer(IntEnum):
    """Where a setting comes from; if several layers have a key, the highest layer takes precedence."""

    CONTROLLER = 0
    """The file of a process that is only a controller."""
    FILE = 1
    """Any other file."""
    CLUSTER = 2
    """A dynamic default of the cluster."""
    BROKER = 3
    """A dynamic value of one broker."""
    RUNNING = 4
    """The value in effect in a running broker."""


@dataclass(frozen=True)
class Section:
    """The settings of one broker, topic or client (`member`). If `role` is None, the keys determine the role."""

    role: Role | None
    member: str
    properties: tuple[Property, ...]
    layer: Layer = Layer.FILE
    library: ClientLibrary | None = None
    """The client library, if the file shows it; None for Kafka's own property files."""
    shown_by: str = ""
    """The setting that shows the library, with its place; empty for Kafka's own property files."""
    is_internal: bool = False
    """Whether this is a topic of a framework's own, such as a changelog of Kafka Streams."""
    left_to_brokers: str = ""
    """The setting, with its place, that leaves the number of a topic's replicas to the brokers; empty if none does."""
    remarks: tuple[str, ...] = ()
    """What the reader of the file left out, or could not know."""
