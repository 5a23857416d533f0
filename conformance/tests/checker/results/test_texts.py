"""What reports say: tables, counts, sizes, progress; titles, faults and commands of an instance; plain data."""

from __future__ import annotations

import json

import numpy as np
import pytest

from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results import terminal
from isrcheck.checker.results.exploration import (
    Exploration,
    Finding,
    Findings,
    Progress,
    StepPath,
    exploration_of,
    plain_data_of,
)
from isrcheck.checker.results.instance_facts import command_of, command_to_show, configuration_line, faults_line, title
from isrcheck.checker.results.terminal import ProgressLine, counted, human_bytes, side_by_side, table, tables, wrapped
from isrcheck.checker.results.verdict import verdicts
from isrcheck.models import registry
from isrcheck.models.language.model import DEADLOCK

ROWS = [["", "first", "second"], ["a row", "1", "n/a"], ["other", "n/a", "22"]]


@pytest.mark.parametrize(
    ("noun", "text"), [("level", "6,185 levels"), ("search", "6,185 searches"), ("box", "6,185 boxes")]
)
def test_a_noun_that_ends_in_a_hiss_has_its_own_plural(noun, text):
    assert counted(6185, noun) == text
    assert counted(1, noun) == f"1 {noun}"


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1,023 bytes"), (1536, "1.5 KiB"), (1 << 20, "1.0 MiB"), (5000 << 30, "5,000.0 GiB")],
)
def test_sizes_have_a_unit(count, text):
    assert human_bytes(count) == text


def test_columns_are_aligned_without_trailing_spaces():
    assert table([["a", "bb"], ["cccc", "d"]], indent=" ") == [" a     bb", " cccc  d"]
    assert table([["a", "1"], ["b", "22"]], right=frozenset({1})) == ["a   1", "b  22"]
    assert table([]) == []


@pytest.mark.parametrize(
    ("widest", "lines"),
    [
        (20, ["       first  second", "a row  1      n/a", "other  n/a    22"]),
        (19, ["       first", "a row  1", "", "       second", "other  22"]),
    ],
)
def test_a_table_that_is_too_wide_is_split_and_rows_without_cells_are_left_out(widest, lines):
    # The row of the headings is never without cells.
    assert tables(ROWS, widest, "n/a") == lines


def test_columns_stand_side_by_side_as_far_as_there_is_room():
    columns = [["aa"], ["bbb"], ["c"], ["dddddddd"]]
    assert side_by_side(columns, 7) == [[["aa"], ["bbb"]], [["c"]], [["dddddddd"]]]
    assert side_by_side(columns, 100) == [columns]


def test_words_are_never_broken():
    assert wrapped("one two-three four", 9, "- ") == ["- one", "    two-three", "    four"]


PROGRESS = Progress(2.0, 3, 1000, 4000, 200, 1 << 20, 1500, 1 << 30, 7)
SAID = (
    "kafka: 2 s, depth 3, 1,000 distinct, 4,000 generated (2,000/s), 200 to expand, 1.0 MiB, next level about 1,500,"
    " 7 candidates, 1.0 GiB on disk\n"
)


def test_progress_is_told_only_so_often(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "SECONDS_BETWEEN_LINES", 0)
    ProgressLine("kafka").report(PROGRESS)
    assert capsys.readouterr().err == SAID
    monkeypatch.setattr(terminal, "SECONDS_BETWEEN_LINES", 3)
    ProgressLine("kafka").report(PROGRESS)
    assert capsys.readouterr().err == ""


def test_progress_on_a_terminal_is_one_line_no_wider_than_it(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    line = ProgressLine("kafka\x1b[2J")
    line.report(PROGRESS)
    line.clear()
    shown, cleared = capsys.readouterr().err.split("\r\x1b[K")[1:]
    assert (len(shown), shown[:5], cleared) == (29, "kafka", "")
    assert "\x1b" not in shown


# ------------------------------------------------------------------------------------------------------- an instance


@pytest.fixture(scope="module")
def kafka():
    return registry.load("kafka")[0]


def test_the_title_names_the_protocol_and_what_is_swapped(kafka):
    swapped = kafka.instance("2.1", swaps={"producer_appends": "0.10"})
    assert title(kafka.instance("2.1")) == "kafka, protocol 2.1"
    assert title(swapped) == "kafka, protocol 2.1, producer_appends of 0.10"
    assert title(swapped, with_protocol=False) == "kafka, producer_appends of 0.10"


def test_faults_are_those_of_all_instances(kafka):
    few, more = (kafka.instance("0.10", {"crashes": count, "bounces": 0, "elections": 0}) for count in (1, 2))
    assert faults_line(few).startswith("crashes 1; not considered: ")
    assert faults_line(few, more).startswith("crashes 1 or 2; not considered: elections, bounces, ")
    assert faults_line(registry.load("examples/two_phase_commit")[0].instance()) == "the model declares none"


def test_a_configuration_is_one_line():
    assert configuration_line(registry.load("examples/two_phase_commit")[0].instance()) == "resource_managers=3"


def test_commands_have_only_what_differs_from_the_defaults(kafka):
    instance = kafka.instance("2.1", {"acks": 1, "replicas": 2})
    assert command_of("kafka", kafka.instance("0.10"), None) == "check kafka --protocol 0.10"
    words = "check kafka --protocol 2.1 --bound 6 --no-deadlock --replicas 2 --acks 1"
    assert command_of("kafka", instance, 6, deadlock=False) == words


def test_a_failure_is_shown_again_to_its_depth_and_a_deadlock_one_step_further(kafka):
    instance = kafka.instance("0.10")
    prop = next(one for one in instance.properties if one.name == "acked_not_lost")
    assert command_to_show("kafka", instance, prop, 6) == "check kafka --protocol 0.10 --bound 6"
    assert command_to_show("kafka", instance, DEADLOCK, 6) == "check kafka --protocol 0.10 --bound 7"


# -------------------------------------------------------------------------------------------------------- plain data


def test_an_exploration_survives_as_plain_data(kafka):
    instance, limits = kafka.instance("0.10"), Limits(6)
    exploration = explore(instance, limits)
    again = exploration_of(json.loads(json.dumps(plain_data_of(exploration))), instance, limits)
    assert plain_data_of(again) == plain_data_of(exploration)
    assert [verdict.text for verdict in verdicts(again)] == [verdict.text for verdict in verdicts(exploration)]
    assert again.distinct == exploration.distinct > 0


def test_counts_of_numpy_and_loops_are_plain_as_well(kafka):
    path = StepPath(np.int64(0), (np.int64(4), np.int64(5)), np.int64(1))
    findings = {"prop": Findings(Finding(np.int64(2), path), unjudged="why")}
    instance = kafka.instance("0.10")
    exploration = Exploration(instance, Limits(), [np.int64(3)], generated=np.int64(7), findings=findings)
    data = json.loads(json.dumps(plain_data_of(exploration)))
    again = exploration_of(data, instance, Limits())
    assert (again.levels, again.generated) == ([3], 7)
    assert again.findings["prop"] == Findings(Finding(2, StepPath(0, (4, 5), 1)), unjudged="why")
