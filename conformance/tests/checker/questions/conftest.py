"""What the tests of questions share: a function that searches a question."""

from __future__ import annotations

import pytest

from isrcheck.checker.questions.searching import InThisProcess, Searcher
from isrcheck.checker.resources.limits import UNLIMITED, Limits
from isrcheck.checker.running.session import SearchSession


@pytest.fixture(scope="session")
def searcher():
    """Searches without a limit."""
    return Searcher(InThisProcess(SearchSession(Limits(), UNLIMITED, [])))


@pytest.fixture
def ask(searcher):
    """Search a question about a case; keywords are limits."""

    def answer(case, question, **limits):
        return searcher.answer(case, question, Limits(**limits))

    return answer
