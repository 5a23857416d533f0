"""Fixtures that the tests of `check` share."""

from __future__ import annotations

import pytest

from conformance.tests.support.engine import checking
from isrcheck.checker import cli


@pytest.fixture
def fake(monkeypatch):
    """Answer questions about a cluster without a search; return what answers them."""
    from conformance.tests.checker.answers.fake import Fake

    answerer = Fake()
    monkeypatch.setattr("isrcheck.checker.answers.doctor.answerer_of", lambda options, opening, left: answerer)
    return answerer


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run `check` in an empty folder; return the exit code, stdout, and stderr without notes on compilation."""
    monkeypatch.chdir(tmp_path)
    return checking(cli.main, capsys)
