"""test_regressions.py: a pytest test for each violation.

In:  a `ReportContent` (content.py), and the folder of the report. Out: the text of the file.

A test fails while the model allows its counterexample, and passes when the repaired model excludes the counterexample.
For the matrix, a recorded failure must stay possible. Names from models appear in the file only as string literals.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from isrcheck.checker.reports.content import Outcome, PropertyResult, ReportContent, SearchReport, TraceFile
from isrcheck.checker.results.verdict import Word
from isrcheck.traces.format.files import is_built_in

HEAD = '''\
"""A test for each counterexample that isrcheck has found.

A test fails while the model allows its counterexample, and passes when the model excludes the counterexample. Repair
the model, see the test pass, and keep the test: it fails again if the counterexample becomes possible again.
"""

from pathlib import Path

import isrcheck
import pytest

FOLDER = Path(__file__).resolve().parent

IMPOSSIBLE, POSSIBLE = "impossible", "possible"

WANTED = IMPOSSIBLE
# For known failures that are intended: WANTED = POSSIBLE. A test then fails when its counterexample is impossible.

COMMAND = {command}
# The command that found the counterexamples.

COUNTEREXAMPLES = [
    # The trace file, your own model file (None for a built-in model; the test executes the file), the wanted outcome.
'''

TAIL = """\
]


@pytest.mark.parametrize(("trace", "model", "wanted"), COUNTEREXAMPLES, ids=[one[0] for one in COUNTEREXAMPLES])
def test_counterexample(trace, model, wanted):
    found = isrcheck.recheck(FOLDER / "traces" / trace, None if model is None else FOLDER / model)
    assert (POSSIBLE if found.is_possible else IMPOSSIBLE) == wanted, found.says
"""


def regressions(report: ReportContent, folder: Path) -> str:
    """Return the text of test_regressions.py; `folder` is the folder of the report."""
    lines = []
    for search, judged, trace_file in _violations(report):
        wanted = "POSSIBLE" if judged.is_recorded else "WANTED"
        lines.append(f"    ({trace_file.path.name!a}, {_model(search, folder)!a}, {wanted}),\n")
    return HEAD.format(command=ascii(report.command)) + "".join(dict.fromkeys(lines)) + TAIL


def _violations(report: ReportContent) -> Iterator[tuple[SearchReport, PropertyResult, TraceFile]]:
    """Yield every trace of a violation, and with --strict every trace of a permitted failure."""
    for search in report.searches:
        for judged in search.judged:
            for trace_file in judged.traces:
                is_strict = judged.outcome is Outcome.FAILED and judged.verdict.word is Word.PERMITTED
                if trace_file.trace.verdict == Word.VIOLATED.value or is_strict:
                    yield search, judged, trace_file


def _model(search: SearchReport, folder: Path) -> str | None:
    """Return the path of a user's own model file, relative to the report's folder; None for a built-in model."""
    assert search.model is not None
    if is_built_in(search.model):
        return None
    path = Path(search.model.path).resolve()
    try:
        return Path(os.path.relpath(path, folder.resolve())).as_posix()
    except ValueError:  # the file is on another drive
        return str(path)
