"""The public TLA+ examples have exactly the figures that TLC reports, or those whose reason is recorded."""

import pytest

from isrcheck.checker.analyses import tla_examples
from isrcheck.checker.analyses.tla_examples import SUCCESS
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import registry
from isrcheck.models.examples.tla.ewd840 import Color
from isrcheck.models.run import State, successors

ROWS = list(tla_examples.rows())


def test_every_example_has_a_row():
    assert len(ROWS) == 11
    assert [row.target for row in ROWS if row.tlc["result"] != SUCCESS] == []
    assert {row.target for row in ROWS} == {name for name in registry.names() if name.startswith("examples/")}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.title.replace(" ", "-"))
def test_figures_equal_those_of_tlc(row):
    exploration = explore(row.instance(), Limits(memory=1 << 30), count_all=True)
    assert exploration.exhausted
    assert tla_examples.figures_of(exploration) == row.expected
    assert bool(row.why) == (row.expected != row.tlc)


def true_parts(state: State, step: str) -> int:
    """How many parts of the disjunction in the guard of an enabled step of ewd840 are true."""
    position = state.token_position
    stained = (state.token_color == Color.BLACK) + (state.color[position] == Color.BLACK)
    return {"initiate_probe": stained, "pass_token": stained + (not state.active[position])}.get(step, 1)


def test_tlc_generates_a_successor_of_ewd840_for_each_true_part_of_a_guard():
    """The recorded reason for the different number of generated states, computed in plain Python."""
    (row,) = [row for row in ROWS if row.target == "examples/tla/ewd840"]
    instance = row.instance()
    reached = set(instance.initial_states)
    frontier = list(reached)
    as_tlc = ours = len(frontier)
    while frontier:
        cells = frontier.pop()
        for step, after in successors(instance, cells):
            ours += 1
            as_tlc += true_parts(State(instance, cells), instance.model.actions[step.action_index].name)
            if after not in reached:
                reached.add(after)
                frontier.append(after)
    assert (len(reached), ours, as_tlc) == (302, 1817, 2001)
    assert (row.expected["generated"], row.tlc["generated"]) == ("1817", "2001")
