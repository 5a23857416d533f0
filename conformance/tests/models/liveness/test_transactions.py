"""Liveness of transactions: the hanging transaction, and the marker that is refused for ever, as lassos."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from conformance.tests.support.searches import certified
from isrcheck.models.transactions.generations import MODEL as SAFE
from isrcheck.models.transactions.liveness import MODEL

LONGER = pytest.mark.exhaustive
ONE = {"partitions": 1}
HANGS = "VIOLATED at step 15 (stays there) (PERMITTED at step 19)"
ONLY_LOST = "PERMITTED at step 10 (back to step 8)"
ONLY_LOST_LATER = "PERMITTED at step 11 (back to step 9)"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("protocol", "values", "states", "lso", "prepared"),
    [
        pytest.param("0.11", {}, 100_257, HANGS, ONLY_LOST, marks=LONGER),
        pytest.param("2.5", {}, 211_270, HANGS, ONLY_LOST, marks=LONGER),
        ("3.6", {}, 163_309, HANGS, ONLY_LOST),
        ("3.7", {}, 119_735, "HOLDS", ONLY_LOST),
        pytest.param("4.0", {}, 40_558, "HOLDS", ONLY_LOST_LATER, marks=LONGER),
        pytest.param("4.1", {}, 34_494, "HOLDS", ONLY_LOST_LATER, marks=LONGER),
        ("4.2", {}, 34_494, "HOLDS", ONLY_LOST_LATER),
        (
            "4.2",
            {"EQUAL_MARKER_EPOCH_IS_RETRY": 0},
            46_502,
            "VIOLATED at step 17 (stays there)",
            "VIOLATED at step 11 (stays there)",
        ),
        (
            "3.7",
            ONE | {"failovers": 1, "late_answers": 1},
            12_631,
            "HOLDS",
            "VIOLATED at step 12 (stays there) (PERMITTED at step 10)",
        ),
        ("3.8", ONE | {"failovers": 1, "late_answers": 1}, 11_493, "HOLDS", ONLY_LOST),
        (
            "4.2",
            ONE | {"producer_epochs": 1, "timeouts": 1},
            1_587,
            "VIOLATED at step 21 (stays there)",
            ONLY_LOST_LATER,
        ),
        ("4.3", ONE | {"producer_epochs": 1, "timeouts": 1}, 1_785, "HOLDS", ONLY_LOST_LATER),
    ],
)
def test_transactions_end_at_last(
    protocol: str, values: Mapping[str, int], states: int, lso: str, prepared: str
) -> None:
    found = certified(MODEL.instance(protocol, {"producers": 1, "failovers": 0, **values}))
    assert found == (states, {"lso_advances": lso, "prepared_transactions_complete": prepared})


def test_it_is_the_same_model() -> None:
    assert [one.name for one in MODEL.actions] == [one.name for one in SAFE.actions]
    assert {name: one.switches for name, one in MODEL.protocols.items()} == {
        name: one.switches for name, one in SAFE.protocols.items()
    }
