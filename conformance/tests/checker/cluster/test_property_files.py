"""Property files, compared with java.util.Properties: recorded results, a writer, and bad input.

The recorded results are those of java.util.Properties.load(InputStream) of OpenJDK 17 for the same bytes.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from conformance.tests.support.places import SHARED
from isrcheck.checker.cluster.property_files import PropertiesError, read_properties
from isrcheck.models.messages import UsageError

SHIPPED_FILES = SHARED / "data" / "properties"

READ_BY_JAVA: list[tuple[str, bytes, list[tuple[str, str]]]] = [
    ("plain", b"a=b\n", [("a", "b")]),
    ("colon", b"a:b\n", [("a", "b")]),
    ("space", b"a b\n", [("a", "b")]),
    ("tab and form feed", b"a\t\x0cb\n", [("a", "b")]),
    ("white space around the separator", b"a \t=\x0c b\n", [("a", "b")]),
    ("one separator only", b"a = = b\na::b\na=:b\n", [("a", "= b"), ("a", ":b"), ("a", ":b")]),
    ("separator after white space", b"a   :b\n", [("a", "b")]),
    ("white space at the end of a value stays", b"a=b \t\n", [("a", "b \t")]),
    ("white space before a key", b" \t\x0ca=b\n", [("a", "b")]),
    ("vertical tab is no white space", b"\x0ba=b\n", [("\x0ba", "b")]),
    ("no value", b"a\nb=\nc:\nd \n", [("a", ""), ("b", ""), ("c", ""), ("d", "")]),
    ("no key", b"=b\n", [("", "b")]),
    ("key of escapes", b"\\=\\:\\ \\\ta=b\n", [("=: \ta", "b")]),
    ("comments", b"#a=b\n!c=d\n  # e=f\n\t!g\nh=i # no comment\n", [("h", "i # no comment")]),
    ("comment is never continued", b"# a\\\nb=c\n", [("b", "c")]),
    ("blank lines", b"\n  \n\t\x0c\r\n\ra=b\n", [("a", "b")]),
    ("line ends", b"a=1\nb=2\rc=3\r\nd=4", [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]),
    ("no line end at the end", b"a=b", [("a", "b")]),
    ("empty file", b"", []),
    ("only a comment", b"#", []),
    ("continued value", b"a=b\\\n   c\\\n\td\n", [("a", "bcd")]),
    ("continued by carriage return", b"a=b\\\rc\nd=e\\\r\nf\n", [("a", "bc"), ("d", "ef")]),
    ("continued key", b"a\\\n  b=c\n", [("ab", "c")]),
    ("continued before the separator", b"a\\\n = b\n", [("a", "b")]),
    ("two backslashes do not continue", b"a=b\\\\\nc=d\n", [("a", "b\\"), ("c", "d")]),
    ("three do", b"a=b\\\\\\\nc=d\n", [("a", "b\\c=d")]),
    ("blank continuation ends the line", b"a=b\\\n   \nc=d\n", [("a", "b"), ("c", "d")]),
    ("continuation that looks like a comment", b"a=b\\\n#c\n!d=e\n", [("a", "b#c")]),
    ("continued at the end of the file", b"a=b\\", [("a", "b")]),
    ("continued at the end of the file, with line end", b"a=b\\\n", [("a", "b")]),
    ("white space before the backslash stays", b"a=b  \\\n  c\n", [("a", "b  c")]),
    ("lone backslash is blank", b"\\\na=b\n", [("a", "b")]),
    ("lone backslash before a comment", b"\\\n#a\nb=c\n", [("b", "c")]),
    ("backslash after white space is blank too", b"  \\\n  a=b\n", [("a", "b")]),
    ("named escapes", b"a=\\t\\n\\r\\f\n", [("a", "\t\n\r\x0c")]),
    ("other escapes are the character", b"a=\\b\\z\\\"\\'\\\\\\#\\U0041\\0\n", [("a", "bz\"'\\#U00410")]),
    ("unicode escapes", b"\\u0061=\\u00e9\\u20AC\\u0000\n", [("a", "é€\x00")]),
    ("surrogate pair", b"a=\\uD83D\\uDE00\n", [("a", "😀")]),
    ("half a surrogate pair", b"a=\\uD83D\n", [("a", "\ud83d")]),
    ("escaped backslash before u", b"a=\\\\u12\n", [("a", "\\u12")]),
    ("escape cut by a line end", b"a=\\u00\\\n41\n", [("a", "A")]),
    ("repeated key", b"a=1\na=2\na=1\n", [("a", "1"), ("a", "2"), ("a", "1")]),
    ("escaped line end characters do not end a line", b"a=1\\n2\\r3\n", [("a", "1\n2\r3")]),
    ("hash within a key", b"a#b!=c\n", [("a#b!", "c")]),
    ("separator characters in a value", b"a=b=c:d e\n", [("a", "b=c:d e")]),
    ("latin-1", b"a=\xe9\n", [("a", "é")]),
    ("other control characters are data", b"a=\x1c\x1d\x1e\x85\n", [("a", "\x1c\x1d\x1e\x85")]),
]

# Java: IllegalArgumentException, malformed \\uxxxx encoding.
REFUSED_BY_JAVA: list[tuple[str, bytes]] = [
    ("too short", b"a=\\u12\n"),
    ("not hexadecimal", b"a=\\u12g4\n"),
    ("in a key", b"\\u=b\n"),
    ("two u", b"a=\\uu0041\n"),
    ("at the end", b"a=\\u"),
    ("sign", b"a=\\u+123\n"),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.properties"


def pairs(path: Path) -> list[tuple[str, str]]:
    return [(prop.key, prop.value) for prop in read_properties(path)]


@pytest.mark.parametrize(("content", "read"), [row[1:] for row in READ_BY_JAVA], ids=[row[0] for row in READ_BY_JAVA])
def test_reads_what_java_reads(file: Path, content: bytes, read: list[tuple[str, str]]) -> None:
    file.write_bytes(content)
    assert pairs(file) == read


@pytest.mark.parametrize("content", [row[1] for row in REFUSED_BY_JAVA], ids=[row[0] for row in REFUSED_BY_JAVA])
def test_refuses_what_java_refuses(file: Path, content: bytes) -> None:
    file.write_bytes(b"# first\n" + content)
    with pytest.raises(PropertiesError) as refusal:
        read_properties(file)
    assert str(refusal.value) == (
        rf"{file}:2: malformed \uXXXX escape; write \u and four hexadecimal digits, or \\ for a backslash"
    )


def test_a_property_knows_its_file_and_the_line_on_which_it_begins(file: Path) -> None:
    file.write_bytes(b"# one\r\n\r\na=1\rb=\\\n  2\\\n  3\n\n!\n\\\n c\\\r\n=4")
    read = read_properties(file)
    assert [(prop.key, prop.value, prop.line) for prop in read] == [("a", "1", 3), ("b", "23", 4), ("c", "4", 10)]
    assert {prop.path for prop in read} == {file}
    assert read[1].place == f"{file}:4"


# --- A writer of its own ----------------------------------------------------------------------------------------------

LINE_ENDS = st.sampled_from(["\n", "\r", "\r\n"])
INDENTS = st.text(alphabet=" \t\f", max_size=2)
AWKWARD = " \t\f\n\r\\=:#!utnrf\u0085\u2028\ufeff\U0001f600"
TEXTS = st.text(
    st.one_of(st.sampled_from(AWKWARD), st.characters(exclude_categories=["Cs"], exclude_characters="\0")), max_size=8
)


def utf_16_escapes(character: str) -> str:
    code_units = character.encode("utf-16-be").hex()
    return "".join(rf"\u{code_units[i : i + 4]}" for i in range(0, len(code_units), 4))


@st.composite
def written(draw: st.DrawFn, character: str, must_be_escaped: bool) -> str:
    """A random way to write a character in a file."""
    ways = [utf_16_escapes(character)]
    if character in "\t\n\r\f":
        ways.append("\\" + {"\t": "t", "\n": "n", "\r": "r", "\f": "f"}[character])
    if character not in "\n\rutnrf":
        ways.append("\\" + character)
    if character not in "\n\r\\" and not must_be_escaped:
        ways.append(character)
    return draw(st.sampled_from(ways))


@st.composite
def logical_lines(draw: st.DrawFn, key: str, value: str) -> str:
    tokens = [
        draw(written(character, must_be_escaped=character in "=: \t\f" or (first and character in "#!")))
        for first, character in zip([True] + [False] * len(key), key, strict=False)
    ]
    white_space_separates = bool(key)
    if value or not key:
        separators = ["=", ":", " = ", "\t:", "=\f "] + ([" ", "\t\f"] if white_space_separates else [])
        tokens.append(draw(st.sampled_from(separators)))
    tokens += [
        draw(written(character, must_be_escaped=first and character in " \t\f=:"))
        for first, character in zip([True] + [False] * len(value), value, strict=False)
    ]
    line = draw(INDENTS)
    for position, token in enumerate(tokens):
        # White space that stands first on a continuation line would be dropped.
        if position > 0 and token[0] not in " \t\f" and draw(st.integers(0, 4)) == 0:
            line += "\\" + draw(LINE_ENDS) + draw(INDENTS)
        line += token
    return line


@st.composite
def files(draw: st.DrawFn) -> tuple[list[tuple[str, str, int]], str]:
    """Random properties with line numbers, and the text of a file with them."""
    said: list[tuple[str, str, int]] = []
    text = ""
    for _ in range(draw(st.integers(0, 4))):
        for _ in range(draw(st.integers(0, 2))):
            comment = draw(st.sampled_from(["", "# a comment", "!a=b", "#\\"]))
            text += draw(INDENTS) + comment + draw(LINE_ENDS)
        key, value = draw(TEXTS), draw(TEXTS)
        said.append((key, value, 1 + len(re.findall("\r\n|\r|\n", text))))
        text += draw(logical_lines(key, value)) + draw(LINE_ENDS)
    without_last_line_end = draw(st.booleans())
    return said, re.sub("(\r\n|\r|\n)\\Z", "", text) if without_last_line_end else text


@pytest.mark.sampled
@given(files())
def test_a_written_file_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, file_: tuple[list[tuple[str, str, int]], str]
) -> None:
    said, text = file_
    assume(not text.startswith("\ufeff"))  # there it is a byte order mark
    path = tmp_path_factory.getbasetemp() / "written.properties"
    path.write_bytes(text.encode("utf-8"))
    assert [(each.key, each.value, each.line) for each in read_properties(path)] == said


# --- Encodings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("encoding", "name"), [("utf-8", "Zürich-€-😀"), ("latin-1", "Zürich")])
def test_a_file_is_read_as_utf_8_or_as_latin_1_as_in_java(file: Path, encoding: str, name: str) -> None:
    file.write_bytes(f"client.id={name}\nowner=é".encode(encoding))
    assert pairs(file) == [("client.id", name), ("owner", "é")]


# --- Bad input: one line, what and where and the cure -----------------------------------------------------------------


def complaint(path: Path) -> str:
    with pytest.raises(PropertiesError) as refusal:
        read_properties(path)
    assert isinstance(refusal.value, UsageError)
    assert isinstance(refusal.value, ValueError)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing", "no such file; check the path"),
        (".", "is a directory; give a file in it"),
        ("file/more", "cannot be read (Not a directory); give a readable file"),
    ],
)
def test_what_is_no_file(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "file").touch()
    assert complaint(tmp_path / name) == f"{tmp_path / name}: {says}"


def test_unreadable_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_bytes", Mock(side_effect=PermissionError(13, "Permission denied")))
    assert complaint(file) == f"{file}: cannot be read (Permission denied); give a readable file"


@pytest.mark.parametrize(("content", "line"), [(b"a=b\r\nc=\0d\n", 2), ("a=b\n".encode("utf-16-le"), 1)])
def test_binary_file(file: Path, content: bytes, line: int) -> None:
    file.write_bytes(content)
    assert complaint(file) == (
        f"{file}:{line}: not a text file (it contains NUL bytes); save it as ASCII or UTF-8 text"
    )


def test_a_malformed_escape_in_a_password_does_not_show_the_password(file: Path) -> None:
    file.write_bytes(rb"ssl.key.password=hunter2\u12")
    assert "hunter2" not in complaint(file)


# --- The files that Kafka ships ---------------------------------------------------------------------------------------


@pytest.mark.skipif(not SHIPPED_FILES.is_dir(), reason="the property files that Kafka ships are not beside this clone")
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("consumer", """
            20 zookeeper.connect=127.0.0.1:2181
            23 zookeeper.connection.timeout.ms=6000
            26 group.id=test-consumer-group
        """),
        ("producer", "21 bootstrap.servers=localhost:9092\n24 compression.type=none"),
        ("server", """
            21 broker.id=0
            45 num.network.threads=3
            48 num.io.threads=8
            51 socket.send.buffer.bytes=102400
            54 socket.receive.buffer.bytes=102400
            57 socket.request.max.bytes=104857600
            63 log.dirs=/tmp/kafka-logs
            68 num.partitions=1
            72 num.recovery.threads.per.data.dir=1
            99 log.retention.hours=168
            106 log.segment.bytes=1073741824
            110 log.retention.check.interval.ms=300000
            119 zookeeper.connect=localhost:2181
            122 zookeeper.connection.timeout.ms=6000
        """),
    ],
)  # fmt: skip
def test_files_shipped_with_kafka(name: str, read: str) -> None:
    """The line and the text of each setting."""
    settings = read_properties(SHIPPED_FILES / f"kafka-0.10.2/{name}.properties")
    expected = [line.strip() for line in read.strip().splitlines()]
    assert [f"{prop.line} {prop.key}={prop.value}" for prop in settings] == expected


@pytest.mark.parametrize("rest", [b"", b"c=\xe9\n"])
def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path, rest: bytes) -> None:
    path = tmp_path / "server.properties"
    path.write_bytes(b"\xef\xbb\xbfa=b\n" + rest)
    read = [(prop.key, prop.value, prop.line) for prop in read_properties(path)]
    assert read == [("a", "b", 1), ("c", "\u00e9", 2)][: 1 + bool(rest)]


def test_continued_lines_are_joined_in_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_bytes(b"a=" + b"12345678\\\n" * 200_000 + b"\nb=c\n")
    began = time.process_time()
    read = [(prop.key, len(prop.value), prop.line) for prop in read_properties(path)]
    assert read == [("a", 1_600_000, 1), ("b", 1, 200_002)]
    assert time.process_time() - began < 5  # it took 60 s where each line was joined to all before it
