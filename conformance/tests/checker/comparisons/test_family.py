"""`check family`: the tables of the small models are as recorded, and a difference is seen."""

from __future__ import annotations

import csv
import json

import pytest

from conformance.tests.support.engine import assert_refused, interrupt_search_after
from isrcheck.checker.comparisons import family as cases
from isrcheck.commands.exit_codes import UNEXPECTED
from isrcheck.models import registry


@pytest.mark.whole
@pytest.mark.parametrize("name", cases.FILES)
def test_every_table_is_as_recorded(check, name):
    code, out, _ = check("family", name)
    count = len(cases.chosen([name])[0].cases)
    assert (code, out.splitlines()[-1]) == (0, f"{count} cases: all as recorded")
    assert out.startswith(f"{name}: ")


@pytest.mark.parametrize("name", cases.FILES)
def test_every_property_of_the_model_has_a_column(name):
    (table,) = cases.chosen([name])
    model, _ = registry.load(name)
    shown = {column.rpartition(cases.FOR)[2] for column in table.columns}
    assert shown == {one.name for one in model.properties}


@pytest.mark.parametrize(
    ("before", "closing"),
    [("VIOLATED at step 7", "3 differ from the record"), ("REACHED at step 8", "1 differs from the record")],
)
def test_a_verdict_that_differs_is_told(check, monkeypatch, before, closing):
    read = csv.DictReader

    def altered(lines):
        return read(line.replace(before, "HOLDS") for line in lines)

    monkeypatch.setattr(cases.csv, "DictReader", altered)
    code, out, _ = check("family", "isr_by_lag")
    assert code == UNEXPECTED
    assert f"{before} (recorded: " in out
    assert out.splitlines()[-1] == f"7 cases: {closing}"


def test_a_search_that_is_cut_short_is_no_pass(check):
    code, out, _ = check("family", "isr_propagation", "--seconds", "1e-9")
    assert code == 3
    assert out.splitlines()[-1].startswith("UNDECIDED: the time limit is reached; 4 cases cut short; ")
    assert "(recorded:" not in out


@pytest.mark.parametrize("raises", [False, True])
def test_ctrl_c_keeps_the_cases_until_then(check, monkeypatch, raises):
    """Whether the key is pressed within a search, which then ends early, or before one. Nothing more is searched."""
    searches = interrupt_search_after(monkeypatch, 16, raises=raises)
    code, out, err = check("family", "placement")
    assert (code, len(searches)) == (130, 17)
    assert out.splitlines()[-1] == ("UNDECIDED: the user interrupted it; 15 cases cut short; 2 cases: all as recorded")
    assert err == "check: interrupted; this is what was found so far\n"


def test_the_object_of_json(check):
    code, out, _ = check("family", "isr_by_lag", "--json")
    content = json.loads(out)
    assert (code, content["verdict"]) == (0, "as recorded")
    first = content["cases"][0]
    assert (first["model"], first["found"]) == ("isr_by_lag", first["recorded"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("isr_by_lag --set least_writes=6", "least_writes: the producer writes at most `burst` records"),
        ("isr_by_lag --burst 0", "burst=0 is impossible"),
        ("isr_propagation --brokers 0", "brokers=0 is impossible"),
        ("placement --brokers 2", "replication_factor: a partition has at most one replica on a broker"),
        ("placement --brokers 4 --racks 5 --replication-factor 2", "racks: each rack needs a broker"),
        ("placement --replication-factor 1", "min_insync_replicas: no partition has so many replicas"),
        ("cap --replicas 9", "replicas=9 is impossible"),
        ("cap --min-insync-replicas 4", "min_insync_replicas is above the number of replicas; give a smaller number"),
        ("family isr_lag", "check family has no model isr_lag; did you mean isr_by_lag?"),
        (
            "family isr_by_lag --burst 3",
            "--burst does not go with family, whose cases are recorded; search the model itself, as in: check"
            " isr_by_lag --burst 3",
        ),
        ("family --engine z3", "--engine z3 does not go with family, whose cases are searched explicitly;"),
    ],
)
def test_impossible_settings_and_bad_arguments_get_one_line(check, words, says):
    assert_refused(check(*words.split()), says)
