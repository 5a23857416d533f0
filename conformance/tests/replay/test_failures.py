"""The shortest histories of the known failures, replayed on the executable cluster and the executable transactions."""

from __future__ import annotations

import pytest

from isrcheck.checker import cli
from isrcheck.conformance.cli import main
from isrcheck.conformance.implemented import MissingMechanismError, switches_of
from isrcheck.models.kafka.failures.catalogue import History, failures


def is_replayed(history: History) -> bool:
    """Whether the executable systems have every mechanism that a history needs."""
    if history.model != "kafka":
        return True
    try:
        switches_of(history.instance)
    except MissingMechanismError:
        return False
    return True


NAMES = [one.name for one in failures() if one.history is not None and is_replayed(one.history)]


@pytest.mark.parametrize("names", [["zombie_leader"], pytest.param(NAMES, marks=pytest.mark.exhaustive)], ids=len)
def test_the_histories_of_known_failures_replay(names, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["failures", *names, "--memory", "4G"]) == 0
    capsys.readouterr()
    assert main(["replay", "counterexamples"]) == 0
    lines = capsys.readouterr().out.splitlines()
    replayed = [line for line in lines if line.endswith("system and model agree after every step")]
    assert len(replayed) == len(names)


def test_most_failures_of_the_generations_that_the_cluster_has_are_among_them():
    assert len(NAMES) == 24
