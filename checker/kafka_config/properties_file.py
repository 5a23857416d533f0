"""Reads a Java `.properties` file exactly as Kafka does, that is as java.util.Properties.load(InputStream).

In:  the path of a file.
Out: its properties in file order, each with the place where it stands, for checker/kafka_config/cluster.py.

Three deliberate differences. A byte order mark at the beginning is left out: Java would take it for a part of the first
key, and editors put it there unasked. A repeated key is kept: java.util.Properties lets the last one win in silence;
here whoever reads the list judges it. Bytes that are valid UTF-8 are read as UTF-8, where Java would read every byte as
one latin-1 character: Kafka's own keys and the values that this project understands are ASCII and so the same in both
readings, and a client.id or a path is shown as its author wrote it. Bytes that are not UTF-8 are read as latin-1.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from isrcheck.models.messages.errors import UsageError

# Java's idea of a line end and of white space; str.splitlines and str.strip know several more of both.
LINE_END = re.compile(r"\r\n|\r|\n")
WHITE_SPACE = " \t\f"

KEY_AND_VALUE = re.compile(r"(?P<key>(?:[^\\=: \t\f]|\\.)*)[ \t\f]*(?:[=:][ \t\f]*)?(?P<value>.*)", re.DOTALL)
ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
NAMED_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertiesError(UsageError, ValueError):
    """A property file that cannot be read, or that contradicts itself: one line with what, where and the cure."""


@dataclass(frozen=True)
class Property:
    """One key with its value, both without escapes, and the physical line (from 1) on which it begins."""

    key: str
    value: str
    path: Path
    line: int

    @property
    def place(self) -> str:
        """FILE:LINE."""
        return f"{self.path}:{self.line}"


def read_properties(path: Path) -> list[Property]:
    """The properties of a file, in file order."""
    return [_property(logical_line, path, line_number) for line_number, logical_line in _logical_lines(read_text(path))]


def read_text(path: Path) -> str:
    """The text of a file. Raises PropertiesError where there is none."""
    return decode(_read(path), path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise PropertiesError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise PropertiesError(f"{path}: this is a directory; name a file in it") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise PropertiesError(f"{path}: cannot be read ({reason}); give a file that you may read") from None


def decode(content: bytes, path: Path) -> str:
    """Bytes that came from `path` as text: UTF-8, or else latin-1."""
    content = content.removeprefix(codecs.BOM_UTF8)
    if b"\0" in content:
        line = len(LINE_END.findall(content[: content.index(b"\0")].decode("latin-1"))) + 1
        raise PropertiesError(
            f"{path}:{line}: not a text file (it has NUL bytes); save it as plain ASCII or UTF-8 text"
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Joins continued lines; leaves out blank lines and comments. Yields the number of the first physical line too."""
    numbered = enumerate(LINE_END.split(text), start=1)
    for line_number, line in numbered:
        logical_line = line.lstrip(WHITE_SPACE)
        # A lone backslash counts as blank. (As the last thing in a file, some Javas make an empty key of it.)
        if logical_line in ("", "\\") or logical_line[0] in "#!":
            continue
        parts = [logical_line]
        while _is_continued(parts[-1]):
            # A blank continuation adds nothing and ends the logical line; one that starts with # is no comment.
            _, continuation = next(numbered, (0, ""))
            parts[-1] = parts[-1][:-1]
            parts.append(continuation.lstrip(WHITE_SPACE))
        yield line_number, "".join(parts)


def _is_continued(line: str) -> bool:
    """An even number of backslashes at the end are escaped backslashes."""
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1


def _property(logical_line: str, path: Path, line_number: int) -> Property:
    parts = KEY_AND_VALUE.fullmatch(logical_line)
    assert parts is not None, "every line without an odd backslash at its end has a key and a value"
    return Property(
        key=_without_escapes(parts["key"], path, line_number),
        value=_without_escapes(parts["value"], path, line_number),
        path=path,
        line=line_number,
    )


def _without_escapes(text: str, path: Path, line_number: int) -> str:
    def character(escape: re.Match[str]) -> str:
        name = escape[1]
        if name == "u":  # not followed by four hexadecimal digits. The text is not shown: it may be a password.
            raise PropertiesError(
                rf"{path}:{line_number}: malformed \uXXXX escape; write \u and four hexadecimal digits, "
                r"or \\ for a backslash"
            )
        return chr(int(name[1:], 16)) if len(name) > 1 else NAMED_ESCAPES.get(name, name)

    # Java's strings are UTF-16: two escapes that are a surrogate pair are one character.
    return ESCAPE.sub(character, text).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
