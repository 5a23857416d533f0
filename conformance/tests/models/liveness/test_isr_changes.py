"""ISR changes that are pending for ever (KAFKA-12751), and followers that rejoin the ISR."""

from __future__ import annotations

import pytest

from conformance.tests.support.places import PROJECT
from conformance.tests.support.searches import certified
from isrcheck.models import registry

EXAMPLE = PROJECT / "models/examples/isr_changes.py"


@pytest.mark.parametrize(
    ("ignored", "states", "texts"),
    [
        (0, 492, ["HOLDS", "HOLDS", "REACHED at step 3"]),
        (1, 570, ["VIOLATED at step 5 (stays there)", "VIOLATED at step 7 (stays there)", "REACHED at step 3"]),
    ],
)
def test_a_change_of_the_isr_is_not_pending_for_ever(ignored: int, states: int, texts: list[str]) -> None:
    distinct, judged = certified(registry.load_file(EXAMPLE).instance(None, {"EQUAL_EPOCH_IS_IGNORED": ignored}))
    assert (distinct, list(judged.values())) == (states, texts)


def test_what_is_fair() -> None:
    model = registry.load_file(EXAMPLE)
    marks = {action.name: action.alternatives[0].mark for action in model.actions}
    assert {name for name, mark in marks.items() if mark is not None and mark.fair} == {
        "follower_catches_up",
        "leader_asks_to_shrink",
        "leader_asks_to_expand",
        "controller_answers",
        "leader_takes_answer",
    }
