"""test_regressions.py: a test for pytest out of every violation.

In:  a `Told` (told.py), and the folder of the report. Out: the text of the file.

A test is red as long as the model allows its history, and green from the day on which it does not: red now, to be kept
once the model is repaired. Of the matrix, what fails as recorded has to stay possible. Names out of models stand in the
file as literals only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from isrcheck.checker.outcome.verdict import Word
from isrcheck.checker.reports.content import History, Judged, Outcome, Search, Told
from isrcheck.traces.format.itf import is_built_in

HEAD = '''\
"""Histories that break what a model promises, found by isrcheck: a test for each.

A test is red as long as the model allows its history, and green once it does not. Repair the model, see the test turn
green, and keep it: the history stays impossible.
"""

from pathlib import Path

import pytest

from isrcheck.traces.format.recheck import recheck

FOLDER = Path(__file__).resolve().parent

IMPOSSIBLE, POSSIBLE = "impossible", "possible"

WANTED = IMPOSSIBLE
# or: WANTED = POSSIBLE, for failures that are known and wanted. A test is then red once its history is impossible.

COMMAND = {command}
# What was asked, when these were found.

HISTORIES = [
    # a trace file, the model if it is one of your own (it is loaded, and so run), and what the history should be
'''

TAIL = """\
]


@pytest.mark.parametrize(("trace", "model", "wanted"), HISTORIES, ids=[history[0] for history in HISTORIES])
def test_history(trace, model, wanted):
    found = recheck(FOLDER / "traces" / trace, None if model is None else FOLDER / model)
    assert (POSSIBLE if found.is_possible else IMPOSSIBLE) == wanted, found.says
"""


def regressions(told: Told, folder: Path) -> str:
    """The file."""
    lines = []
    for search, judged, history in _violations(told):
        wanted = "POSSIBLE" if judged.is_recorded else "WANTED"
        lines.append(f"    ({history.path.name!a}, {_model(search, folder)!a}, {wanted}),\n")
    return HEAD.format(command=ascii(told.words)) + "".join(dict.fromkeys(lines)) + TAIL


def _violations(told: Told) -> Iterator[tuple[Search, Judged, History]]:
    """Every history that breaks a promise; with --strict those that are permitted, too."""
    for search in told.searches:
        for judged in search.judged:
            for history in judged.histories:
                is_strict = judged.outcome is Outcome.FAILED and judged.verdict.word is Word.PERMITTED
                if history.trace.verdict == Word.VIOLATED.value or is_strict:
                    yield search, judged, history


def _model(search: Search, folder: Path) -> str | None:
    """The file of a model of one's own, from the folder of the report."""
    assert search.model is not None
    if is_built_in(search.model):
        return None
    path = Path(search.model.path).resolve()
    try:
        return Path(os.path.relpath(path, folder.resolve())).as_posix()
    except ValueError:  # another drive
        return str(path)
