"""models/run.py and instances: the effects and errors of steps, and the numbering of steps and states."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from isrcheck.models import registry, run
from isrcheck.models.language.model import Configuration, Instance, Model, parse, spell
from isrcheck.models.messages import ModelError, UsageError

TEXT = '''"""Every kind of field, parameter and entry."""

from enum import IntEnum

from isrcheck.language import (
    NONE, Domain, Flag, Subset, action, always, always_step, between, bound, budget, field, optional, require, setting,
    sometimes, switch,
)


class Colour(IntEnum):
    RED = 0
    GREEN = 1

    @property
    def spelling(self):
        return self.name.lower()


class Configuration:
    nodes = bound(2, "nodes", least=1, most=4)
    top = bound(3, "the largest count")
    crashes = budget(1, "crashes")
    speed = setting(5, "how fast", least=1, most=9)
    colour = setting(Colour.GREEN, "which colour", values=Colour)
    FENCED = switch(True, "stale requests are refused")
    RULE = switch(Colour.RED, "which rule")


class Node(Domain, size="nodes"):
    pass


class Item(Domain, size=3, letters=True):
    pass


class Nodes(Subset, of=Node):
    pass


class Items(Subset, of=Item):
    pass


class State:
    count = field(Node, values=between(-1, "top"))
    holds = field(Node, Item, values=Flag)
    owner = field(Item, values=optional(Node), initially=NONE)
    colour_now = field(values=Colour)
    last = field(values=optional(Item), initially=NONE)


@action
def adds(s, node: Node):
    s.count[node] += 1


@action
def takes(s, node: Node, item: Item):
    require(s.owner[item] == NONE)
    s.owner[item] = node
    s.holds[node][item] = True
    s.last = item


@action
def indexes(s, node: Node):
    s.holds[node][s.count[node]] = True


@action
def gives(s, nodes: Nodes, items: Items):
    require(nodes[0] and items[2])
    s.last = NONE


@action
def paints(s):
    require(s.colour_now == Colour.RED)
    s.colour_now = s.colour


@action
def asks_beyond(s, nodes: Nodes):
    require(nodes[s.count[0]])
    s.last = 0


@always
def in_order(s):
    return s.count[0] <= s.count[1]


@always
def last_is_held(s):
    return s.holds[0][s.last] or s.holds[1][s.last]


@always_step
def count_grows(before, after):
    return all(before.count[node] <= after.count[node] for node in range(before.nodes))


@always_step
def only_adds(before, after, taken):
    return taken == adds


@sometimes(applies=lambda configuration: configuration.crashes > 0)
def crashed(s):
    return s.FENCED and s.speed > 5
'''


def load(folder: Path, text: str = TEXT, name: str = "mine.py") -> Model:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return registry.load_file(path)


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return load(tmp_path)


@pytest.fixture
def instance(model: Model) -> Instance:
    return model.instance()


def start(instance: Instance, **values: Any) -> run.Cells:
    """The initial state with single cells set: `count_1=2` is cell 1 of count."""
    cells = list(instance.initial_states[0])
    for name, value in values.items():
        field, _, index = name.rpartition("_")
        cells[instance.layouts[field].offset + int(index)] = value
    return tuple(cells)


def take(instance: Instance, cells: run.Cells, action: str, *ordinals: int) -> run.Cells | None:
    return run.take(instance, cells, instance.step(instance.number(action, ordinals)))


def exactly(says: str) -> str:
    return f"^{re.escape(says)}$"


def line_of(function: str) -> int:
    return TEXT.splitlines().index(next(line for line in TEXT.splitlines() if line.startswith(f"def {function}("))) + 1


# --------------------------------------------------------------------------------------------------- the state


def test_cells_lie_in_order_of_declaration(instance: Instance) -> None:
    assert [(place.name, place.offset, place.sizes, place.low, place.high) for place in instance.layouts.values()] == [
        ("count", 0, (2,), -1, 3),
        ("holds", 2, (2, 3), 0, 1),
        ("owner", 8, (3,), -1, 1),
        ("colour_now", 11, (), 0, 1),
        ("last", 12, (), -1, 2),
    ]
    assert instance.initial_states == ((0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, 0, -1),)
    assert instance.cells == len(instance.initial_states[0])
    assert list(instance.layouts["holds"].indices()) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


def test_values_are_printed_in_readable_form(instance: Instance) -> None:
    layouts = instance.layouts.values()
    spelled = {place.name: [place.spell(value) for value in range(place.low, place.high + 1)] for place in layouts}
    assert spelled == {
        "count": ["-1", "0", "1", "2", "3"],
        "holds": ["false", "true"],
        "owner": ["none", "0", "1"],
        "colour_now": ["red", "green"],
        "last": ["none", "a", "b", "c"],
    }


def test_a_step_writes_its_result_to_a_new_state(instance: Instance) -> None:
    before = start(instance)
    after = take(instance, before, "takes", 1, 2)
    assert after == start(instance, holds_5=1, owner_2=1, last_0=2)
    assert before == start(instance)


def test_a_false_guard_means_that_there_is_no_step(instance: Instance) -> None:
    assert take(instance, start(instance, owner_2=0), "takes", 1, 2) is None
    assert take(instance, start(instance), "paints") == start(instance, colour_now_0=1)
    assert take(instance, start(instance, colour_now_0=1), "paints") is None


def test_subsets_list_their_members(instance: Instance) -> None:
    chosen = itertools.product(range(4), range(8))
    enabled = [sets for sets in chosen if take(instance, start(instance), "gives", *sets) is not None]
    assert enabled == [*itertools.product((1, 3), (4, 5, 6, 7))]


def test_successors_come_in_the_order_of_the_steps(instance: Instance) -> None:
    found = list(run.successors(instance, start(instance)))
    assert [instance.spell_step(step) for step, _ in found] == [
        *(f"adds {node}" for node in range(2)),
        *(f"takes {node} {item}" for node in range(2) for item in "abc"),
        *(f"indexes {node}" for node in range(2)),
        *(f"gives {nodes} {items}" for nodes in ("{0}", "{0,1}") for items in ("{c}", "{a,c}", "{b,c}", "{a,b,c}")),
        "paints",
        *(f"asks_beyond {nodes}" for nodes in ("{0}", "{0,1}")),
    ]
    assert [step.number for step, _ in found] == sorted(step.number for step, _ in found)


# ---------------------------------------------------------------------------------------- leaving the declaration


@pytest.mark.parametrize(
    ("cells", "action", "ordinals", "says"),
    [
        ({"count_1": 3}, "adds", (1,), "adds 1: 4 is written to count, whose values are -1..3"),
        ({"count_0": 3}, "indexes", (0,), "indexes 0: index 3 of holds is outside 0..2; test the index before"),
        ({"count_1": -1}, "indexes", (1,), "indexes 1: index -1 of holds is outside 0..2"),
        ({"count_0": 2}, "asks_beyond", (0,), "asks_beyond {}: index 2 of a subset is outside 0..1"),
        ({"count_0": -1}, "asks_beyond", (3,), "asks_beyond {0,1}: index -1 of a subset is outside 0..1"),
    ],
)
def test_a_step_that_leaves_a_range_names_the_position(
    instance: Instance, cells: Mapping[str, int], action: str, ordinals: tuple[int, ...], says: str
) -> None:
    with pytest.raises(ModelError) as failure:
        take(instance, start(instance, **cells), action, *ordinals)
    message = str(failure.value)
    assert message.startswith(f"{instance.model.path}:{line_of(action)}: {says}")
    assert "\n" not in message


@pytest.mark.parametrize("value", [4, -2])
def test_a_written_value_names_its_range_and_the_cure(instance: Instance, value: int) -> None:
    state = run.State(instance, start(instance))
    says = f"{value} is written to count, whose values are -1..3; guard the step, or widen the field's range"
    with pytest.raises(ModelError, match=exactly(says)):
        state.count[0] = value
    assert state.cells == start(instance)


def test_a_property_that_leaves_a_range_names_the_position(instance: Instance) -> None:
    prop = next(prop for prop in instance.properties if prop.name == "last_is_held")
    with pytest.raises(ModelError) as failure:
        run.holds(instance, prop, start(instance))
    assert str(failure.value).startswith(
        f"{instance.model.path}:{line_of('last_is_held')}: last_is_held: index -1 of holds is outside 0..2"
    )


# ------------------------------------------------------------------------------------------------------ properties


def test_properties_are_true_or_false(instance: Instance) -> None:
    named = {prop.name: prop for prop in instance.properties}
    here, there = start(instance), start(instance, count_0=1)
    assert [run.holds(instance, named["in_order"], cells) for cells in (here, there)] == [True, False]
    adds, paints = (instance.step(instance.number(*step)) for step in (("adds", [0]), ("paints", [])))
    for name, step, before, after, holds in (
        ("count_grows", adds, here, there, True),
        ("count_grows", adds, there, here, False),
        ("only_adds", adds, here, there, True),
        ("only_adds", paints, here, there, False),
    ):
        assert run.holds_step(instance, named[name], before, step, after) is holds


def test_a_property_applies_only_if_its_mechanism_is_enabled(model: Model) -> None:
    always = ["in_order", "last_is_held", "count_grows", "only_adds"]
    assert [prop.name for prop in model.instance().properties] == [*always, "crashed"]
    assert [prop.name for prop in model.instance(None, {"crashes": 0}).properties] == always


def test_functions_can_read_settings_and_switches(model: Model) -> None:
    crashed = next(prop for prop in model.properties if prop.name == "crashed")
    seen = {
        (speed, fenced): run.holds(model.instance(None, {"speed": speed, "FENCED": fenced}), crashed, (0,) * 13)
        for speed in (5, 6)
        for fenced in (0, 1)
    }
    assert seen == {(5, 0): False, (5, 1): False, (6, 0): False, (6, 1): True}
    state = run.State(model.instance(), (0,) * 13)
    assert state.FENCED is True
    assert (state.RULE, state.colour, state.nodes) == (0, 1, 2)


# -------------------------------------------------------------------------------------------------- numbers of steps


def test_step_numbers_convert_both_ways(instance: Instance) -> None:
    total = instance.first_steps[-1]
    assert instance.first_steps == (0, 2, 8, 10, 42, 43, 47)
    assert [step.number for step in instance.steps] == list(range(total))
    for number in range(total):
        step = instance.step(number)
        assert instance.number(step.action, step.ordinals) == number
        assert instance.model.actions[step.action_index].name == step.action
    order = [(step.action_index, step.ordinals) for step in instance.steps]
    assert order == sorted(set(order))


@pytest.mark.parametrize(
    ("action", "ordinals", "says"),
    [
        ("add", (0,), "mine has no action add; did you mean adds?"),
        ("adds", (), "adds takes 1 arguments, not 0"),
        ("adds", (0, 1), "adds takes 1 arguments, not 2"),
        ("adds", (2,), "adds: node=2 is outside 0..1"),
        ("takes", (0, -1), "takes: item=-1 is outside 0..2"),
        ("gives", (4, 0), "gives: nodes=4 is outside 0..3"),
    ],
)
def test_no_such_step(instance: Instance, action: str, ordinals: tuple[int, ...], says: str) -> None:
    with pytest.raises(UsageError, match=exactly(says)):
        instance.number(action, ordinals)


# ------------------------------------------------------------------------------------------------------------- swaps


def test_a_swap_uses_another_protocols_action() -> None:
    model, protocol = registry.load("published/kip_320")
    plain = model.instance(protocol)
    swapped = model.instance(protocol, None, {"leader_expands_isr": "kip_279"})
    names = [action.name for action in model.actions]
    chosen = zip(names, plain.alternatives, swapped.alternatives, strict=True)
    assert [name for name, before, after in chosen if before != after] == ["leader_expands_isr"]
    function = swapped.function(names.index("leader_expands_isr"))
    assert function is not None and Path(function.path).name == "replication.py"
    assert dict(swapped.swaps) == {"leader_expands_isr": "kip_279"}


def test_a_swap_can_remove_an_action_and_keeps_the_numbers() -> None:
    model, _ = registry.load("published")
    plain = model.instance("kip_320_first_try")
    swapped = model.instance("kip_320_first_try", None, {"follower_truncates": "kip_101"})
    slot = [one.name for one in model.actions].index("follower_truncates")
    assert plain.alternatives[slot] is not None and swapped.alternatives[slot] is None
    assert swapped.first_steps == plain.first_steps
    assert {step.action for step in plain.steps} - {step.action for step in swapped.steps} == {"follower_truncates"}
    assert take(swapped, swapped.initial_states[0], "follower_truncates", 0, 1) is None


def test_the_taken_action_equals_all_its_versions() -> None:
    model, _ = registry.load("published")
    for protocol in model.protocols:
        instance = model.instance(protocol)
        step = next(step for step in instance.steps if step.action == "become_follower")
        taken = run.Taken(instance, step)
        for action in model.actions:
            is_taken = action.name == step.action
            assert (taken == action.name, taken != action.name) == (is_taken, not is_taken)


@pytest.mark.parametrize(
    ("action", "other", "says"),
    [
        ("leader_expand_isr", "kip_279", "action leader_expand_isr; did you mean leader_expands_isr?"),
        ("leader_expands_isr", "kip_280", "protocol kip_280; there are: truncate_to_high_watermark, kip_101, "),
    ],
)
def test_no_such_swap(action: str, other: str, says: str) -> None:
    model, protocol = registry.load("published/kip_320")
    with pytest.raises(UsageError, match=f"^published has no {re.escape(says)}"):
        model.instance(protocol, None, {action: other})


# ------------------------------------------------------------------------------------------------------ configuration


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"node": 1}, "mine has no configuration entry node; did you mean nodes?"),
        ({"nodes": 0}, "nodes=0 is impossible: it ranges from 1 to 4 (nodes)"),
        ({"nodes": 5}, "nodes=5 is impossible: it ranges from 1 to 4 (nodes)"),
        ({"top": -1}, "top=-1 is impossible: it ranges from 0 to any size (the largest count)"),
        ({"crashes": -1}, "crashes=-1 is impossible: it ranges from 0 to 127 (crashes)"),
        ({"crashes": 128}, "crashes=128 is impossible: it ranges from 0 to 127 (crashes)"),
        ({"speed": 10}, "speed=10 is impossible: it ranges from 1 to 9 (how fast)"),
        ({"colour": 2}, "colour=2 is impossible: it ranges from 0 to 1 (which colour)"),
        ({"FENCED": 2}, "FENCED=2 is impossible: it ranges from 0 to 1 (stale requests are refused)"),
    ],
)
def test_an_impossible_value_is_refused(model: Model, values: Mapping[str, int], says: str) -> None:
    with pytest.raises(UsageError, match=exactly(says)):
        model.instance(None, values)


def test_a_size_that_no_cell_holds_is_refused(model: Model) -> None:
    says = "field count would hold -1..2147483648: a cell holds -2147483648..2147483647; use smaller bounds"
    with pytest.raises(UsageError, match=exactly(says)):
        assert model.instance(None, {"top": 1 << 31}).layouts


def test_more_steps_than_can_be_numbered_are_refused(tmp_path: Path) -> None:
    model = load(tmp_path, TEXT.replace("Item(Domain, size=3", "Item(Domain, size=40"))
    with pytest.raises(UsageError, match="steps, more than 1048576; use smaller bounds"):
        assert model.instance().first_steps


READ = [
    ("speed", "7", 7),
    ("speed", " 7 ", 7),
    ("colour", "red", 0),
    ("colour", "GREEN", 1),
    ("colour", "1", 1),
    *[("FENCED", word, 1) for word in ("on", "On", "true", "1")],
    *[("FENCED", word, 0) for word in ("off", "OFF", "false", "0")],
]


@pytest.mark.parametrize(("name", "word", "value"), READ)
def test_values_are_parsed_in_readable_form(model: Model, name: str, word: str, value: int) -> None:
    assert parse(name, model.entries[name], word) == value
    assert parse(name, model.entries[name], spell(model.entries[name], value)) == value


@pytest.mark.parametrize(
    ("name", "word", "says"),
    [
        ("speed", "fast", "speed=fast: not a whole number"),
        ("speed", "1.5", "speed=1.5: not a whole number"),
        ("speed", "", "speed=: not a whole number"),
        ("colour", "blue", "colour=blue: no such value; there are: red, green"),
        ("colour", "2", "colour=2: no such value; there are: red, green"),
        ("colour", "--1", "colour=--1: no such value; there are: red, green"),
        ("colour", "\N{SUPERSCRIPT TWO}", "colour=\N{SUPERSCRIPT TWO}: no such value; there are: red, green"),
        ("FENCED", "yes", "FENCED=yes: not a switch value; write on or off"),
        ("FENCED", "2", "FENCED=2: not a switch value; write on or off"),
        ("RULE", "on", "RULE=on: no such value; there are: red, green"),
    ],
)
def test_a_word_that_is_no_value_is_refused(model: Model, name: str, word: str, says: str) -> None:
    with pytest.raises(UsageError, match=exactly(says)):
        parse(name, model.entries[name], word)


def test_a_configuration_never_changes(instance: Instance) -> None:
    configuration = instance.configuration
    with pytest.raises(AttributeError, match="a configuration is immutable"):
        configuration.nodes = 3
    with pytest.raises(AttributeError, match="the configuration has no node; did you mean nodes"):
        _ = configuration.node
    assert configuration == Configuration(dict(configuration.items()))
    assert len({configuration, Configuration(dict(configuration.items()))}) == 1


@pytest.mark.parametrize(
    ("name", "protocol", "says"),
    [
        ("kafka", "0.9", "kafka has no protocol 0.9"),
        (
            "published",
            None,
            "published needs --protocol; there are: truncate_to_high_watermark, kip_101, kip_279, kip_320",
        ),
        ("published", "kip_32", "published has no protocol kip_32; there are: truncate_to_high_watermark, kip_101, "),
        ("examples/two_phase_commit", "1", "examples/two_phase_commit has no protocol 1: it has only one protocol;"),
    ],
)
def test_no_such_protocol(name: str, protocol: str | None, says: str) -> None:
    with pytest.raises(UsageError) as refusal:
        registry.load(name)[0].instance(protocol)
    assert str(refusal.value).replace("_first_try, kip_320", "").startswith(says)


@pytest.mark.parametrize("name", ["kafkas", "published/kip_32", "examples/three_phase_commit", ""])
def test_no_such_model(name: str) -> None:
    with pytest.raises(UsageError, match=f"^no model {name}; "):
        registry.load(name)


# ---------------------------------------------------------------------------------------------------- initial states

INITIAL = """

@initial
def begins(configuration):
{body}
"""


def initial(folder: Path, body: str) -> Instance:
    text = TEXT.replace("bound, budget, field,", "bound, budget, field, initial,")
    return load(folder, text + INITIAL.format(body="\n".join(f"    {line}" for line in body.split("\n")))).instance()


def test_initial_states_keep_their_order_without_duplicates(tmp_path: Path) -> None:
    instance = initial(
        tmp_path,
        "for count in (2, 0, 2):\n"
        "    yield {'count': [count, 1], 'holds': [[True, False, False], (False, False, configuration.nodes == 2)]}\n"
        "yield {'colour_now': True}\n"
        "yield {}\n"
        "yield {'colour_now': 1}",
    )
    assert instance.initial_states == (
        (2, 1, 1, 0, 0, 0, 0, 1, -1, -1, -1, 0, -1),
        (0, 1, 1, 0, 0, 0, 0, 1, -1, -1, -1, 0, -1),
        (0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, 1, -1),
        (0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, 0, -1),
    )


@pytest.mark.whole
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("yield {'counts': [0, 0]}", "initial states set counts, but the model has no such field; there are: "),
        ("yield {'nodes': 2}", "initial states set nodes, but the model has no such field"),
        ("yield {'count': [0, 4]}", "count[1] is initially 4; give a value in -1..3"),
        ("yield {'holds': [[0, 0, 0], [0, 0, 2]]}", "holds[1][2] is initially 2; give a value in 0..1"),
        ("yield {'last': -2}", "last is initially -2; give a value in -1..2"),
        ("yield {'count': [0]}", "count is initially [0]; give a list of length 2"),
        ("yield {'count': [0, 0, 0]}", "count is initially [0, 0, 0]; give a list of length 2"),
        ("yield {'count': 0}", "count is initially 0; give a list of length 2"),
        ("yield {'holds': [0, 0]}", "holds is initially 0; give a list of length 3"),
        ("yield {'holds': [[0, 0, 0]]}", "holds is initially [[0, 0, 0]]; give a list of length 2"),
        ("yield {'count': [[0], 0]}", "count[0] is initially [0]; give a value in -1..3"),
        ("yield {'last': [0]}", "last is initially [0]; give a value in -1..2"),
        ("yield {'last': None}", "last is initially None; give a value in -1..2"),
        ("yield {'last': 'a'}", "last is initially 'a'; give a value in -1..2"),
        ("yield {'last': 0.5}", "last is initially 0.5; give a value in -1..2"),
        ("yield 3", "an initial state is 3, not a dictionary; yield a dictionary"),
        ("yield {'\\x1b[2J\\n': 3, None: 4}", r"initial states set \x1b[2J\n, None, but the model has no such field"),
        ("raise ValueError('\\x1b[2J')\nyield {}", r"ValueError: \x1b[2J"),
        ("yield {'last': '\\x1b[2J'}", r"last is initially '\x1b[2J'; give a value in -1..2"),
        ("return {'last': 0}", "an initial state is 'last', not a dictionary; yield a dictionary"),
        ("return None", "'NoneType' object is not iterable"),
        ("raise ValueError('two\\nlines')\nyield {}", "ValueError: two lines"),
        ("yield {'count': [0] * configuration.node}", "the configuration has no node; did you mean nodes?"),
        ("if False:\n    yield {}", "this configuration has no initial state; let an @initial function yield a state"),
    ],
)
def test_a_wrong_initial_state_is_one_line(tmp_path: Path, body: str, says: str) -> None:
    with pytest.raises(ModelError) as failure:
        assert initial(tmp_path, body).initial_states
    assert says in str(failure.value)
    assert "\n" not in str(failure.value)
