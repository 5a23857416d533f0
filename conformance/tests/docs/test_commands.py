"""The commands in the documents print the output that the documents show.

The ```console blocks of a document run in order, in one folder, those of each kind by themselves. The kind is a word
after ```console: `exhaustive` blocks do not run in `make test`, `recorded` blocks run with `make verify` only, and
`example` blocks, which need what tests lack (a running Kafka, a terminal, hours), do not run. A block with `file=NAME`
is a file that the reader writes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.tests.docs.console import Console, agrees
from conformance.tests.docs.markdown import PAGES, Block, Exchange, blocks, exchanges
from conformance.tests.docs.rewriting import brought_up_to_date, write
from conformance.tests.support.places import PROJECT
from isrcheck.checker.comparisons import matrix as matrix_proofs

KINDS = {"exhaustive", "recorded", "example"}
MARKS = {"": [], "exhaustive": [pytest.mark.exhaustive], "recorded": [pytest.mark.recorded]}


def name_of(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


def consoles(path: Path) -> list[Block]:
    return [block for block in blocks(path) if block.info[:1] == ("console",)]


def kind_of(block: Block) -> str:
    """The kind of a console block: one of `KINDS`, or an empty text."""
    return "".join(KINDS & set(block.info))


def of_kind(path: Path, kind: str) -> list[Block]:
    return [block for block in consoles(path) if kind_of(block) == kind]


def run(path: Path, console: Console, kind: str) -> Iterator[tuple[Exchange, str]]:
    """Write the files of a document, and run its commands of one kind; return each command with its output."""
    for block in blocks(path):
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        if block.info[:1] == ("console",) and kind_of(block) == kind:
            for exchange in exchanges(block):
                yield exchange, console.run(exchange.command)


def compare(path: Path, console: Console, kind: str = "", *, rewrite: bool = False) -> int:
    """Compare the outputs of a document's commands with the document; return the number of commands."""
    found = []
    for exchange, told in run(path, console, kind):
        shown = "".join(f"{line}\n" for line in exchange.shown)
        if not agrees(shown, told) and not rewrite:
            where = f"{path.name}:{exchange.line}: $ {exchange.command}"
            pytest.fail(f"{where}\n--- the document\n{shown}--- the command\n{told}--- pytest --rewrite-golden", False)
        found.append((exchange, told))
    if rewrite:
        write(
            path, [(exchange, told) for exchange, told in found if not agrees("\n".join([*exchange.shown, ""]), told)]
        )
    return len(found)


@pytest.fixture
def rewrite(request):
    return request.config.getoption("--rewrite-golden")


@pytest.fixture
def console(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr(matrix_proofs, "PROOF_SECONDS", 2.0)  # the documents show none of these proofs
    return Console(tmp_path, capsys)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        pytest.param(path, kind, marks=MARKS[kind], id=f"{name_of(path)} {kind}".strip())
        for kind in MARKS
        for path in PAGES
        if of_kind(path, kind)
    ],
)
def test_commands_print_the_output_in_the_document(path, kind, console, rewrite):
    count = sum(len(exchanges(block)) for block in of_kind(path, kind))
    assert compare(path, console, kind, rewrite=rewrite) == count


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_a_console_block_is_of_a_known_kind(path):
    for block in blocks(path):
        if block.info[:1] == ("console",):
            assert set(block.info[1:]) <= KINDS
        else:
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


def test_wrong_output_in_a_document_is_detected(tmp_path, console):
    path = tmp_path / "wrong.md"
    path.write_text("```text file=lines.txt\none\n```\n\n```console\n$ cat lines.txt\none\n$ echo $?\n1\n```\n")
    with pytest.raises(pytest.fail.Exception, match=r"wrong\.md:8: \$ echo \$\?"):
        compare(path, console)
    compare(path, console, rewrite=True)
    assert path.read_text().endswith("$ cat lines.txt\none\n$ echo $?\n0\n```\n")
    assert compare(path, console) == 2


@pytest.mark.parametrize(
    ("shown", "told", "result"),
    [
        ("a", "b c", "b c"),
        ("one ... three", "one two three", "one ... three"),
        ("... threw", "one two three", "... three"),
        ("... one three", "one two three", "... one ... three"),
        ("one ...", "one", "one ..."),
        ("... one", "one two", "... one ..."),
    ],
)
def test_a_line_is_replaced_by_the_most_similar_one(shown, told, result):
    assert brought_up_to_date(shown.split(), told.split()) == result.split()
    assert agrees("".join(f"{one}\n" for one in result.split()), "".join(f"{one}\n" for one in told.split()))
