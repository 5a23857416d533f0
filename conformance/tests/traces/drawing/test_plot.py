"""`trace plot`: the ISR over the steps of a trace, or over a clock."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from conformance.tests.support.trace import CLASSIC, WHOLE
from isrcheck.models import registry
from isrcheck.traces import cli
from isrcheck.traces.drawing.plot import curves_of, lines_of
from isrcheck.traces.format import files as folder
from isrcheck.traces.format.certify import behaviour, step_named

FLAPPING = (
    *("follower_fetches", "producer_writes 0", "tick_passes"),
    *("follower_fetches", "producer_writes 3", "tick_passes"),
    *("leader_checks_isr", "follower_fetches", "producer_writes 0", "tick_passes", "follower_fetches"),
)


@pytest.fixture(scope="module")
def flapping():
    instance = registry.load("isr_by_lag")[0].instance("", {"SHRINK_RULE": 0})
    steps = [step_named(instance, text) for text in FLAPPING]
    return behaviour(instance, 0, steps, None, "check isr_by_lag", None, None)


@pytest.fixture
def trace(tmp_path, monkeypatch, capsys, flapping):
    monkeypatch.chdir(tmp_path)
    path = folder.write(flapping, tmp_path)

    def run(*words):
        code = cli.main(["plot", str(path), *words])
        return code, *capsys.readouterr()

    return run


def test_the_fields_of_the_isr_are_the_default(trace):
    code, out, _ = trace()
    assert code == 0
    assert out.splitlines() == ["     step  0    5    10", "is_in_isr  #######....#"]


def test_a_clock_counts_an_action_and_numbers_are_written(trace):
    _, out, _ = trace("is_in_isr", "behind", "--clock", "tick_passes")
    assert out.splitlines() == ["tick_passes  0", "  is_in_isr  ##.#", "     behind  0300"]


def test_graphics_have_a_bar_for_each_time_in_the_isr(trace, tmp_path):
    code, out, _ = trace("is_in_isr", "behind", "--svg", "isr.svg")
    assert (code, out) == (0, "isr.svg\n")
    root = ET.parse(tmp_path / "isr.svg").getroot()
    names = {one.tag.rpartition("}")[2] for one in root.iter()}
    assert {"title", "desc", "polyline"} <= names
    bars = [one for one in root.iter() if one.get("class") == "cell e2"]
    assert len(bars) == 8
    code, _, err = trace("--svg", "isr.svg")
    assert code == 2
    assert "isr.svg: exists already and is not overwritten; choose a new name, or add --force" in err


def test_of_a_kafka_trace_the_isr_of_the_controller_and_of_each_broker():
    instance = registry.load("kafka")[0].instance("0.10", {})
    steps = [step_named(instance, text) for text in CLASSIC]
    found = curves_of(behaviour(instance, WHOLE, steps, None, "check kafka", None, None), ["controller_isr"])
    assert lines_of(found) == [
        "            step  0    5",
        "controller_isr 0  ######.",
        "controller_isr 1  #######",
        "controller_isr 2  #######",
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("is_in_irs",), "the model has no field is_in_irs; did you mean is_in_isr?"),
        (("--clock", "tick_pass"), "the model has no action tick_pass; did you mean tick_passes?"),
    ],
)
def test_bad_names_get_one_line(trace, words, says):
    code, out, err = trace(*words)
    assert (code, out) == (2, "")
    assert err == f"trace: {says}\n"
