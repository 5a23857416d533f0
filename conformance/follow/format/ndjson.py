"""Reads lines of NDJSON, each a whole JSON object, and checks the types of their values.

A function that gets the content of a file does not read the file, and uses its path only in errors. An UnreadableError
says why a line is invalid; `bad_line` makes a UsageError of it, with file and line. Files are read line by line, so
memory does not limit their length.
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from isrcheck.models.messages import UsageError, nearest

MOST_BYTES = 1 << 20
"""The longest line, in bytes."""


class UnreadableError(ValueError):
    """The content of a line is invalid; the message names the defect and its cure, but not the file and line."""


def bad_line(path: Path, number: int, defect: object) -> UsageError:
    """A UsageError about a line of a file: FILE:LINE, and the defect."""
    return UsageError(f"{path}:{number}: {defect}")


def objects_of(path: Path, content: bytes | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects on the lines of a file, each with the number of its line. Raises UsageError."""
    for number, line in lines_of(path, content):
        try:
            keys = parsed(line)
        except UnreadableError as error:
            raise bad_line(path, number, error) from None
        yield number, keys


def lines_of(path: Path, content: bytes | None = None) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, each with its number. Raises UsageError for a line that is cut off or too long."""
    with _opened(path) if content is None else io.BytesIO(content) as file:
        for number in itertools.count(1):
            line = file.readline(MOST_BYTES + 1)
            if not line:
                return
            if len(line) > MOST_BYTES:
                raise bad_line(path, number, f"the line is longer than {MOST_BYTES} bytes; give a log in NDJSON")
            if not line.endswith(b"\n"):
                cut = "the file ends in the middle of this line; get the rest, or remove the line"
                raise bad_line(path, number, cut)
            yield number, line


def content_of(path: Path, most: int) -> bytes | None:
    """The content of a file, or None if the file is larger than `most` bytes. Raises UsageError."""
    with _opened(path) as file:
        content = file.read(most + 1)
    return content if len(content) <= most else None


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading; until the file is closed, any OSError becomes a UsageError."""
    try:
        if path.exists() and not path.is_file():  # a pipe can be read only once
            raise UsageError(f"{path}: not a regular file; give a log that can be read")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}; give a log that can be read") from None


def parsed(line: bytes) -> dict[str, Any]:
    """The JSON object on a line of NDJSON. Raises UnreadableError."""
    if not line.strip():
        raise UnreadableError("the line is empty; remove it")
    try:
        keys = json.loads(line.decode("utf-8").rstrip("\n"), object_pairs_hook=_once, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise UnreadableError(f"byte {error.start + 1} is not UTF-8; give a log (docs/conformance.md)") from None
    except json.JSONDecodeError as error:
        raise UnreadableError(
            f"not JSON: {error.msg.removesuffix(' at')} at column {error.colno}; write one object per line"
        ) from None
    except RecursionError:
        raise UnreadableError("the line is nested too deeply; give a log (docs/conformance.md)") from None
    except UnreadableError:
        raise
    except ValueError:  # a number of thousands of digits
        raise UnreadableError("a number in the line is too long; give a log (docs/conformance.md)") from None
    if not isinstance(keys, dict):
        raise UnreadableError("the line is not a JSON object; write one object per line")
    return keys


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UnreadableError(f'"{twice[:60]}" occurs twice; write it once')
    return keys


def _no_number(name: str) -> NoReturn:
    raise UnreadableError(f"{name} is not a JSON number; write a number")


def get(keys: Mapping[str, Any], key: str, kind: type, *, absent: Any = ...) -> Any:
    """The value of `key`; if the key is missing, `absent`. Raises UnreadableError if the key is missing and `absent` is
    not given, or if the value is not of exactly the type `kind`: true is not a number."""
    if key not in keys:
        if absent is ...:
            raise UnreadableError(f'"{key}" is missing; docs/conformance.md describes the lines of a log')
        return absent
    value = keys[key]
    if type(value) is not kind:
        raise UnreadableError(f'"{key}" is {kind_of(value)}; it has to be {kind_of(kind())}')
    return value


def kind_of(value: object) -> str:
    """The type of a JSON value, in words, such as "a whole number"."""
    kinds = {dict: "an object", list: "a list", str: "a text", int: "a whole number", bool: "true or false"}
    return "null" if value is None else kinds.get(type(value), "a number with a point")


def only(keys: Mapping[str, Any], allowed: set[str]) -> None:
    """Raise UnreadableError if an object has other keys than `allowed`, or a `note` that is not a text."""
    for key in keys:
        if key not in allowed:
            raise UnreadableError(f'"{key[:60]}" is not a key of this line; {nearest(key[:60], sorted(allowed))}')
    get(keys, "note", str, absent="")
