"""The command that copies the examples: the target folders, and the commands in the examples' README."""

from __future__ import annotations

import shlex

import pytest

from conformance.tests.sampling import sampled
from isrcheck import UsageError
from isrcheck.checker import cli as checker
from isrcheck.conformance import cli as conformance
from isrcheck.examples import README, copy_to

FILES = [
    "README.md",
    "durable_topic.properties",
    "isr_changes.py",
    "isr_propagation.py",
    "kafka_defaults.properties",
    "low_latency_topic.properties",
    "two_phase_commit.py",
    "ask_the_tables.py",
    "own_broker.py",
    "recordings/kafka-0.10.2-kip101_loss.ndjson",
    "recordings/kafka-3.9-missed_demotion.ndjson",
    "recordings/kafka-3.9-missed_demotion_control.ndjson",
    "recordings/kafka-3.9-missed_demotion_frozen.ndjson",
]

CODES = {"check two_phase_commit.py": 0, "check doctor durable_topic.properties": 3}
"""Exit codes of commands that do not end with 0; a cluster gets a second here."""


def test_examples_are_copied_without_overwriting(tmp_path):
    copied = copy_to(tmp_path / "deep" / "examples")
    assert [path.relative_to(tmp_path / "deep" / "examples").as_posix() for path in copied] == FILES
    assert copy_to(tmp_path / "deep" / "examples") == copied
    copied[-1].write_text("mine")
    copied[0].unlink()
    with pytest.raises(UsageError, match=r"frozen\.ndjson: a different file has this name and is not overwritten"):
        copy_to(tmp_path / "deep" / "examples")
    assert copied[-1].read_text() == "mine"
    assert not copied[0].exists()


def test_a_folder_that_cannot_be_created_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"file: the examples cannot be written: .+; name a different folder"):
        copy_to(tmp_path / "file")


def commands():
    return [line.strip() for line in README.splitlines() if line.startswith("    ")]


RUN = [one for one in commands() if not one.startswith(("python", "check sweep"))]


@pytest.mark.whole
@pytest.mark.parametrize("command", sampled(RUN, lambda command: "missed_demotion" not in command))
def test_the_commands_of_the_readme_work(command, tmp_path, monkeypatch, capsys):
    copy_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    name, *words = shlex.split(command)
    words += ["--seconds", "1", "--fresh"] if "doctor" in words else []
    assert {"check": checker, "conform": conformance}[name].main(words) == CODES.get(command, 0)
    assert capsys.readouterr().out
