"""The compiled kernel agrees with CPython on every registered model.

Hypothesis draws a configuration; the states of a random walk, states that a short search reaches, and random states
within the ranges of the fields are then compared one by one: the enabled steps in order, their successors, and the
value of each property.

For each family of models whose protocols have the same fields, SHAPES has the bounds, each with the entries that differ
from the default ones. In each family, some shape has each value of each switch that shapes the state, also where it
should have no effect: a switch of KRaft without KRaft, a repair without what it repairs.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from conformance.tests.sampling import sampled
from conformance.tests.support.compared.compiled import NOTHING, Compiled, Seen
from isrcheck.checker.compile.kernel import Kernel, kernel_key, kernel_of
from isrcheck.checker.compile.kernel_code import KernelCode
from isrcheck.checker.compile.layout import ABSENT, layout_of
from isrcheck.checker.compile.staging import new_module
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import registry, run
from isrcheck.models.language.declarations import WHOLE, Kind
from isrcheck.models.language.model import Instance, Model, Property
from isrcheck.models.messages import ModelError
from isrcheck.models.run import Cells
from isrcheck.testing import legal_values

TRANSACTION = {"transactions": 1, "delete_records": 1, "DELETION_IS_ANSWERED": 1}
IDEMPOTENT = {"enable_idempotence": 1, "producer_snapshots": 1}
NUMBERED_ANEW = {"enable_idempotence": 1, "delete_records": 1, "min_insync_replicas": 1}
FAULTS = ("bounces", "crashes", "power_losses", "disk_losses", "preferred_elections", "unclean_elections")
READ = {"consumers": 1, "follower_fetching": 1}
OPERATED = dict.fromkeys(
    ("min_isr_changes", "unregistrations", "folder_deletions", "directory_reports", "dropped_metadata"), 1
)
THREE_CHANGES = {"partition_changes": 3}
IN_TWO_STEPS = {"FETCH_IS_SPLIT": 1, "DIVERGING_ANSWER_IS_SPLIT": 1}
REPAIRED = {
    "ELR_WITHIN_REPLICAS": 1,
    "CHANGED_MIN_ISR_ERASES": 2,
    "CONFIGURATION_BEFORE_TOPICS": 1,
    "RAISED_MIN_ISR_AWAITS_BROKERS": 1,
    "MIN_ISR_OF_OWN_REPLICAS": 1,
    "UNREGISTERED_LEAVES_ELR": 1,
    "DELETED_FOLDER_IS_UNCLEAN": 1,
    "EQUAL_PARTITION_EPOCH_ASSIGNS": 1,
    "EXPAND_LOG_START": 1,
    "FETCH_COUNTED_IN_ITS_EPOCH": 1,
    "DELETION_AWAITS_ELIGIBLE": 1,
}

SHAPES: Mapping[str, Sequence[Mapping[str, int]]] = {
    "kafka": (
        {"replicas": 3, "records": 2, "log_size": 2, "elections": 2},
        {"replicas": 2, "records": 2, "log_size": 3, "elections": 2, **TRANSACTION},
        {"replicas": 2, "records": 1, "log_size": 2, "HW_WAIT": 1, "flush_interval_messages": 1, "consumers": 1},
        {"replicas": 2, "records": 2, "log_size": 2, "elections": 1, "CHANGED_MIN_ISR_ERASES": 1, **IDEMPOTENT},
        {"replicas": 2, "records": 1, "log_size": 2, "elections": 1, **TRANSACTION, **READ, **IN_TWO_STEPS, **REPAIRED},
        {"replicas": 2, "records": 2, "log_size": 2, "elections": 1, **NUMBERED_ANEW, **dict.fromkeys(FAULTS, 0)},
    ),
    "kafka, ALTER_PARTITION": (
        {"replicas": 3, "records": 1, "log_size": 1, "elections": 1, "partition_changes": 3},
        {"replicas": 2, "records": 2, "log_size": 3, "partition_changes": 2, "HW_WAIT": 1, **TRANSACTION},
        {"replicas": 2, "records": 2, "log_size": 2, "CHANGED_MIN_ISR_ERASES": 1, **IDEMPOTENT, **READ},
        {"replicas": 2, "records": 1, "log_size": 2, **TRANSACTION, **IN_TWO_STEPS, **REPAIRED},
    ),
    "kafka, KRAFT": (
        {"replicas": 3, "records": 1, "log_size": 1, "elections": 1, "partition_changes": 3, "reassignments": 2},
        {"replicas": 2, "records": 2, "log_size": 2, "partition_changes": 3, "HW_WAIT": 1, **TRANSACTION},
        {"replicas": 2, "records": 1, "log_size": 1, "elections": 1, "partition_changes": 2, "late_fetches": 1},
        {"replicas": 2, "records": 2, "log_size": 2, "partition_changes": 2, **IDEMPOTENT, **READ},
        {"replicas": 2, "records": 1, "log_size": 1, "elections": 1, **OPERATED, **IN_TWO_STEPS, **THREE_CHANGES},
        {"replicas": 2, "records": 1, "log_size": 1, "min_isr_changes": 2, "CHANGED_MIN_ISR_ERASES": 1},
        {
            "replicas": 3,
            "records": 1,
            "log_size": 1,
            "partition_changes": 3,
            "reassignments": 1,
            "replicas_of_partition_0": 1,
            "delete_records": 1,
            "DELETION_IS_ANSWERED": 1,
            **(OPERATED | IN_TWO_STEPS | REPAIRED),
        },
    ),
    "exactly_once": (
        {"partitions": 2, "records": 2, "batches": 3, "log_size": 4, "restarts": 1, "epoch_bumps": 1},
        {"partitions": 1, "records": 3, "batches": 3, "log_size": 3, "restarts": 0, "epoch_bumps": 2},
        {"partitions": 2, "records": 2, "batches": 3, "log_size": 4, "overlapping_blocks": 1, "deadlines_in_flight": 1},
    ),
    "published": (
        {"replicas": 3, "log_size": 2, "records": 2, "max_epoch": 1},
        {"replicas": 2, "log_size": 3, "records": 3, "max_epoch": 2},
    ),
    "transactions": (
        {"partitions": 2, "transactions": 2, "log_size": 4, "producers": 2, "failovers": 1, "timeouts": 1},
        {"partitions": 1, "transactions": 1, "log_size": 2, "producers": 3, "failovers": 2},
        {"partitions": 1, "transactions": 2, "log_size": 4, "late_answers": 1, "producer_epochs": 2},
    ),
    "coordinator": ({}, {"replicas": 3, "writes": 2, "elections": 2}),
    "consumer_commits": ({}, {"records": 3, "restarts": 2}),
    "tier": (
        {"brokers": 2, "log_size": 4, "segment_size": 2, "elections": 1, "restarts": 1},
        {"brokers": 3, "log_size": 3, "segment_size": 2, "elections": 2, "restarts": 0},
    ),
    "quorum": (
        {"replicas": 3, "observers": 0, "records": 2, "log_size": 2, "elections": 1},
        {"replicas": 3, "observers": 1, "records": 1, "log_size": 3, "elections": 2},
    ),
    "quorum, PULL": (
        {"replicas": 3, "observers": 0, "records": 2, "elections": 1, "log_size": 2},
        {"replicas": 4, "observers": 1, "records": 1, "log_size": 3, "elections": 2},
        {"replicas": 2, "observers": 1, "records": 1, "elections": 1, "log_size": 2},
    ),
    "quorum_schemes": ({},),
    "isr_propagation": ({}, {"brokers": 1, "followers": 2, "latest_ticks": 6, "within_ticks": 9}),
    "isr_by_lag": ({}, {"burst": 2, "most_behind": 6, "lag_time_max_ticks": 2}),
    "placement": (
        {"brokers": 4, "partitions": 4},
        {"brokers": 3, "replication_factor": 2, "racks": 2, "rack_failures": 1},
    ),
    "cap": ({}, {"replicas": 2, "cuts": 2, "unclean_elections": 1}),
    "examples": ({},),  # each has bounds of its own: the default ones
    "examples/tla": ({},),
    "published/others": ({}, {"lossy_shutdowns": 0, "lossless_shutdowns": 1, "fencings": 1, "isr_shrinks": 1}),
}
"""Few shapes, since each is compiled; all run-time values of a shape share one kernel. A shape may fix some of them, so
that a search reaches rare states."""


# ------------------------------------------------------------------------------------------------ one state, two ways


class Reference:
    """The same interface as the kernel, implemented by isrcheck.models.run."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    def successors(self, cells: Cells) -> tuple[list[tuple[int, Cells]], dict[str, Seen], list[int]] | None:
        fired = [0] * len(self.instance.model.actions)
        seen: dict[str, Seen] = {prop.name: (NOTHING, NOTHING) for prop in self.instance.properties if prop.of_steps}
        found = []
        try:
            for step, after in run.successors(self.instance, cells):
                found.append((step.number, after))
                fired[step.action_index] += 1
                for prop in self.instance.properties:
                    if prop.of_steps:
                        truth = run.holds_step(self.instance, prop, cells, step, after)
                        seen[prop.name] = self._note(seen[prop.name], prop, truth, after, step.number)
        except ModelError:
            return None
        return found, seen, fired

    def properties(self, cells: Cells) -> dict[str, Seen] | None:
        try:
            return {
                prop.name: self._note((NOTHING, NOTHING), prop, run.holds(self.instance, prop, cells), cells, -1)
                for prop in self.instance.properties
                if not prop.of_steps
            }
        except ModelError:
            return None

    def _note(self, seen: Seen, prop: Property, truth: bool, state: Cells, step: int) -> Seen:
        # Of what needs every state, a kernel writes the truth elsewhere: see conformance/tests/checker/liveness.
        if truth != (prop.kind is Kind.SOMETIMES) or prop.kind in WHOLE:
            return seen
        permitted = prop.kind is not Kind.SOMETIMES and run.is_permitted(self.instance, prop, state)
        plain, excused = seen
        count, _, first = excused if permitted else plain
        noted = (count + 1, 0, first if count else step)
        return (plain, noted) if permitted else (noted, excused)


def compare(reference: Reference, compiled: Compiled, cells: Cells) -> list[tuple[int, Cells]] | None:
    """Compare both in one state; return the enabled steps (None: the model leaves a declared range)."""
    expected = reference.successors(cells)
    assert compiled.successors(cells) == expected, spelled(reference.instance, cells)
    assert compiled.properties(cells) == reference.properties(cells), spelled(reference.instance, cells)
    return expected[0] if expected is not None else None


def spelled(instance: Instance, cells: Cells) -> str:
    """The data that reproduce a disagreement."""
    return f"{described(instance)}: {cells}"


def described(instance: Instance) -> str:
    """What makes an instance: model, protocol, configuration and swapped actions."""
    return f"{instance.model.name} {instance.protocol.name} {instance.configuration} {dict(instance.swaps)}"


def random_state(instance: Instance, chance: random.Random) -> Cells:
    """A random state within the ranges of the fields, reachable or not."""
    return tuple(
        chance.randint(place.low, place.high) for place in instance.layouts.values() for _ in range(place.count)
    )


# ----------------------------------------------------------------------------------------------- every model, any wish

FAMILIES = {
    "kafka": (30, 75_000, 4, 300_000, 9_000),
    "exactly_once": (30, 15_000, 6, 10_000, 1_000),
    "transactions": (30, 15_000, 4, 30_000, 2_000),
    "tier": (60, 10_000, 12, 5_000, 500),
    "published": (150, 15_000, 20, 30_000, 2_000),
    "published/others": (60, 5_000, 20, 4_000, 900),
    "examples": (150, 20_000, 20, 11_000, 2_000),
    "examples/tla": (60, 5_000, 20, 4_000, 900),
    "coordinator": (10, 2_000, 12, 1_000, 100),
    "consumer_commits": (10, 500, 12, 500, 50),
    "quorum": (30, 10_000, 6, 5_000, 500),
    "quorum_schemes": (60, 1_000, 20, 2_000, 500),
    "isr_propagation": (60, 2_000, 6, 1_000, 100),
    "isr_by_lag": (60, 2_000, 10, 1_000, 100),
    "placement": (60, 500, 4, 200, 20),
    "cap": (60, 2_000, 6, 1_000, 100),
}
"""What is drawn and compared for each family of models.

How many configurations are drawn of kernels for each protocol of a model, if others have the same shapes, and how many
steps are compared at least for each model; and how many configurations are drawn of formulas, and how many answers, and
how many states after steps, are compared at least.
"""

EXAMPLES, LEAST_STEPS, *OF_FORMULAS = (
    dict(zip(FAMILIES, column, strict=True)) for column in zip(*FAMILIES.values(), strict=True)
)

OF_EACH_SHAPE = 80
"""How many configurations are drawn at least for all protocols of a model with the same shapes.

What Hypothesis draws depends on the modules that are loaded; so many draws have every value that they can have.
"""

SEARCHED = Limits(memory=1 << 22)
"""The search from which states are taken: some ten thousands of states."""

DERIVED = [("kafka_liveness", 30), ("kafka_scenarios", 30), ("transactions_liveness", 30), ("quorum_liveness", 30)]
"""The models whose actions are, but for one, those of others, and the divisor for them."""

UNCONSTRAINED = [
    name
    for name in registry.names()
    if name not in ("examples/tla/lamport_mutex", "examples/tla/termination", *dict(DERIVED))
]
"""The other models without a constraint; what kernels do with one, random programs test (conformance/fuzz)."""

SAMPLES = [6, 1]
"""The divisor of the number of configurations; that of the least number of steps is a little larger."""


def drawn(examples: int) -> settings:
    """The settings of a test that always draws the same configurations."""
    return settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )


def family_of(name: str) -> str:
    """A model's family; a derived model has the state and actions of a different model."""
    return name.rpartition("/")[0] or name.removesuffix("_liveness").removesuffix("_scenarios")


def shapes_of(name: str, protocol: str) -> str:
    """The key in SHAPES of a protocol of a model."""
    switches = registry.load(name)[0].protocols[protocol].switches
    if "CONTROLLER" in switches:
        return f"{family_of(name)}, KRAFT"
    if "observers" in switches:  # the variant in which followers fetch
        return f"{family_of(name)}, PULL"
    return f"{family_of(name)}, ALTER_PARTITION" if "ISR_CHANNEL" in switches else family_of(name)


def has_action(name: str, protocol: str, action: int) -> bool:
    """Whether a protocol of a model has the action with this number."""
    return registry.load(name)[0].protocols[protocol].alternatives[action] is not None


def legal_shapes(name: str, protocol: str) -> list[int]:
    """The shapes in SHAPES that a protocol can have."""
    model, shapes = registry.load(name)[0], SHAPES[shapes_of(name, protocol)]
    return [number for number, shape in enumerate(shapes) if legal_values(model, protocol, {}, shape) == shape]


@cache
def kernel_for(name: str, protocol: str, shape: int) -> Kernel:
    """The kernel that serves all protocols with this shape and the same actions, made from the oldest of them."""
    model, _ = registry.load(name)
    actions, shapes = range(len(model.actions)), shapes_of(name, protocol)
    oldest = next(
        one
        for one in model.protocols
        if shapes_of(name, one) == shapes
        and shape in legal_shapes(name, one)
        and all(has_action(name, one, action) == has_action(name, protocol, action) for action in actions)
    )
    if oldest != protocol:
        return kernel_for(name, oldest, shape)
    return kernel_of(model.instance(protocol, SHAPES[shapes][shape]))


class Wish(NamedTuple):
    """A drawn instance, the kernel for its bounds, and the seed of a walk."""

    instance: Instance
    kernel: Kernel
    seed: int

    # Hypothesis prints it for a failing draw: the whole model would be too long.
    def __repr__(self) -> str:
        return f"{described(self.instance)}, seed {self.seed}"


@st.composite
def wishes(draw: st.DrawFn, name: str, protocol: str, shapes: Sequence[int]) -> Wish:
    """Random run-time values and swaps for a protocol, the kernel for one of these shapes, and a seed for the walk."""
    shape = draw(st.sampled_from(shapes))
    values = draw(values_within(name, protocol, SHAPES[shapes_of(name, protocol)][shape]))
    instance = registry.load(name)[0].instance(protocol, values, draw(swapped_actions(name, protocol)))
    return Wish(instance, kernel_for(name, protocol, shape), draw(st.integers(0, 1 << 32)))


@st.composite
def values_within(draw: st.DrawFn, name: str, protocol: str, bounds: Mapping[str, int]) -> dict[str, int]:
    """These bounds, and random run-time values for a protocol, which keeps its switches in half of the draws.

    Values that contradict the others are left out.
    """
    model, _ = registry.load(name)
    kept = model.protocol(protocol).switches if draw(st.booleans(), label="keeps its switches") else {}
    wanted = {}
    for entry_name, entry in model.entries.items():
        if not entry.is_bound and entry_name not in kept and entry_name not in bounds:
            # More than three of anything adds nothing here, and budgets up to three share a shape.
            most = entry.least + 3 if entry.most is None else min(entry.most, entry.least + 3)
            some = st.integers(entry.least, most)
            # With few faults, a search reaches deep states.
            wanted[entry_name] = draw(st.just(0) | some if entry.is_budget else some, label=entry_name)
    return legal_values(model, protocol, bounds, wanted)


@st.composite
def swapped_actions(draw: st.DrawFn, name: str, protocol: str) -> dict[str, str]:
    """At most three actions, with the protocols from which they are taken: those that have the action, or lack it, too.

    With other swaps, the model would have other actions, and another kernel.
    """
    model, swaps = registry.load(name)[0], {}
    numbers = range(len(model.actions)) if len(model.protocols) > 1 else ()
    for number in sorted(draw(st.sets(st.sampled_from(numbers), max_size=3), label="swapped") if numbers else ()):
        others = [
            one
            for one in sorted(model.protocols)
            if shapes_of(name, one) == shapes_of(name, protocol)
            and has_action(name, one, number) == has_action(name, protocol, number)
        ]
        swaps[model.actions[number].name] = draw(st.sampled_from(others), label=model.actions[number].name)
    return swaps


def walk(wish: Wish, compared: Counter[str], length: int, reached: int, anywhere: int) -> None:
    """Compare along a random walk, in reached states and in random states; count the compared steps of each action."""
    instance, chance = wish.instance, random.Random(wish.seed)
    reference, compiled = Reference(instance), Compiled(instance, wish.kernel)
    steps: list[int] = []
    here = chance.choice(instance.initial_states)
    for _ in range(length):
        found = compare(reference, compiled, here)
        assert found is not None, f"fails in a reachable state: {spelled(instance, here)}"
        steps += [number for number, _ in found]
        here = chance.choice(found)[1] if found else chance.choice(instance.initial_states)
    states = states_with_rare_actions(compiled, compared, reached)
    for cells in [*states, *(random_state(instance, chance) for _ in range(anywhere))]:
        steps += [number for number, _ in compare(reference, compiled, cells) or ()]
    compared.update(instance.step(number).action for number in steps)


def states_with_rare_actions(compiled: Compiled, compared: Counter[str], most: int) -> list[Cells]:
    """States of a search in which actions are enabled that were compared least; random walks seldom come as far."""
    instance = compiled.instance
    found = explore(instance, SEARCHED, count_all=True, keep_states=True, kernel=compiled.kernel).reached
    assert found is not None
    enabled = {
        cells: {instance.step(number).action for number in compiled.enabled(cells)} for cells in found.sample(15 * most)
    }
    seen = Counter(compared)
    states: list[Cells] = []
    while len(states) < most and (rest := {cells: some for cells, some in enabled.items() if some}):
        states.append(min(rest, key=lambda cells: min(seen[action] for action in rest[cells])))
        seen.update(enabled.pop(states[-1]))
    return states


def protocols_of(name: str) -> list[str]:
    """The protocols of a registered model: the protocol in its name, or all."""
    model, named = registry.load(name)
    return list(model.protocols) if named is None else [named]


def choices(name: str, instance: Instance) -> set[tuple[str, str, int]]:
    """What a draw has chosen among protocols with the same shapes: values with names, and budgets (1: not none)."""
    shapes, values = shapes_of(name, instance.protocol.name), dict(instance.configuration.items())
    entries = instance.model.entries.items()
    return {
        *((shapes, entry_name, values[entry_name]) for entry_name, entry in entries if entry.values is not None),
        *((shapes, entry_name, 1) for entry_name, entry in entries if entry.is_budget and values[entry_name]),
    }


def possible_choices(name: str) -> set[tuple[str, str, int]]:
    """All that a draw can choose: what contradicts nothing else in one of the protocols with the same shapes."""
    found = set()
    for protocol in protocols_of(name):
        model = registry.load(name)[0]
        for entry_name, entry in model.entries.items():
            most = entry.most if entry.values is not None else 1 if entry.is_budget else -1
            for value in range(entry.least if entry.values is not None else 1, (most or 0) + 1):
                if legal_values(model, protocol, {}, {entry_name: value}):
                    found.add((shapes_of(name, protocol), entry_name, value))
    return found


def apart(shapes: list[int], examples: int) -> list[list[int]]:
    """The shapes one by one if there are several draws for each: of many shapes, few draws would leave some out."""
    return [[shape] for shape in shapes] if examples >= 2 * len(shapes) else [shapes]


LATER = [(name, 6) for name in ("kafka", "transactions", "published/kip_101", "published/kip_279")]
"""Relatives of those that CI compares."""


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "divisor"),
    sampled(
        [("kafka", 30), *DERIVED, *((name, divisor) for name in UNCONSTRAINED for divisor in SAMPLES)],
        lambda one: one[1] > 1 and one[0] in ("published/kip_320", "examples/two_phase_commit"),
        last=lambda one: one[1] == 1 or one in LATER,
    ),
)
def test_reference_and_kernel_take_the_same_steps(name: str, divisor: int) -> None:
    compared: Counter[str] = Counter()
    chosen: set[tuple[str, str, int]] = set()
    unchanged: set[str] = set()

    def agree(wish: Wish) -> None:
        walk(wish, compared, length=40, reached=20, anywhere=10)
        instance = wish.instance
        chosen.update(choices(name, instance))
        if all(getattr(instance.configuration, entry) == value for entry, value in instance.protocol.switches.items()):
            unchanged.add(instance.protocol.name)

    for protocol in protocols_of(name):
        alike = sum(shapes_of(name, one) == shapes_of(name, protocol) for one in protocols_of(name))
        examples = max(EXAMPLES[family_of(name)], OF_EACH_SHAPE // alike, divisor) // divisor
        parts = apart(legal_shapes(name, protocol), examples)
        for shapes in parts:
            drawn(examples // len(parts))(seed(f"{protocol} {shapes}")(given(wishes(name, protocol, shapes))(agree)))()
    assert compared.total() >= LEAST_STEPS[family_of(name)] // (divisor + 2 if divisor > 1 else 1)
    if divisor == 1:
        assert unchanged == set(protocols_of(name))
        assert chosen >= possible_choices(name)
        assert compared.keys() == {
            action.name
            for number, action in enumerate(registry.load(name)[0].actions)
            if any(has_action(name, protocol, number) for protocol in protocols_of(name))
        }


def test_every_family_and_shape_is_compared() -> None:
    assert {family_of(name) for name in registry.names()} == set(EXAMPLES) == set(LEAST_STEPS)
    assert set(SHAPES) == {
        shapes_of(name, protocol) for name in registry.names() for protocol in registry.load(name)[0].protocols
    }


def protocols_with(shapes: str) -> tuple[str, Model, list[str]]:
    """The first model with these shapes: its name, the model, and its protocols that have them, oldest first."""
    found = [(name, one) for name in registry.names() for one in registry.load(name)[0].protocols]
    name = next(name for name, one in found if shapes_of(name, one) == shapes)
    model, named = registry.load(name)
    return name, model, [named] if named else [one for one in model.protocols if shapes_of(name, one) == shapes]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "shapes", sampled(SHAPES, lambda shapes: shapes not in ("kafka, ALTER_PARTITION", "kafka, KRAFT"))
)
def test_random_states_err_in_both_or_in_neither(shapes: str) -> None:
    """Most states are unreachable; in some an index or a value leaves its range, which no engine may overlook."""
    name, model, protocols = protocols_with(shapes)
    instance = model.instance(protocols[0], SHAPES[shapes][0])
    reference, compiled = Reference(instance), Compiled(instance, kernel_for(name, protocols[0], 0))
    chance = random.Random(12)
    failed = sum(compare(reference, compiled, random_state(instance, chance)) is None for _ in range(500))
    # Kafka's leader can be NONE where an action indexes with it, and sequence numbers and epochs can be too large, as
    # can be what barriers count; below the end of a random log there may be no record, and more brokers than there are;
    # it may start locally within a segment. The coordinator's log can be full, and a consumer can poll without a
    # position. The other models guard every index, and everything that they count.
    fails = shapes.startswith(
        ("kafka", "exactly_once", "transactions", "coordinator", "consumer_commits", "quorum", "tier", "examples/tla")
    )
    assert (0 < failed < 500) if fails else failed == 0


@pytest.mark.whole
@pytest.mark.parametrize("shapes", [one for one in SHAPES if not one.startswith("examples")])
def test_one_kernel_serves_all_run_time_values_for_the_same_bounds(shapes: str) -> None:
    _, model, protocols = protocols_with(shapes)

    def code(wanted: Mapping[str, int], protocol: str) -> tuple[str, str]:
        instance = model.instance(protocol, legal_values(model, protocol, SHAPES[shapes][0], wanted))
        with new_module() as built:
            KernelCode(built, instance, layout_of(instance)).build()
            return kernel_key(instance, None), built.assembly()

    run_time = {name: entry for name, entry in model.entries.items() if not entry.is_bound}
    least = {name: entry.least for name, entry in run_time.items()}
    third = {name: entry.least + 3 if entry.most is None else min(entry.most, 3) for name, entry in run_time.items()}
    assert code(least, protocols[0]) == code(third, protocols[-1])


# ------------------------------------------------------------------------------------------------- the test of the test

ALL_COMMITTED = (2, 2, 2, 1, 1, 1, 1, 1, 1, 1)
"""The last state of two-phase commit: phases, decision, who is known to be prepared, who said so."""


def _loses_an_action(compiled: Compiled) -> None:
    index = [one.name for one in compiled.instance.model.actions].index("resource_manager_receives_commit")
    compiled.plain[compiled.kernel.layout.first_choice + index] = ABSENT


def _loses_a_property(compiled: Compiled) -> None:
    compiled.active[:] = 0


def _is_in_another_state(compiled: Compiled) -> None:
    expand, first = compiled.kernel.expand, compiled.kernel.layout.pack(compiled.instance.initial_states[0])
    compiled.kernel = replace(compiled.kernel, expand=lambda _, *rest: expand(first.ctypes.data, *rest))


@pytest.mark.parametrize("spoil", [_loses_an_action, _loses_a_property, _is_in_another_state])
def test_a_differing_kernel_is_detected(spoil: Callable[[Compiled], None]) -> None:
    model, _ = registry.load("examples/two_phase_commit")
    instance = model.instance(None, SHAPES["examples"][0])
    compiled = Compiled(instance, kernel_for("examples/two_phase_commit", "", 0))
    found = compare(Reference(instance), compiled, ALL_COMMITTED)
    assert [instance.spell_step(instance.step(number)) for number, _ in found or ()] == [
        "resource_manager_receives_commit 0",
        "resource_manager_receives_commit 1",
        "resource_manager_receives_commit 2",
    ]
    spoil(compiled)
    with pytest.raises(AssertionError):
        compare(Reference(instance), compiled, ALL_COMMITTED)
