"""The commands in the documents print what the documents show.

A block ```console is run, in order with the others of its document and in the same folder. The words after it say more:
`exhaustive`: the commands take longer, and are run with the exhaustive tests; `example`: they need what a test has not
(a running Kafka, a terminal, hours), and are not run. A block with `file=NAME` is a file that the reader writes first.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.tests.docs.console import Console, agrees
from conformance.tests.docs.markdown import PAGES, Block, blocks, exchanges
from conformance.tests.support.places import PROJECT

KINDS = {"exhaustive", "example"}


def name_of(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


def consoles(path: Path) -> list[Block]:
    return [block for block in blocks(path) if block.info[:1] == ("console",)]


def has(path: Path, kind: str) -> bool:
    return any(kind in block.info for block in consoles(path))


def run(path: Path, console: Console, *, exhaustive: bool) -> int:
    """Run the commands of a document; gives how many of them were compared."""
    compared = 0
    for block in blocks(path):
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        if block.info[:1] != ("console",) or "example" in block.info:
            continue
        if "exhaustive" in block.info and not exhaustive:
            continue
        for exchange in exchanges(block):
            shown = "".join(f"{line}\n" for line in exchange.shown)
            told = console.run(exchange.command)
            where = f"{path.name}:{exchange.line}: $ {exchange.command}"
            assert agrees(shown, told), f"{where}\n--- the document\n{shown}--- the command\n{told}"
            compared += 1
    return compared


@pytest.fixture
def console(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return Console(tmp_path, capsys)


@pytest.mark.parametrize("path", [one for one in PAGES if consoles(one)], ids=name_of)
def test_commands_print_what_the_document_shows(path, console):
    expected = [block for block in consoles(path) if not KINDS & set(block.info)]
    assert run(path, console, exhaustive=False) == sum(len(exchanges(block)) for block in expected)


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", [one for one in PAGES if has(one, "exhaustive")], ids=name_of)
def test_long_commands_print_what_the_document_shows(path, console):
    expected = [block for block in consoles(path) if "example" not in block.info]
    assert run(path, console, exhaustive=True) == sum(len(exchanges(block)) for block in expected)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_a_console_block_is_of_a_known_kind(path):
    for block in blocks(path):
        assert block.info, f"{path.name}:{block.line}: the fence does not say what the block is"
        if block.info[0] == "console":
            assert set(block.info[1:]) <= KINDS
        if set(block.lines) and block.info[0] != "console":
            commands = [line for line in block.lines if line.startswith("$ ")]
            assert commands == [], f"{path.name}:{block.line}: commands stand in a block `console`"


# ----------------------------------------------------------------------------------------------- the test of the test


@pytest.mark.parametrize(
    ("shown", "told", "same"),
    [
        ("a\n", "a\n", True),
        ("a\n", "b\n", False),
        ("a\n", "a\nb\n", False),
        ("a\n...\n", "a\nb\nc\n", True),
        ("...\nc\n", "a\nb\nc\n", True),
        ("a\n...\nc\n", "a\nc\n", True),
        ("a\n...\nd\n", "a\nb\nc\n", False),
        ("took 1.5 s, 3.0 MiB\n", "took 12 s, 512 MiB\n", True),
        ("10 states\n", "11 states\n", False),
        ("", "a\n", False),
    ],
)
def test_output_is_compared_line_by_line(shown, told, same):
    assert agrees(shown, told) == same


def test_a_wrong_document_is_noticed(tmp_path, console):
    path = tmp_path / "wrong.md"
    path.write_text("```text file=lines.txt\none\n```\n\n```console\n$ cat lines.txt\none\n$ echo $?\n1\n```\n")
    with pytest.raises(AssertionError, match=r"wrong\.md:8: \$ echo \$\?"):
        run(path, console, exhaustive=False)
