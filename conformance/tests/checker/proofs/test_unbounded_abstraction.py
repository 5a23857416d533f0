"""The unbounded abstraction over-approximates: it allows every step of the model, for all sizes of open domains.

Steps of all generations of Kafka are projected to the fields of the abstraction, which has to allow them. If it lacked
a step, a false property could be proved. Of loops over open domains, it allows everything that small models do at sizes
0 to 4.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.tests.checker.compile.test_kernel import random_state
from conformance.tests.models.language.test_language import only
from conformance.tests.sampling import sampled
from conformance.tests.support.compared.symbolic import states_of
from conformance.tests.support.small_models import claim, domain, entries, model, state, write_model
from conformance.tests.support.unbounded_abstraction import Projection
from isrcheck.checker.proofs.unbounded_abstraction import OPEN, UnboundedAbstraction, UnsupportedError
from isrcheck.checker.resources.limits import Answer
from isrcheck.checker.symbolic.evaluator import Value
from isrcheck.models import registry
from isrcheck.models.kafka.state.values import Controller
from isrcheck.models.language.model import Instance, Model, Property
from isrcheck.models.run import Cells
from isrcheck.testing import legal_values

# --------------------------------------------------------------------------------------------------------- all of Kafka

KAFKA, _ = registry.load("kafka")
SWITCHES = [name for name, entry in KAFKA.entries.items() if not entry.is_open and not entry.is_bound]

LEAST_STEPS = 260
"""How many different steps of a generation are looked for at least, under its own switches and under others."""

LEAST_ACTIONS = 20
"""How many actions these steps are of at least."""

LEAST_EFFECTS = 10
"""How many effects of a loop are looked for at least."""


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


@pytest.mark.recorded
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
    assert len(actions) >= LEAST_ACTIONS
    draws, each = 2, 5
    asked, _ = steps_looked_for(protocol, 3, own_switches=own_switches, draws=draws, each=each)
    assert asked == draws * each


LEAST_IN_ALL = 2_000


def test_more_than_two_thousand_steps_are_compared() -> None:
    assert 2 * len(KAFKA.protocols) * LEAST_STEPS >= LEAST_IN_ALL


def test_the_abstraction_has_the_same_layout_for_every_size() -> None:
    abstraction = UnboundedAbstraction(KAFKA.instance("2.1"))
    by_offset = {"log_record", "log_epoch", "response_record", "response_epoch", "exposed_record"}
    others = {"read_committed_record", "pending", "acknowledged", "transaction_of", "transaction_state"}
    by_epoch = {"metadata_leader", "metadata_isr", "metadata_partition_epoch", "epoch_cache"}
    of_clients = {"log_producer_epoch", "response_producer_epoch", "deleted_record", "consumed_record"}
    assert set(abstraction.layouts) - set(abstraction.kept) == by_offset | others | by_epoch | of_clients
    assert abstraction.layouts["high_watermark"].high == OPEN
    assert abstraction.layouts["leader"].high == 2


def is_claimed(instance: Instance, prop: Property) -> bool:
    """With KRaft, a partition may have no leader."""
    return prop.name != "the_controller_names_a_leader" or instance.configuration.CONTROLLER == Controller.ZOOKEEPER


@pytest.mark.sampled
@pytest.mark.parametrize("protocol", sampled(KAFKA.protocols, lambda one: one == "0.10", last=lambda one: one != "4.1"))
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
    **{key: {"follower_reconciles", "follower_is_out_of_range"} for key in ["0.8", "0.10"]},
    **dict.fromkeys(["0.11", "2.0", "2.1", "2.4"], TRUNCATING | RESTARTING),
    **dict.fromkeys(["2.8", "3.3"], SINCE_2_8 | {"follower_takes_high_watermark_first"}),
    **dict.fromkeys(["3.5", "3.7", "4.0", "4.1", "4.3"], SINCE_2_8),
}
"""The actions after which a high watermark can lie outside its log; up to 0.10, a restarted broker truncates to it, and
no records are deleted, so that no log begins above 0."""


PRELUDE = (
    "\n\n"
    + model(
        entries('n = bound(2, "places", is_open=True)', 'k = bound(2, "nodes")'),
        domain("Place", '"n"'),
        domain("Node", '"k"'),
        state(
            "a[Place]: between(0, 2)",
            "b[Place]: Flag",
            "x: between(0, 3)",
            'y: between(-1, "n")',
            "z[Node]: between(0, 3)",
            "f: Flag",
        ),
    )
    + "\n"
)
HELPERS = """
def first(s):
    for i in range(s.n):
        if s.a[i] == 1 and i < 3:
            return i
    return 3

def first_but(s, least):
    found = 0
    for i in range(s.n):
        for j in range(s.n):
            if s.b[j] and s.a[i] == 2:
                return min(found, 3)
            found += 1
        if found > least:
            return 1
    return 0

def fill(s, value):
    for i in range(s.n):
        s.a[i] = value
        s.x = value

def count(s):
    total = 0
    for i in range(s.n):
        if s.b[i] and total < 3:
            total += 1
    return total

"""

LOOPS_TEXT = """
## counter
for i in range(s.n):
    if s.b[i] and s.x < 3:
        s.x += 1
## counter that falls
for i in range(s.n):
    if s.b[i] and s.x > 0:
        s.x -= 1
## counter that rises and falls
for i in range(s.n):
    if s.b[i] and s.x < 3:
        s.x += 1
    elif s.x > 0:
        s.x -= 1
## reset and counted
for i in range(s.n):
    if s.a[i] == 2:
        s.x = 0
    elif s.x < 3:
        s.x += 1
## two cells
for i in range(s.n):
    if s.a[i] == 1:
        s.x = 1
    if s.a[i] == 2:
        s.z[node] = 2
## one cell that another follows
for i in range(s.n):
    s.z[1] = s.z[0]
    s.z[0] = s.x
    s.x = s.a[i]
## cell by a symbolic index
for i in range(s.n):
    if s.a[i] < 2:
        s.z[s.a[i]] = i if i < 3 else 0
## cell of an open range
for i in range(s.n):
    if s.b[i]:
        s.y = i
## flag
for i in range(s.n):
    s.f = s.b[i] or not s.f
## greatest
for i in range(s.n):
    s.x = max(s.x, s.a[i])
## loops of their own
for i in range(s.n):
    s.x = s.a[i]
for i in range(s.n):
    if s.x < 3:
        s.x += 1
s.z[0] = s.x
## from below and from above
for i in range(1, s.n - 1):
    s.x = s.a[i]
for i in range(NONE, s.n + 1):
    s.y = min(i, s.n)
## nested
for i in range(s.n):
    for j in range(s.n):
        if s.b[j] and s.a[i] == 1 and s.x < 3:
            s.x += 1
## closed in open
for i in range(s.n):
    for j in range(s.k):
        if s.b[i]:
            s.z[j] = s.z[0]
            s.z[0] = j
## open in closed
for j in range(s.k):
    for i in range(s.n):
        if s.b[i] and s.z[j] < 3:
            s.z[j] += 1
## in a branch that may fail
if s.f:
    s.x += 1
    for i in range(s.n):
        if s.b[i] and s.x < 3:
            s.x += 1
## behind a guard
require(s.x < 3)
s.x += 1
for i in range(s.n):
    if s.b[i] and s.x < 3:
        s.x += 1
## guard in a loop
for i in range(s.n):
    require(s.a[i] < 2)
s.f = not s.f
## helper that writes
fill(s, 2)
if s.f:
    fill(s, 1)
## least
least = 3
for i in range(s.n):
    least = min(least, s.a[i])
s.x = least
## local and cell
last = NONE
for i in range(s.n):
    if s.b[i]:
        last = i
        s.x = s.a[i]
s.y = last
## truth value
seen = False
for i in range(s.n):
    if s.b[i]:
        seen = True
s.f = seen
## truth value that becomes a number
total = s.f
for i in range(s.n):
    total = total + s.b[i]
s.x = min(total, 3)
## number that becomes a truth value
seen = 2
for i in range(s.n):
    seen = s.b[i]
s.x = seen
## local of another call
total = 1
for i in range(s.n):
    s.x = count(s)
s.z[0] = total
## loop variable
i = 3
for i in range(s.n):
    s.a[i] = 0
s.x = min(i, 3)
## parameter as a loop variable
for node in range(s.n):
    s.f = s.b[node]
s.x = min(node, 3)
## variable of a loop in a loop
i = 3
for j in range(s.n):
    for i in range(2):
        pass
s.x = i
## loop variable assigned
i = 0
for i in range(s.n):
    if s.b[i]:
        i = 2
s.x = min(i, 3)
## return from a loop
s.x = first(s)
## return from loops
s.x = first_but(s, s.z[0])
## count
s.x = count(s)
if first(s) < 3:
    s.z[0] = count(s)
## read, write, read
s.x = s.a[0]
for i in range(s.n):
    s.a[i] = 0
s.z[0] = s.a[0]
## read, loop that writes more, read
s.x = s.a[0]
for i in range(s.n):
    s.a[i] = 1
    s.f = True
s.z[0] = s.a[0]
## read in a loop and after it
for i in range(s.n):
    s.a[0] = min(i, 2)
    if s.b[i]:
        s.x = s.a[0]
s.z[0] = s.a[0]
## read twice
require(s.n > 1)
s.x = s.a[0]
s.z[0] = s.a[0]
s.z[1] = s.a[1]
## read, write elsewhere, read
s.x = s.a[0]
s.a[node] = 1
s.z[0] = s.a[0]
## write in a branch
if s.f:
    s.a[0] = 1
    s.x = s.a[0]
else:
    s.x = s.a[0]
s.z[0] = s.a[0]
## folds
s.f = any(s.b[i] for i in range(s.n))
if all(s.b[i] == (s.a[i] > 0) for i in range(s.n)):
    s.x = 0
## fold in a fold
s.x = sum(1 for j in range(s.k) if any(s.a[i] == j for i in range(s.n)))
## cell by a flag
s.z[s.f] = s.x
s.z[s.x and 1] += s.f
## size asked for twice
require(s.n > 2)
s.y = s.n
s.x = s.a[0]
## size as a number
s.y = s.n
if s.n > 2:
    s.x = 3
"""
"""Bodies of an action with a parameter `node`, each below its name."""

LOOPS = {
    name: body for name, _, body in (one.strip().partition("\n") for one in LOOPS_TEXT.split("## ") if one.strip())
}


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> tuple[Model, Projection]:
    """One model with an action for each body, and one solver for all of them."""
    model = registry.load_file(written(tmp_path_factory.mktemp("loops"), HELPERS, *LOOPS.values()))
    return model, Projection(UnboundedAbstraction(model.instance()))


def written(folder: Path, helpers: str, *bodies: str, prelude: str = PRELUDE) -> Path:
    text = prelude + helpers
    for number, body in enumerate(bodies):
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        text += f"\n\n@action\ndef act_{number}(s, node: Node):\n{lines}\n"
    path = folder / "mine.py"
    write_model(path, text)
    return path


def contents(instance: Instance, chance: random.Random) -> Iterator[Cells]:
    """States with all or many values of the open fields, and a few values of the others."""
    places = instance.layouts
    open_cells = [
        range(place.low, place.high + 1) for name in ("a", "b") for place in [places[name]] for _ in range(place.count)
    ]
    every = list(itertools.product(*open_cells))
    for _ in range(4):
        other = random_state(instance, chance)[len(open_cells) :]
        for cells in chance.sample(every, min(len(every), 220)):
            yield (*cells, *other)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name", sampled(LOOPS, lambda name: name in list(LOOPS)[::4], last=lambda name: name in list(LOOPS)[1::2])
)
def test_the_abstraction_allows_all_effects_of_a_loop(name: str, loops: tuple[Model, Projection]) -> None:
    model, projection = loops
    chance = random.Random(name)
    action_name = f"act_{list(LOOPS).index(name)}"
    asked = 0
    for size in range(5):
        instance = only(model.instance(None, {"n": size}), action_name)
        found = {}
        for cells in contents(instance, chance):
            found |= projection.projected(instance, cells)
        for one in sorted(found, key=repr):
            assert projection.allows(instance, one), f"{name} with {size}: {one}"
            asked += 1
    assert asked >= LEAST_EFFECTS


# ------------------------------------------------------------------------------------------- but not everything at all

NEVER = {
    "counter": ("after x", "<", "before x"),
    "counter that falls": ("after x", ">", "before x"),
    "greatest": ("after x", "<", "before x"),
    "nested": ("after x", "<", "before x"),
    "open in closed": ("after z", "<", "before z"),
    "in a branch that may fail": ("after x", "<", "before x"),
    "behind a guard": ("before x", "==", 3),
    "guard in a loop": ("after f", "==", "before f"),
    "from below and from above": ("after x", ">", 3),
    "read twice": ("after x", "!=", "after z"),
    "size as a number": ("after y", "<", 0),
    "size asked for twice": ("after y", "<", 3),
    "local of another call": ("after z", "!=", 1),
}
"""What the slice still knows: that a cell never falls, what a loop can write, that what is read twice is the same."""


@pytest.mark.parametrize("name", NEVER)
def test_the_abstraction_allows_no_effect_that_no_iteration_has(name: str, loops: tuple[Model, Projection]) -> None:
    abstraction = loops[1].abstraction
    (step,) = loops[1].steps(f"act_{list(LOOPS).index(name)}", (0,))

    def side(text: str | int) -> Value:
        if isinstance(text, int):
            return text
        when, field = text.split()
        return {"before": abstraction.before, "after": step.after}[when][abstraction.layouts[field].offset]

    left, sign, right = NEVER[name]
    never = abstraction.evaluator.compare(sign, side(left), side(right))
    solver = abstraction.solver()
    assert (solver.check(step.enabled, never), solver.check(step.enabled, -never)) == (Answer.NO, Answer.YES)


# ------------------------------------------------------------------------------------------------- what is open at all

SIZES = {
    "a": ("lambda c: c.n", OPEN),
    "b": ("lambda c: c.n - c.m + 3", OPEN),
    "c": ("lambda c: min(c.n, 2)", OPEN),
    "d": ("lambda c: 3 if c.n > 4 else 1", OPEN),
    "e": ("lambda c: dict(c.items())['n']", OPEN),
    "f": ("lambda c: c.n if c.W else 4", 4),
    "g": ("lambda c: c.k + 1", 3),
    "h": ("'n'", OPEN),
    "i": ("'k'", 2),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_size_that_depends_on_an_open_entry_is_open(tmp_path: Path, name: str) -> None:
    """Two sizes may be equal in one configuration and differ in another."""
    size, expected = SIZES[name]
    prelude = PRELUDE.replace("    k = bound", '    m = budget(1, "faults")\n    W = switch(False, "")\n    k = bound')
    prelude = prelude.replace("class Place(", f"class Odd(Domain, size={size}):\n    pass\n\nclass Place(")
    prelude = prelude.replace("    setting,", "    setting, switch,") + "    odd = field(Odd, values=Flag)\n"
    prelude += f"    wide = field(values=between(0, {size}))\n"
    abstraction = UnboundedAbstraction(
        registry.load_file(written(tmp_path, "", "s.f = True", prelude=prelude)).instance()
    )
    assert abstraction.open == {"n", "m"}
    assert abstraction.layouts["odd"].sizes == (expected,)
    assert abstraction.layouts["wide"].high == expected
    assert ("odd" in abstraction.kept) == (expected != OPEN)


def assert_allowed(model: Model, projection: Projection, chance: random.Random, sizes: int, draws: int) -> None:
    """The abstraction allows every step from random states of the model in all these sizes."""
    for size in range(sizes):
        instance = model.instance(None, {"n": size})
        starts = [random_state(instance, chance) for _ in range(draws)]
        for step in {step for cells in starts for step in projection.projected(instance, cells)}:
            assert projection.allows(instance, step), step


@pytest.mark.sampled
def test_a_range_may_be_open_below_and_may_be_one_value(tmp_path: Path) -> None:
    prelude = (
        PRELUDE
        + "    low = field(values=between(lambda c: -c.n, 0))\n    one = field(values=between(3, 3), initially=3)\n"
    )
    bodies = "s.low -= 1", "for i in range(s.n):\n    s.low = -i\n    s.one = 3", "require(s.n > s.x)\ns.low = 0 - s.x"
    model = registry.load_file(written(tmp_path, "", *bodies, prelude=prelude))
    assert_allowed(model, Projection(UnboundedAbstraction(model.instance())), random.Random(5), 4, 60)


def test_an_argument_may_be_open(tmp_path: Path) -> None:
    path = written(tmp_path, "", "require(s.b[place])\ns.y = place\ns.x = s.a[place]\ns.b[place] = False")
    path.write_text(path.read_text().replace("node: Node", "node: Node, place: Place"))
    model = registry.load_file(path)
    projection = Projection(UnboundedAbstraction(model.instance()))
    assert {step.arguments for step in projection.abstraction.steps} == {(0, None), (1, None)}
    assert_allowed(model, projection, random.Random(7), 5, 20)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("s.x = sum(s.a[i] for i in range(s.n))", "act_0 has a sum over an open (unbounded) domain"),
        ("s.f = some[0]", "act_0 has an argument that is a subset of an open (unbounded) domain"),
    ],
)
def test_syntax_outside_the_abstraction_is_refused(tmp_path: Path, body: str, says: str) -> None:
    prelude = PRELUDE.replace("class Node(", "class Places(Subset, of=Place):\n    pass\n\nclass Node(")
    path = written(tmp_path, "", body, prelude=prelude)
    if "some" in body:
        write_model(path, path.read_text(encoding="utf-8").replace("node: Node", "some: Places"))
    with pytest.raises(UnsupportedError) as refusal:
        UnboundedAbstraction(registry.load_file(path).instance())
    assert str(refusal.value).startswith(f"{path}:")
    assert says in str(refusal.value)


def test_what_stands_twice_in_the_representation_is_evaluated_once(tmp_path: Path) -> None:
    """The middle of a chain, and the indices of `+=`: an arbitrary number is the same one."""
    path = written(tmp_path, HELPERS, "require(2 <= first(s) <= 1)", "s.z[min(first(s), 1)] += 1")
    abstraction = UnboundedAbstraction(registry.load_file(path).instance())
    assert {step.action for step in abstraction.steps} == {"act_1"}
    z, solver, compare = abstraction.layouts["z"], abstraction.solver(), abstraction.arithmetic.compare
    cells = slice(z.offset, z.offset + z.count)

    def is_possible(*after: int) -> bool:
        return any(
            solver.check(
                step.enabled,
                *(compare("==", *pair) for pair in zip(abstraction.before[cells], (0, 2), strict=True)),
                *(compare("==", *pair) for pair in zip(step.after[cells], after, strict=True)),
            )
            is Answer.YES
            for step in abstraction.steps
        )

    assert [after for after in itertools.product(range(4), repeat=2) if is_possible(*after)] == [(0, 3), (1, 2)]


PROPERTIES = (
    "\n"
    + model(
        claim("always", "ordered(s)", "s.x <= s.z[0] and first(s) <= 3"),
        claim("always", "some(s)", "any(s.b[i] for i in range(s.n)) and s.y < s.n"),
        claim("always", "counted(s)", "count(s) <= s.x or s.f"),
        claim(
            "always_step",
            "rises(before, after, taken)",
            "before.x <= after.x and (taken == act_0 or before.f == after.f)",
        ),
        claim(
            "always_step",
            "read_in_both(before, after)",
            "before.n == 0 or before.a[0] <= after.a[0] or first(before) >= first(after) + 3",
        ),
    )
    + "\n"
)


@pytest.mark.sampled
def test_properties_can_have_the_same_value_in_the_abstraction_as_in_the_model(tmp_path: Path) -> None:
    bodies = LOOPS["counter"], LOOPS["flag"], LOOPS["read, write, read"]
    path = written(tmp_path, HELPERS, *bodies)
    model = registry.load_file(write_model(path, path.read_text(encoding="utf-8") + "\n" + PROPERTIES))
    projection = Projection(UnboundedAbstraction(model.instance()), model.properties)
    chance = random.Random(6)
    said = set()
    for size in range(4):
        instance = model.instance(None, {"n": size})
        found = {one for _ in range(40) for one in projection.projected(instance, random_state(instance, chance))}
        for one in chance.sample(sorted(found, key=repr), min(len(found), 120)):
            assert projection.allows(instance, one), one
            said.update(one.truths)
    assert said == {(prop.name, truth) for prop in model.properties for truth in (True, False)}
