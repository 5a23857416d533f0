"""No document, docstring, comment or message has a phrase at which readers of English stumble; each has its cure."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.tests.docs.markdown import PAGES, prose
from conformance.tests.support.places import PROJECT

CURES = {
    "at last": "eventually, or finally",
    "besides": "also, or beside",
    "(?:is|are|was|were|be|been) told": "learns, receives, or is reported",
    "stands? below": "is shown below, or follows",
    "such an? one": "the noun: such a broker",
    "another one": "the noun: another broker",
    "(?:no|any) more": "no longer; of a number: at most, no further",
    "(?:is|are) (?-i:none)": "there is no ..., or has no ...",
    "who is asked": "the noun: the voter that receives the request",
    "so that it is unknown": "whose ... is unknown",
    "name another": "choose another, with its noun",
    "said beside": "shown next to",
    "the one that": "the noun: the broker that",
    "those that there are": "all, or the existing",
    "is asked of": "must, or has to",
    "what is asked": "the question",
}
"""The phrases, as regular expressions, and what to write instead."""

PHRASES = re.compile(rf"\b(?:{'|'.join(CURES)})\b".replace(" ", r"\s+"), re.IGNORECASE)

TESTS = PROJECT / "conformance" / "tests"
FOLDERS = [PROJECT / name for name in ("benchmarks", "checker", "conformance", "docs", "isrcheck", "models", "traces")]
PYTHON = [path for folder in FOLDERS for path in sorted(folder.rglob("*.py")) if path != Path(__file__)]
PAGES_AND_FAILURES = [
    path
    for pattern in ("failures/**/*.toml", "*.js", "*.css")
    for folder in FOLDERS
    for path in sorted(folder.glob(f"**/{pattern}"))
]


def texts(source: str, *, has_messages: bool) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a Python file, and its messages; each with its first line."""
    nodes = [*ast.walk(ast.parse(source))]
    docstrings = [node.value for node in nodes if isinstance(node, ast.Expr)]
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (has_messages or node in docstrings):
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def phrases(first: int, text: str) -> Iterator[tuple[int, str]]:
    """The phrases of a text, each with its line."""
    for match in PHRASES.finditer(text):
        yield first + text.count("\n", 0, match.start()), " ".join(match[0].split()).lower()


def cure(phrase: str) -> str:
    return next(cure for pattern, cure in CURES.items() if re.fullmatch(pattern, phrase))


def reported(path: Path, content: Iterator[tuple[int, str]]) -> list[str]:
    """A line for each phrase of a file."""
    places = sorted({place for first, text in content for place in phrases(first, text)})
    return [f"{path.relative_to(PROJECT)}:{line}: {phrase!r}; better: {cure(phrase)}" for line, phrase in places]


@pytest.mark.parametrize("folder", sorted({path.relative_to(PROJECT).parts[0] for path in PAGES}))
def test_documents(folder):
    pages = [path for path in PAGES if path.relative_to(PROJECT).parts[0] == folder]
    lines = [line for path in pages for line in reported(path, iter([(1, prose(path))]))]
    assert lines == [], "\n".join(lines)


@pytest.mark.sampled
def test_docstrings_comments_and_messages():
    """The messages of the product, that is: tests may quote whatever they like."""
    lines = []
    for path in PYTHON:
        source = path.read_text(encoding="utf-8")
        if PHRASES.search(source):  # reading the syntax of all files takes long
            lines += reported(path, texts(source, has_messages=not path.is_relative_to(TESTS)))
    assert lines == [], "\n".join(lines)


def test_the_library_of_failures_and_the_pages():
    """All text of these files is for readers: stories and advice, comments of scripts and styles."""
    lines = [
        line for path in PAGES_AND_FAILURES for line in reported(path, iter([(1, path.read_text(encoding="utf-8"))]))
    ]
    assert lines == [], "\n".join(lines)


@pytest.mark.parametrize(
    ("source", "places"),
    [
        ('"""It ends at last."""', [(1, "at last")]),
        ('def f():\n    """Who is\n    asked answers."""', [(2, "who is asked")]),
        ('x: int\n"""Such a\none."""', [(2, "such a one")]),
        ("x = 1\ny = 2  # Besides, this is none.", [(2, "besides"), (2, "is none")]),
        ('print(f"no more {x if x is None else y} brokers are told")', [(1, "no more"), (1, "are told")]),
        ('"""At lasting peace, nonetheless: x is None."""', []),
    ],
)
def test_each_kind_of_text_is_read(source, places):
    assert [place for first, text in texts(source, has_messages=True) for place in phrases(first, text)] == places


def test_a_message_of_a_test_is_not_read():
    assert [*texts('f("at last")', has_messages=False)] == []


def test_a_block_of_a_document_is_not_read(tmp_path):
    (tmp_path / "a.md").write_text(
        "# Besides\n\n```text\nat last\n```\n\nThe figure stands\nbelow.\n", encoding="utf-8"
    )
    assert [*phrases(1, prose(tmp_path / "a.md"))] == [(1, "besides"), (7, "stands below")]
    assert cure("stands below") == CURES["stands? below"]
