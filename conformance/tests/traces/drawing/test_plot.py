"""`trace plot`: the ISR over the steps of a trace, or over a clock."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from conformance.tests.traces.stories import history
from conformance.tests.traces.test_cli import complaint, shown
from isrcheck.models import registry
from isrcheck.traces.drawing.plot import curves_of, lines_of
from isrcheck.traces.format import files as folder
from isrcheck.traces.format.certify import behaviour, step_named

FLAPPING = (
    "follower_fetches; producer_writes 0; tick_passes; follower_fetches; producer_writes 3; tick_passes;"
    " leader_checks_isr; follower_fetches; producer_writes 0; tick_passes; follower_fetches"
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The folder of the command, with a trace in which the ISR shrinks and grows."""
    monkeypatch.chdir(tmp_path)
    instance = registry.load("isr_by_lag")[0].instance("", {"SHRINK_RULE": 0})
    steps = [step_named(instance, text) for text in FLAPPING.split("; ")]
    folder.write(behaviour(instance, 0, steps, None, "check isr_by_lag"), tmp_path)


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ((), ["     step  0    5    10", "is_in_isr  #######....#"]),
        (
            ("is_in_isr", "behind", "--clock", "tick_passes"),
            ["tick_passes  0", "  is_in_isr  ##.#", "     behind  0300"],
        ),
    ],
    ids=["the fields of the ISR are the default", "a clock counts an action, and numbers are written"],
)
def test_a_plot_as_text(capsys, words, lines):
    assert shown(capsys, "plot", "latest", *words).splitlines() == lines


def test_graphics_have_a_bar_for_each_time_in_the_isr(capsys):
    words = "plot", "latest", "is_in_isr", "behind", "--svg", "isr.svg"
    assert shown(capsys, *words) == "isr.svg\n"
    root = ET.parse("isr.svg").getroot()
    names = {one.tag.rpartition("}")[2] for one in root.iter()}
    assert {"title", "desc", "polyline"} <= names
    bars = [one for one in root.iter() if one.get("class") == "cell e2"]
    assert len(bars) == 8
    assert (
        complaint(capsys, *words) == "isr.svg: exists already and is not overwritten; choose a new name, or add --force"
    )


def test_of_a_kafka_trace_the_isr_of_the_controller_and_of_each_broker():
    assert lines_of(curves_of(history("CLASSIC", "WHOLE"), ["controller_isr"])) == [
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
def test_bad_names_get_one_line(capsys, words, says):
    assert complaint(capsys, "plot", "latest", *words) == says
