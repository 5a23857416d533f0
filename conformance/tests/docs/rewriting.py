"""Brings the output in a document up to date: pytest --rewrite-golden conformance/tests/docs/test_commands.py"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

from conformance.tests.docs.console import normalised
from conformance.tests.docs.markdown import ELISION, Exchange


def brought_up_to_date(shown: Sequence[str], told: Sequence[str]) -> list[str]:
    """The lines of an output to show: for each line in the document, in order, the most similar one."""
    if not any(line.strip() == ELISION for line in shown):
        return list(told)
    result: list[str] = []
    left = list(told)
    for line in shown:
        if line.strip() == ELISION:
            result = _with_elision(result)
        elif left:
            likeness = [SequenceMatcher(None, line, one).ratio() for one in left]
            best = likeness.index(max(likeness))
            result = [*(_with_elision(result) if best else result), _kept(line, left[best])]
            left = left[best + 1 :]
    return _with_elision(result) if left else result


def _with_elision(lines: list[str]) -> list[str]:
    return lines if lines and lines[-1] == ELISION else [*lines, ELISION]


def _kept(shown: str, told: str) -> str:
    """The line in the document, if only times and the like differ."""
    return shown if normalised(shown) == normalised(told) else told


def write(path: Path, found: Sequence[tuple[Exchange, str]]) -> None:
    """Write the output of a document's commands into the document."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for exchange, told in reversed(found):
        start = exchange.output - 1
        lines[start : start + len(exchange.shown)] = brought_up_to_date(exchange.shown, told.splitlines())
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
