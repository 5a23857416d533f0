"""Shared by the tests of following: the command, and a folder with a log of every kind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance.tests.support.engine import checking
from conformance.tests.support.follow import every_kind
from isrcheck.conformance.cli import main


@pytest.fixture
def conform(capsys, tmp_path, monkeypatch):
    """Run `conform` with words, or texts of words, in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    run = checking(main, capsys)
    return lambda *texts: run(*(word for text in texts for word in str(text).split()))


@pytest.fixture(scope="package")
def originals(tmp_path_factory):
    return every_kind(tmp_path_factory.mktemp("originals") / "logs")


@pytest.fixture
def every(originals, tmp_path, monkeypatch):
    """The folder `logs` with a log of every kind, where the test runs."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(originals, "logs"))
