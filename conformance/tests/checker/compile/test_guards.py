"""Guards are evaluated in the outermost loop that binds what they read, but never so that another index is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.tests.support.small_models import action, claim, domain, helper, model, state, write_model
from isrcheck.checker.compile.ranges import Ranges, argument_limits, conjuncts, placed
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.ir.nodes import Expression
from isrcheck.models.registry import load_file

MODEL = model(
    '"""Guests go in and out."""\n',
    domain("Guest", 3),
    state("count[Guest]: between(0, 3)", "total: between(0, 9)"),
    helper("may_go(s, who, other)", "s.count[who] < 2 and is_open(s) and who != other"),
    helper("is_open(s)", "s.total < 9"),
    helper("next_count(s, guest)", "s.count[s.count[guest]]"),
    "@action\ndef goes(s, guest: Guest, host: Guest):\n{guards}\n    s.total += 1\n",
    claim("always", "small(s)", "s.total < 5"),
)


def placed_guards(folder: Path, *guards: str) -> list[list[str]]:
    """For each number of loops, the guards that are evaluated in so many."""
    text = MODEL.replace("{guards}", "\n".join(f"    require({guard})" for guard in guards))
    instance = load_file(write_model(folder / "house.py", text)).instance()
    routine, choices = instance.model.actions[0].alternatives[0].routine, instance.argument_ranges[0]
    ranges = Ranges(instance)
    waiting: list[Expression] = conjuncts(routine)
    limits = ranges.limits(routine, waiting, argument_limits(routine, choices))
    guards_at = []
    for depth in range(3):
        ready, waiting = placed(ranges, waiting, set(routine.arguments[depth:]), limits)
        guards_at.append([guard.span.text for guard in ready])
    assert waiting == []
    return guards_at


@pytest.mark.parametrize(
    ("guards", "expected"),
    [
        (
            ["s.count[host] < 1", "s.total < 3", "s.count[guest] > 0"],
            [["s.total < 3"], ["s.count[guest] > 0"], ["s.count[host] < 1"]],
        ),
        # The conditions of a helper, and of one that it calls, are conditions of their own.
        (["may_go(s, guest, host)"], [["s.total < 9"], ["s.count[who] < 2"], ["who != other"]]),
        # Equal ones count once, also where a helper has other names for what they read.
        (
            ["s.count[guest] < 2", "may_go(s, guest, host)", "s.total < 9", "may_go(s, host, guest)"],
            [["s.total < 9"], ["s.count[guest] < 2"], ["who != other", "s.count[who] < 2", "who != other"]],
        ),
        # What may read outside of a range waits for all that stands before it, and what follows waits for it.
        (
            ["s.count[host] < 1", "s.count[s.count[guest]] < 1", "s.total < 3"],
            [[], [], ["s.count[host] < 1", "s.count[s.count[guest]] < 1", "s.total < 3"]],
        ),
        (
            ["s.total < 3", "next_count(s, guest) < 1", "s.count[host] < 1", "s.total < 4"],
            [["s.total < 3"], ["next_count(s, guest) < 1", "s.total < 4"], ["s.count[host] < 1"]],
        ),
        # The index of a fold is in its range.
        (
            ["all(s.count[other] < 2 for other in range(len(Guest)))"],
            [["all(s.count[other] < 2 for other in range(len(Guest)))"], [], []],
        ),
    ],
)
def test_guards_have_their_places(tmp_path: Path, guards: list[str], expected: list[list[str]]) -> None:
    assert placed_guards(tmp_path, *guards) == expected


TWO_RANGES = model(
    '"""Guests and rooms."""\n',
    domain("Guest", 2),
    domain("Room", 5),
    state("count[Guest]: between(0, 3)"),
    helper("few_before(s, end)", "sum(s.count[guest] for guest in range(end)) <= 2"),
    action(
        "goes(s, guest: Guest, room: Room)",
        "require(few_before(s, room))",
        "require(few_before(s, guest))",
        "s.count[guest] += 1",
    ),
    claim("always", "small(s)", "s.count[0] < 3"),
)


def test_a_fold_of_two_guards_has_the_range_of_both(tmp_path: Path) -> None:
    """One helper with two arguments: the fold leaves its range for one of them only, a room after the third."""
    instance = load_file(write_model(tmp_path / "house.py", TWO_RANGES)).instance()
    found = explore(instance, Limits(depth=1), count_all=True)
    assert (found.fired, found.findings["in_range"].found.count) == ([6], 4)
