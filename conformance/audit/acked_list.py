"""Reads a list of acknowledged records: what producers were told, with acks=all.

In:  a text file of lines `OFFSET` or `OFFSET VALUE`, or of JSON objects; or a recording of observations or of the wire.
Out: `Acked`, in the order of the file. Raises UsageError with file and line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isrcheck.conformance.audit.format.files import FileError, opened
from isrcheck.conformance.follow.format.ndjson import UnreadableError, bad_line, get, only, parsed
from isrcheck.models.messages import UsageError

LONGEST_LINE = 1 << 20
MOST_RECORDS = 1_000_000
KEYS = {"offset", "value", "topic", "partition", "note"}
CURE = 'write OFFSET, OFFSET VALUE, or {"offset": 5, "value": "..."}'


@dataclass(frozen=True, slots=True)
class Acked:
    """An acknowledged record: the line of the list, its offset, its value if the list has it, and its partition
    (TOPIC-N) if the list names it."""

    line: int
    offset: int
    value: bytes | None
    partition: str | None = None


def acked_in(path: Path) -> list[Acked]:
    """The acknowledged records of a list. Raises UsageError."""
    found: list[Acked] = []
    for number, line in _lines(path):
        try:
            record = _record(number, line)
        except UnreadableError as error:
            raise bad_line(path, number, error) from None
        if record is not None:
            found.append(record)
        if len(found) > MOST_RECORDS:
            raise bad_line(path, number, f"more than {MOST_RECORDS} records; divide the list")
    if not found:
        raise UsageError(f"{path}: no acknowledged record in it; {CURE}")
    return found


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        with opened(path) as (file, _):
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise bad_line(path, number, f"the line is longer than {LONGEST_LINE} bytes; {CURE}")
                yield number, line.rstrip(b"\r\n")
    except FileError as error:
        raise UsageError(str(error)) from None


def _record(number: int, line: bytes) -> Acked | None:
    """The record of a line; None for a line about something else. Raises UnreadableError."""
    if not line.strip() or line.startswith(b"#"):
        return None
    if line.startswith(b"{"):
        said = parsed(line)
        return _observed(number, said) if "kind" in said else _listed(number, said)
    word, _, value = line.partition(b" ")
    if not word.isdigit() or len(word) > len(str(1 << 63)):
        raise UnreadableError(f"it does not begin with an offset; {CURE}")
    return Acked(number, _offset(int(word)), value if b" " in line else None)


def _listed(number: int, said: dict[str, Any]) -> Acked:
    only(said, KEYS)
    partition = None
    if "topic" in said or "partition" in said:
        partition = f"{get(said, 'topic', str)}-{get(said, 'partition', int)}"
    return Acked(number, _offset(get(said, "offset", int)), _value(said), partition)


def _observed(number: int, said: dict[str, Any]) -> Acked | None:
    """The record of a line of a recording: `acked` with acks=all, or the `client_result` of a success."""
    is_acked = said["kind"] == "acked" and said.get("acks", "all") in ("all", "-1", -1)
    is_result = said.get("what") == "client_result" and said.get("error", "absent") is None
    if not (is_acked or is_result) or said.get("offset") is None:
        return None
    return Acked(number, _offset(get(said, "offset", int)), _value(said))


def _value(said: dict[str, Any]) -> bytes | None:
    value = get(said, "value", str, absent=None) if said.get("value") is not None else None
    return None if value is None else value.encode("utf-8", "surrogatepass")


def _offset(offset: int) -> int:
    if not 0 <= offset < 1 << 63:
        raise UnreadableError(f"an offset is a number from 0 to {(1 << 63) - 1}")
    return offset
