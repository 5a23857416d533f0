"""The machine that searches the rows of a record: what is left out after a limit or Ctrl-C, and the exit code."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from isrcheck.checker.running.comparing import Figures, search_rows
from isrcheck.checker.running.session import CutShortError


@dataclass(frozen=True)
class Found:
    """An answer with all that an answer can be."""

    has_difference: bool = False
    is_undecided: bool = False
    is_interrupted: bool = False


def searched(rows, **more):
    """Search rows that are answers, or the errors of their searches; return the comparison and the searched rows."""
    begun = []

    def search(row):
        begun.append(row)
        if isinstance(row, BaseException):
            raise row
        return row

    return search_rows(rows, search, **more), begun


SAME, OTHER, OPEN, PRESSED = Found(), Found(has_difference=True), Found(is_undecided=True), Found(False, True, True)
CUT, CTRL_C = CutShortError("the time limit is reached"), KeyboardInterrupt()


@pytest.mark.parametrize(
    ("rows", "code", "verdict"),
    [
        ([], 0, "as recorded"),
        ([SAME, SAME], 0, "as recorded"),
        ([SAME, OTHER], 10, "differs"),
        ([SAME, OPEN], 3, "UNDECIDED"),
        ([SAME, CUT], 3, "UNDECIDED"),
        ([SAME, CTRL_C], 3, "UNDECIDED"),
        ([PRESSED, SAME], 3, "UNDECIDED"),
        ([OTHER, CUT, SAME], 10, "differs"),
    ],
)
def test_the_exit_code_of_a_comparison(rows, code, verdict):
    comparison, _ = searched(rows)
    assert (comparison.code(), comparison.verdict()) == (code, verdict)
    assert len(comparison.answers) + len(comparison.unanswered) == len(rows)


def test_after_a_limit_the_other_rows_are_searched_unless_nothing_more_can_be():
    rows = [SAME, CUT, OTHER]
    comparison, begun = searched(rows)
    assert (begun, comparison.unanswered, comparison.why) == (rows, [CUT], "the time limit is reached")
    comparison, begun = searched(rows, ends_when_cut=True)
    assert (begun, comparison.unanswered, comparison.differing()) == (rows[:2], [CUT, OTHER], [])
    assert not comparison.is_interrupted


@pytest.mark.parametrize(("pressed", "answered"), [(CTRL_C, 1), (PRESSED, 2)], ids=["between", "within"])
def test_after_ctrl_c_nothing_more_is_searched(pressed, answered):
    rows = [SAME, pressed, OTHER, CUT]
    comparison, begun = searched(rows)
    assert begun == rows[:2]
    assert len(comparison.answers) == answered
    assert comparison.unanswered == rows[answered:]
    assert comparison.is_interrupted


def test_figures_differ_from_the_record_or_do_not():
    assert not Figures({"states": "7"}, {"states": "7"}).has_difference
    assert Figures({"states": "7"}, {"states": "8"}).has_difference
    assert Figures({"states": "7", "in_range": "VIOLATED"}, {"states": "7"}).has_difference
