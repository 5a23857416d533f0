"""The controllers that vote: from running clusters and files; majorities, and advice on racks."""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck.checker.cluster.property_files import PropertiesError, Property, Section
from isrcheck.checker.cluster.releases import Role
from isrcheck.checker.cluster.voters import VOTERS, is_majority, placement_advice, voters_of


def files(*values: str) -> list[Section]:
    return [
        Section(Role.BROKER, f"{number}.properties", (Property(VOTERS, value, Path(f"{number}.properties"), 1),))
        for number, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "shown", "expected"),
    [
        ([], [], []),
        (["3001@a:9093, 3002@[::1]:9093"], [], [3001, 3002]),
        (["2@a:1,1@b:1", "1@b:1,2@a:1"], [], [1, 2]),
        (["1@a:1"], [5, 4], [4, 5]),
        (["${VOTERS}", "a:9093", ""], [], []),
    ],
)
def test_voters(values, shown, expected):
    assert voters_of(files(*values), shown) == expected


def test_files_with_different_voters():
    with pytest.raises(PropertiesError) as refusal:
        voters_of(files("1@a:1", "1@a:1,2@b:1"), [])
    says = "1.properties:1: controller.quorum.voters names 1, 2 here, and 1 in 0.properties:1"
    assert str(refusal.value) == f"{says}; keep the value that is right"


def test_majorities():
    assert [left for left in range(6) if is_majority(left, 5)] == [3, 4, 5]
    assert [left for left in range(5) if is_majority(left, 4)] == [3, 4]


RULE = "no rack may have half of the voters or more, as with three voters in three racks"


@pytest.mark.parametrize(
    ("racks", "advice"),
    [
        ({"a": 1, "b": 1, "c": 1}, None),
        ({"a": 2, "b": 2, "c": 1}, None),
        (
            {"a": 2, "b": 1},
            "without a (2 of 3) no majority is left, so it must not fail: move a voter from a to a third rack",
        ),
        (
            {"a": 2, "b": 1, "c": 0},
            "without a (2 of 3) no majority is left, so it must not fail: move a voter from a to c",
        ),
        (
            {"a": 2, "b": 2},
            "without a (2 of 4) and b (2 of 4) no majority is left, so none of them may fail:"
            " add a voter to a third rack",
        ),
        ({"a": 3, "b": 0}, f"without a (3 of 3) no majority is left, so it must not fail: {RULE}"),
    ],
)
def test_advice_on_the_racks_of_voters(racks, advice):
    assert placement_advice(racks) == advice


@pytest.mark.parametrize("voters", range(1, 10))
def test_no_placement_over_two_racks_survives_the_loss_of_either(voters):
    assert all(placement_advice({"a": here, "b": voters - here}) for here in range(voters + 1))
