"""What the tests of questions share: a function that searches a question."""

from __future__ import annotations

import pytest

from isrcheck.checker.answers.searching import searcher_of
from isrcheck.checker.resources.limits import Limits


@pytest.fixture(scope="session")
def searcher():
    """Searches without a limit."""
    return searcher_of(Limits())


@pytest.fixture
def ask(searcher):
    """Search a question about a case; keywords are limits."""

    def answer(case, question, **limits):
        return searcher.answer(case, question, Limits(**limits))

    return answer
