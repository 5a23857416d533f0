"""The public TLA+ examples have exactly the figures that TLC reports, or those whose reason is recorded."""

from dataclasses import replace

import pytest

from conformance.tests.support.searches import transitions
from isrcheck.checker.comparisons.published import SUCCESS, TLA_EXAMPLES
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import registry
from isrcheck.models.examples.tla.ewd840 import Color
from isrcheck.models.examples.tla.simple_allocator import Client, Resource, Resources
from isrcheck.models.fair_groups import of_actions
from isrcheck.models.language.declarations import LIVENESS
from isrcheck.models.language.fairness import Fairness
from isrcheck.models.run import State
from isrcheck.traces.format.certify import from_steps

ROWS = TLA_EXAMPLES.rows


def test_every_example_has_a_row():
    assert [row.target for row in ROWS if row.tlc["result"] != SUCCESS] == []
    of_kafka = {"examples/isr_changes", "examples/isr_propagation"}
    public = {name for name in registry.names() if name.startswith("examples/")} - of_kafka
    assert {row.target for row in ROWS} == public


@pytest.mark.sampled
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.title.replace(" ", "-"))
def test_figures_equal_those_of_tlc(row):
    exploration = explore(row.instance(), Limits(memory=1 << 30), count_all=True)
    assert exploration.exhausted
    assert TLA_EXAMPLES.figures_of(exploration) == row.expected
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
    ours = as_tlc = len(instance.initial_states)
    for state, step, _ in transitions(instance):
        ours += 1
        as_tlc += true_parts(state, step.action)
    assert (row.expected["generated"], row.tlc["generated"]) == (str(ours), str(as_tlc)) != (str(ours), str(ours))


ANY_ACTION = (Fairness(()),)
PASS_TOKEN = (Fairness(("pass_token",)),)
FAIR = {
    "ewd840": ("termination_is_detected", [PASS_TOKEN, ()]),
    "chang_roberts": ("somebody_wins", [()]),
    "dining_philosophers": ("philosopher_0_does_not_starve", [()]),
    "spanning_tree": ("termination", [()]),
    "coffee_can": ("even_ends_in_black", [()]),
    "token_ring": ("stabilization", [()]),
}
"""A liveness property of each specification with fairness, and fairness that is not enough for it."""


def lasso(name, prop, fair, function=None, **sizes):
    """The lengths of the path and the loop of the counterexample, under some fairness; None if the property holds."""
    model, _ = registry.load(f"examples/tla/{name}")
    found = next(one for one in model.properties if one.name == prop)
    changed = replace(found, fair=fair, function=function or found.function)
    instance = replace(model, properties=(changed,)).instance("", sizes)
    path = explore(instance, Limits(memory=1 << 30)).findings[prop].found.path
    if path is None:
        return None
    assert path.loop is not None
    assert from_steps(instance, path.initial, path.steps, prop, "", "VIOLATED", path.loop).loop == path.loop
    return path.loop, path.depth - path.loop


def test_the_specifications_with_fairness_have_liveness_properties():
    live = {row.target for row in ROWS if any(p.kind in LIVENESS for p in row.instance().model.properties)}
    assert live == {f"examples/tla/{name}" for name in (*FAIR, *STRONG)}


@pytest.mark.parametrize("name", FAIR)
def test_liveness_needs_the_fairness_of_the_specification(name):
    """Without WF the behaviour stutters in its first state. TLC was not run on all of these; the two tests below name
    variants on which it was."""
    prop, weaker = FAIR[name]
    assert [lasso(name, prop, fair) for fair in weaker] == [(0, 0)] * len(weaker)


def test_fairness_of_all_steps_together_is_enough_for_the_philosophers():
    """TLC 2.15 answers the same when WF_vars(Philosopher(self)) is replaced by WF_vars(Next)."""
    assert lasso("dining_philosophers", "philosopher_0_does_not_starve", ANY_ACTION) is None


def test_a_token_that_never_stays_is_a_loop_of_nine_steps():
    """<>[](c[0] = c[N-1]) is false in a ring of three nodes: TLC 2.15 shows nine states and goes back to the first."""
    model, _ = registry.load("examples/tla/token_ring")
    assert lasso("token_ring", "stabilization", ANY_ACTION, nodes=3, values=3) is None
    kept = model.reader.read(node_0_has_the_token)
    assert lasso("token_ring", "stabilization", ANY_ACTION, kept, nodes=3, values=3) == (0, 9)


def node_0_has_the_token(s):
    return s.counter[0] == s.counter[s.nodes - 1]


# ------------------------------------------------------------------------------------------------------ strong fairness


STRONG = {
    "simple_allocator": ("client_will_obtain", {"obtains": (1, 3)}),
    "alternating_bit": ("first_value_is_received", {"receive_message": (1, 4), "receive_ack": None}),
    "elevator": ("person_arrives", {"closes_doors": None, "moves": (5, 22), "is_sent": None}),
}
"""A property of each specification with strong fairness and, for each of its strongly fair actions, the lengths of the
path and the loop that break the property if fairness to the action is only weak; None if the property still holds."""


def fairness_of(name):
    model, _ = registry.load(f"examples/tla/{name}")
    return of_actions(model.instance(""))


def weakened(fairness, *actions):
    return tuple(replace(each, is_strong=each.is_strong and each.actions[0] not in actions) for each in fairness)


@pytest.mark.sampled
@pytest.mark.parametrize("name", STRONG)
def test_strong_fairness_is_needed_where_weak_fairness_is_not_enough(name):
    """The properties hold with the fairness of the specification, as with TLC. TLC was not run on the variants."""
    prop, weaker = STRONG[name]
    fairness = fairness_of(name)
    assert [each.actions[0] for each in fairness if each.is_strong] == list(weaker)
    assert lasso(name, prop, fairness) is None
    assert {action: lasso(name, prop, weakened(fairness, action)) for action in weaker} == weaker
    first = 1  # the first state in which the property is due
    assert lasso(name, prop, ()) == (first, 0)


def test_a_client_that_keeps_what_it_has_makes_others_wait():
    """SimpleAllocator2, WF(unsat[c] = {} /\\ Return(c, alloc[c])): the specification says that ClientsWillReturn holds,
    and that ClientsWillObtain and InfOftenSatisfied do not hold. Two clients wait for what the other holds."""
    model, _ = registry.load("examples/tla/simple_allocator")
    condition = model.reader.read(returns_everything_when_satisfied)
    obtains, returns = fairness_of("simple_allocator")
    fairness = obtains, replace(returns, condition=condition)
    assert lasso("simple_allocator", "client_will_return", fairness) is None
    assert lasso("simple_allocator", "client_will_obtain", fairness) == (4, 0)
    assert lasso("simple_allocator", "client_is_satisfied_again_and_again", fairness) == (4, 0)


def returns_everything_when_satisfied(s, client: Client, resources: Resources):
    return len(s.unsatisfied[client]) == 0 and all(
        resources[resource] == (resource in s.allocated[client]) for resource in Resource
    )


def test_tlc_sends_messages_into_full_channels():
    """The recorded reason for the different number of generated states, computed in plain Python."""
    (row,) = [row for row in ROWS if row.target == "examples/tla/alternating_bit"]
    instance = row.instance()
    states = {tuple(state.cells): state for state, _, _ in transitions(instance)}.values()
    into_messages = sum(
        (2 if state.sender_ack == state.sender_bit else 1) for state in states if len(state.messages) == 2
    )
    into_acks = sum(len(state.acks) == 2 for state in states)
    assert int(row.expected["generated"]) + into_messages + into_acks == int(row.tlc["generated"]) == 1392
