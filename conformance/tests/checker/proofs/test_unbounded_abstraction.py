"""The unbounded abstraction over-approximates: it allows every step of the model, for all sizes of open domains.

Steps of all generations of Kafka are projected to the fields of the abstraction, which has to allow them. If it
lacked a step, a false property could be proved.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support.compared.symbolic import states_of
from conformance.tests.support.unbounded_abstraction import Projection
from isrcheck.checker.proofs.unbounded_abstraction import OPEN, UnboundedAbstraction
from isrcheck.checker.resources.limits import Answer
from isrcheck.models import registry
from isrcheck.models.kafka.state.values import Controller
from isrcheck.models.language.model import Instance, Property
from isrcheck.testing import legal_values

# --------------------------------------------------------------------------------------------------------- all of Kafka

KAFKA, _ = registry.load("kafka")
SWITCHES = [name for name, entry in KAFKA.entries.items() if not entry.is_open and not entry.is_bound]

LEAST_STEPS = 260
"""How many different steps of a generation are looked for at least, under its own switches and under others."""


def drawn(chance: random.Random, protocol: str, replicas: int, *, own_switches: bool) -> Iterator[Instance]:
    """Random instances of a generation that differ only in open entries; nothing in them contradicts the rest."""
    fixed = {"replicas": replicas}
    if not own_switches:
        fixed |= {"TRUNC": KAFKA.protocols[protocol].switches["TRUNC"], "HW_CLAMPED_AT_TRUNCATION": 1}
        wanted = {name: chance.randint(KAFKA.entries[name].least, KAFKA.entries[name].most or 0) for name in SWITCHES}
        fixed = legal_values(KAFKA, protocol, fixed, {name: wanted[name] for name in wanted if name not in fixed})
    while True:
        wanted = {}
        for name, entry in KAFKA.entries.items():
            if entry.is_open:
                most = entry.least + 2 if entry.most is None else min(entry.most, entry.least + 2)
                wanted[name] = chance.randint(entry.least, most)
        instance = KAFKA.instance(protocol, legal_values(KAFKA, protocol, fixed, wanted))
        if instance.initial_states:
            yield instance


def steps_looked_for(
    protocol: str, replicas: int, *, own_switches: bool, draws: int, each: int
) -> tuple[int, set[str]]:
    """Check that the abstraction allows the steps of random walks; return their number and their actions."""
    chance = random.Random(f"{protocol} {replicas} {own_switches}")
    instances = drawn(chance, protocol, replicas, own_switches=own_switches)
    abstraction = UnboundedAbstraction(next(instances))
    properties = [prop for prop in (*KAFKA.properties, *KAFKA.lemmas) if prop.every_length]
    assert {prop.name for prop in properties} >= {"offsets_ordered", "high_watermark_monotonic"}
    asked, actions = 0, set()
    for _, instance in zip(range(draws), instances, strict=False):
        projection = Projection(abstraction, properties)
        found = {}
        for cells in states_of(instance, chance, walked=25, anywhere=5):
            found |= projection.projected(instance, cells)
        ordered = sorted(found, key=repr)
        for one in chance.sample(ordered, min(each, len(ordered))):
            assert projection.allows(instance, one), f"{instance.configuration} {one}"
            actions.add(one.step[0])
            asked += 1
    return asked, actions


@pytest.mark.parametrize(
    ("protocol", "own_switches"),
    sampled(
        [(protocol, own) for protocol in KAFKA.protocols for own in (True, False)],
        lambda one: False,
        last=lambda one: one != ("4.1", True),
    ),
)
def test_every_step_of_the_model_is_allowed_by_the_abstraction(protocol: str, own_switches: bool) -> None:
    asked, actions = steps_looked_for(protocol, 2, own_switches=own_switches, draws=16, each=18)
    assert asked >= LEAST_STEPS
    assert len(actions) >= 20
    asked, _ = steps_looked_for(protocol, 3, own_switches=own_switches, draws=2, each=5)
    assert asked == 10


def test_more_than_two_thousand_steps_are_compared() -> None:
    assert 2 * len(KAFKA.protocols) * LEAST_STEPS >= 2_000


def test_the_abstraction_has_the_same_layout_for_every_size() -> None:
    abstraction = UnboundedAbstraction(KAFKA.instance("2.1"))
    by_offset = {"log_record", "log_epoch", "response_record", "response_epoch", "exposed_record"}
    others = {"read_committed_record", "pending", "acknowledged", "transaction_of", "transaction_state"}
    by_epoch = {"metadata_leader", "metadata_isr", "epoch_cache"}
    by_epoch |= {"metadata_leader_epoch", "metadata_partition_epoch", "metadata_assigned", "metadata_adding"}
    by_change = {"changed_min_isr", "min_isr_position", "erases_elr"}
    of_clients = {"log_producer_epoch", "response_producer_epoch", "deleted_record", "consumed_record"}
    assert set(abstraction.layouts) - set(abstraction.kept) == by_offset | others | by_epoch | by_change | of_clients
    assert abstraction.layouts["high_watermark"].high == OPEN
    assert abstraction.layouts["leader"].high == 2


def is_claimed(instance: Instance, prop: Property) -> bool:
    """With KRaft, a partition may have no leader."""
    return prop.name != "the_controller_names_a_leader" or instance.configuration.CONTROLLER == Controller.ZOOKEEPER


@pytest.mark.parametrize(
    "protocol",
    sampled(KAFKA.protocols, lambda one: one == "0.10", last=lambda one: one != "4.1"),
)
@pytest.mark.parametrize("clamp", [True, False], ids=["clamped", "not clamped"])
def test_the_order_of_offsets_is_inductive_exactly_with_the_clamp(protocol: str, clamp: bool) -> None:
    instance = KAFKA.instance(protocol, {"replicas": 2, "HW_CLAMPED_AT_TRUNCATION": clamp})
    abstraction = UnboundedAbstraction(instance)
    claims = [p for p in (*instance.properties, *instance.lemmas) if p.every_length and is_claimed(instance, p)]
    of_states, of_steps = [p for p in claims if not p.of_steps], [p for p in claims if p.of_steps]
    known = [literal for prop in of_states for literal in abstraction.ask(prop, [abstraction.before])]
    broken = set()
    for step in abstraction.steps:
        goals = [(prop.name, *abstraction.ask(prop, [step.after])) for prop in of_states]
        goals += [
            (prop.name, *abstraction.ask(prop, [abstraction.before, step.after], step.taken)) for prop in of_steps
        ]
        solver = abstraction.solver()
        solver.add(*known, step.enabled)
        broken |= {(name, step.action) for name, holds, asked in goals if solver.check(asked, -holds) is not Answer.NO}
    unclamped = {("offsets_ordered", action) for action in BROKEN_WITHOUT_CLAMP[protocol]}
    assert broken == (set() if clamp else unclamped)


TRUNCATING = {"follower_reconciles", "follower_is_out_of_range", "follower_starts_over", "follower_applies_response"}
RESTARTING = {"broker_bounces", "broker_restarts"}
SINCE_2_8 = {*TRUNCATING, "follower_truncates", "broker_restarts"} - {"follower_reconciles"}
BROKEN_WITHOUT_CLAMP = {
    **dict.fromkeys(["0.8", "0.10"], TRUNCATING),
    **dict.fromkeys(["0.11", "2.0", "2.1", "2.4"], TRUNCATING | RESTARTING),
    **dict.fromkeys(["2.8", "3.3"], SINCE_2_8 | {"follower_takes_high_watermark_first"}),
    **dict.fromkeys(["3.5", "3.7", "4.1"], SINCE_2_8),
}
"""The actions after which a high watermark can lie outside its log; up to 0.10, a restarted broker truncates to it."""
