"""Reads a Java `.properties` file exactly as Kafka does, with java.util.Properties.load(InputStream).

In:  the path of a file.
Out: the properties in file order, each with its place.

There are three deliberate differences. A byte order mark at the beginning is dropped: some editors insert it, and Java
would read it as a part of the first key. All values of a repeated key are returned: Java silently uses the last one,
but the caller should decide. Valid UTF-8 is read as UTF-8, while Java reads each byte as a latin-1 character: Kafka's
keys and the values that matter are ASCII, which both encodings share, and a client.id or a path appears as its author
wrote it. Text that is not valid UTF-8 is read as latin-1.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from isrcheck.models.messages import UsageError

# Java's line ends and white space; str.splitlines and str.strip accept more characters.
LINE_END = re.compile(r"\r\n|\r|\n")
WHITE_SPACE = " \t\f"

KEY_AND_VALUE = re.compile(r"(?P<key>(?:[^\\=: \t\f]|\\.)*)[ \t\f]*(?:[=:][ \t\f]*)?(?P<value>.*)", re.DOTALL)
ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
NAMED_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertiesError(UsageError, ValueError):
    """A property file cannot be read or is contradictory; the message says in one line what, where, and the cure."""


@dataclass(frozen=True)
class Property:
    """A key and its value, with escapes resolved, and the physical line (from 1) on which the key begins."""

    key: str
    value: str
    path: Path
    line: int

    @property
    def place(self) -> str:
        """The place of the property, as FILE:LINE."""
        return f"{self.path}:{self.line}"


def read_properties(path: Path) -> list[Property]:
    """Return the properties of a file, in file order. Raises PropertiesError."""
    return [_property(logical_line, path, line_number) for line_number, logical_line in _logical_lines(read_text(path))]


def read_text(path: Path) -> str:
    """Return the text of a file. Raises PropertiesError if the file cannot be read."""
    return decode(_read(path), path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise PropertiesError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise PropertiesError(f"{path}: is a directory; give a file in it") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise PropertiesError(f"{path}: cannot be read ({reason}); give a readable file") from None


def decode(content: bytes, path: Path) -> str:
    """Decode bytes as UTF-8, or else as latin-1; as UTF-16, if a byte order mark says so (as PowerShell writes a file).

    Raises PropertiesError, which names `path`, if there are NUL bytes.
    """
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
        while _is_continued(parts[-1]):
            # A blank continuation line ends the logical line; a continuation that starts with # is not a comment.
            _, continuation = next(numbered, (0, ""))
            parts[-1] = parts[-1][:-1]
            parts.append(continuation.lstrip(WHITE_SPACE))
        yield line_number, "".join(parts)


def _is_continued(line: str) -> bool:
    """Whether a line ends with an odd number of backslashes; an even number are escaped backslashes."""
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1


def _property(logical_line: str, path: Path, line_number: int) -> Property:
    parts = KEY_AND_VALUE.fullmatch(logical_line)
    assert parts is not None, "the pattern matches every line that is not continued"
    return Property(
        key=_without_escapes(parts["key"], path, line_number),
        value=_without_escapes(parts["value"], path, line_number),
        path=path,
        line=line_number,
    )


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
