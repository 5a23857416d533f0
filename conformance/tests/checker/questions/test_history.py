"""A history is replayed in plain Python, and refused if it is not one of this version."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isrcheck.checker.questions.finding import History
from isrcheck.checker.questions.history import trace_of
from isrcheck.models.messages import UsageError

LOST = History(
    model="kafka",
    protocol="2.1",
    configuration="acks=1 crashes=0 bounces=0 min_insync_replicas=1",
    property_name="acked_not_lost",
    verdict="PERMITTED",
    start=1,
    steps=("producer_appends at 0", "controller_fails_over to 1"),
)


def test_every_step_is_taken_again():
    trace = trace_of(LOST)
    assert [trace.instance.spell_step(step) for step in trace.steps] == list(LOST.steps)
    assert trace.command.startswith("check kafka --protocol 2.1 ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": ("producer_sends at 0",)}, "kafka has no step `producer_sends at 0` in this configuration"),
        ({"steps": LOST.steps[:1]}, "acked_not_lost is not broken at step 1"),
        ({"steps": LOST.steps[1:]}, "acked_not_lost is not broken"),
        ({"configuration": "acks=1 spells=1"}, "kafka has no configuration entry spells; the history is of another"),
        ({"configuration": "acks=all min_insync_replicas=1"}, "acked_not_lost is not broken"),
        ({"start": 99}, "there is no initial state 99"),
    ],
)
def test_a_history_of_another_version_is_refused(change, message):
    with pytest.raises(UsageError, match=message):
        trace_of(replace(LOST, **change))
