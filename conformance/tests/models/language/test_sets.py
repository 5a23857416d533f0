"""Fields that are sets: one meaning in all readings, printed as sets; what else is done with them is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.tests.checker.reductions.test_symmetry import searched
from conformance.tests.support.trace import trace
from isrcheck.models import registry, run
from isrcheck.models.language.expression import read_expression
from isrcheck.models.language.ir.nodes import IsIn, visit
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import LanguageError, ModelError
from isrcheck.traces.format.why_false import why_broken

PRELUDE = '''"""Replicas join and leave sets."""

from enum import IntEnum

from isrcheck.language import (
    Domain, Flag, Set, Subset, action, always, always_step, between, bound, field, initial, optional,
    require, sometimes,
)


class Configuration:
    n = bound(3, "replicas")


class Replica(Domain, size="n", symmetric=True):
    pass


class Part(Domain, size=2):
    pass


class Replicas(Subset, of=Replica):
    pass


class Colour(IntEnum):
    RED = 0
    BLUE = 1


class State:
    isr = field(Part, values=Set(of=Replica), initially=Replica)
    caught_up = field(values=Set(of=Replica), initially=Replica)
    seen = field(values=Set(of=Colour), initially={1})
    leader = field(values=Replica)
    rounds = field(values=between(0, 2))
'''

STEPS = """
@action
def shrink(s, p: Part, r: Replica):
    require(r in s.isr[p] and len(s.isr[p]) > 1)
    s.isr[p].discard(r)
    s.seen.add(Colour.RED)


@action
def catch_up(s, chosen: Replicas):
    require(s.leader in chosen and chosen <= s.caught_up)
    require(s.caught_up != chosen)
    s.caught_up = chosen


@action
def expand(s, r: Replica):
    require(s.rounds < 2)
    s.rounds += 1
    for p in Part:
        if r not in s.isr[p]:
            s.isr[p].add(r)
    for other in s.caught_up:
        if other != s.leader and other not in s.isr[0]:
            s.isr[1].discard(other)
    s.seen.clear()


@action
def copy(s):
    require(s.isr[0] < s.isr[1])
    s.isr[1] = s.isr[0]
    s.seen = set()


@always
def leader_is_caught_up(s):
    return s.leader in s.caught_up


@always
def is_in_sync(s):
    return all(s.isr[p] >= s.caught_up or len(s.isr[p]) > 0 for p in Part)


@always
def leader_is_in_isr(s):
    return any(s.leader in s.isr[p] and all(r in s.caught_up for r in s.isr[p]) for p in Part)


@sometimes
def one_is_left(s):
    return all(sum(1 for r in s.isr[p]) == 1 for p in Part) and s.isr[0] == s.isr[1]


@always_step
def nothing_is_forgotten(before, after):
    return before.seen <= after.seen or len(after.seen) == 0
"""


def write(folder: Path, body: str, prelude: str = PRELUDE) -> Path:
    path = folder / "sets.py"
    path.write_text(prelude + body, encoding="utf-8")
    return path


def action(*lines: str, parameters: str = "s, r: Replica, chosen: Replicas") -> str:
    return "\n".join(["@action", f"def act({parameters}):", *(f"    {line}" for line in lines), ""])


def instance_of(folder: Path, body: str, **values: int) -> Instance:
    return registry.load_file(write(folder, body)).instance(None, values)


def test_a_set_takes_one_bit_for_each_element(tmp_path: Path) -> None:
    layouts = instance_of(tmp_path, STEPS, n=7).layouts
    assert [(one.sizes, one.low, one.high) for one in layouts.values()][:3] == [
        ((2, 7), 0, 1),
        ((7,), 0, 1),
        ((2,), 0, 1),
    ]


def test_the_set_of_a_generator_may_stand_in_brackets(tmp_path: Path) -> None:
    """What the generator says of its variable is written without them."""
    claim = "\n\n@always\ndef all_are_down(s):\n    return all(s.rounds == 0 for r in (  # all\n        s.caught_up))\n"
    instance = instance_of(tmp_path, action("s.rounds = 1", parameters="s") + claim)
    function = next(prop.function for prop in instance.properties if prop.name == "all_are_down")
    texts = {node.span.text for node in visit(function.routine.written) if isinstance(node, IsIn)}
    assert texts == {"r in s.caught_up"}
    assert "r in s.caught_up" in "\n".join(why_broken(trace(instance, ["act"], "all_are_down")).lines())


def refusal_at_the_mark(path: Path) -> str:
    """The message about the file, after the place, which is the line that ends with `# <-`."""
    with pytest.raises(LanguageError) as refusal:
        registry.load_file(path)
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if text.endswith("# <-"))
    place, message = f"{path}:{line}: ", str(refusal.value)
    assert message.startswith(place)
    return message.removeprefix(place)


def assert_refused_at_the_mark(path: Path, says: str) -> None:
    message = refusal_at_the_mark(path)
    assert message.startswith("in act: ")
    assert says in message


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("s.isr.add(r)  # <-", "the set `isr` takes 1 index, not 0; a set is read by x in s.isr[...]"),
        ("s.isr[0][r] = True  # <-", "the set `isr` takes 1 index, not 2; a set is read by"),
        ("s.leader = s.seen  # <-", "the set `s.seen` is used as a value; a set is read by x in s.seen"),
        ("s.seen.remove(0)  # <-", "`s.seen.remove(...)` is not in the language; write s.seen.discard(x)"),
        ("s.seen.pop()  # <-", "a set has no `pop`; a set is changed by s.seen.add(x)"),
        ("s.seen.add(0, 1)  # <-", "`add` takes 1 element, but this call passes more or fewer; write s.seen.add(...)"),
        (
            "s.seen |= chosen  # <-",
            "`s.seen |= chosen` changes a set with an operator; a set is changed by s.seen.add(x), s.seen.discard(x)",
        ),
        ("s.seen = 3  # <-", "`3` is assigned to the set `s.seen`; assign another set, set() or {x, y}"),
        ("s.seen = chosen  # <-", "a set of Replica is assigned to a set of Colour; assign a set of the same domain"),
        ("chosen.add(r)  # <-", "the parameter `chosen` is changed; change only sets of the state"),
        ("require(s.seen <= s.isr[0])  # <-", "`s.seen <= s.isr[0]` compares sets of Colour and of Replica"),
        (
            "require(s.seen == 0)  # <-",
            "`s.seen == 0` compares a set with a value that is no set; compare the set with another set",
        ),
        ("require(s.isr[0] < s.isr[1] < chosen)  # <-", "compare two sets at a time, with `and` between"),
        (
            "require(s.caught_up.issubset(chosen))  # <-",
            "`s.caught_up.issubset(...)` is not in the language; write s.caught_up <= ...",
        ),
        ("require(s.seen.add(0) == 1)  # <-", "`s.seen.add(...)` is used as a value; write it as a statement"),
        ("require(all(p in s.isr[p] for p in s.isr[p]))  # <-", "`p` is a variable of the generator, which has no"),
        (
            "require(all(p in s.caught_up async for p in s.caught_up))  # <-",
            "the generator has `async for`, which the language lacks; write a plain `for`",
        ),
        (
            "s.rounds = max(p for p in s.caught_up)  # <-",
            "goes through a set, so it may have no element; give the value for that case",
        ),
        ("s.rounds = len(s.isr)  # <-", "the set `isr` takes 1 index, not 0"),
        (
            "s.rounds = len(s.isr[0:1])  # <-",
            "`s.isr[0:1]` is a slice; read one element at a time, in a loop over range(m, n)",
        ),
        (
            "s.rounds = len({r})  # <-",
            "`len({r})` is not the length of a domain, a set or a queue; give len(...) a domain or a set",
        ),
        ("len = len(s.seen)  # <-", "`len` has no value here"),
    ],
)
def test_what_is_no_use_of_a_set_is_refused(tmp_path: Path, code: str, says: str) -> None:
    assert_refused_at_the_mark(write(tmp_path, action(code)), says)


@pytest.mark.parametrize("holder", ["s.caught_up", "Replica"])
def test_memberships_in_each_other_stay_one_read_each(tmp_path: Path, holder: str) -> None:
    element = "r"
    for _ in range(20):
        element = f"({element} in {holder})"
    registry.load_file(write(tmp_path, action(f"require{element}")))


ELEMENTS = "give a domain or an IntEnum, as in: class Number(Domain, size=4)"


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        (
            "x = Set(of=Replica)",
            "`x` is declared as the values of a field, not as a field; write x = field(values=Set(...))",
        ),
        ("x = field(values=Set(of=3))", f"Set(of=3) is not possible; {ELEMENTS}"),
        ("x = field(values=Set(of=Flag))", f"Set(of=Flag) is not possible; {ELEMENTS}"),
        ("x = field(values=Set(of=between('n', 5)))", f"Set(of=between('n', 5)) is not possible; {ELEMENTS}"),
        (
            "x = field(values=Set(of=Set(of=Replica)))",
            "Set(of=Set(...)): a set is no single value; index the field, as in field(Node, values=Set(...))",
        ),
        ("x = field(values=Set(Replica))", "Set(Replica) lacks of=; write it as in Set(of=Node)"),
        ("x = field(values=Set)", "field(values=Set): Set lacks its elements; write it as in Set(of=Node)"),
        (
            "x = field(values=Replicas)",
            "field(values=Replicas): Replicas is a Subset, which only a parameter can be; write"
            " field(values=Set(of=Replica))",
        ),
        (
            "x = field(values=optional(Set(of=Replica)))",
            "optional(Set(...)): a set can be empty instead; leave optional(...) out",
        ),
        (
            "x = field(values=Set(of=Replica), initially=1)",
            "a set is initially 1; give initially= a set of numbers, or Replica for all elements",
        ),
    ],
)
def test_a_wrong_declaration_is_refused(tmp_path: Path, declared: str, says: str) -> None:
    path = write(tmp_path, f"    {declared}  # <-\n" + action("s.rounds = 1"))
    assert refusal_at_the_mark(path) == says


def test_two_names_of_one_number_are_one_element(tmp_path: Path) -> None:
    path = write(tmp_path, STEPS, PRELUDE.replace("    BLUE = 1\n", "    BLUE = 1\n    AZURE = 1\n"))
    assert registry.load_file(path).instance().layouts["seen"].sizes == (2,)


def test_a_set_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="field isr holds sets of Replica, which has no element; give"):
        _ = instance_of(tmp_path, STEPS, n=0).layouts


@pytest.mark.parametrize(("given", "n"), [(7, 3), (2, 2), (-1, 3)])
def test_an_initial_element_outside_the_domain_is_refused(tmp_path: Path, given: int, n: int) -> None:
    declared = f"    learners = field(Part, values=Set(of=Replica), initially={{0, {given}}})\n"
    with pytest.raises(ModelError) as refusal:
        _ = instance_of(tmp_path, declared + STEPS, n=n).layouts
    line = PRELUDE.count("\n") + 1
    says = f"field learners is initially a set with {given}; give elements in 0..{n - 1}"
    assert str(refusal.value) == f"{tmp_path / 'sets.py'}:{line}: {says}"


@pytest.mark.parametrize(
    ("given", "says"),
    [("[True, False]", "give a set, as in {0, 1}"), ("{2}", "give elements in 0..1"), ("{0, 1}", "")],
)
def test_initial_states_are_given_as_sets(tmp_path: Path, given: str, says: str) -> None:
    start = f'@initial\ndef starts(configuration):\n    yield {{"seen": {given}, "isr": [{{0}}, set()]}}\n'
    instance = instance_of(tmp_path, STEPS + start, n=2)
    if says:
        with pytest.raises(ModelError, match=says):
            _ = instance.initial_states
    else:
        assert instance.initial_states == ((1, 0, 0, 0, 1, 1, 1, 1, 0, 0),)


def test_an_element_outside_the_domain_leaves_the_range(tmp_path: Path) -> None:
    steps = action("require(s.rounds + 5 in s.isr[0])", "s.rounds = 1", parameters="s")
    instance = instance_of(tmp_path, steps)
    with pytest.raises(ModelError, match=r"act: index 5 of isr is outside 0..2; test the index before it is used"):
        list(run.successors(instance, instance.initial_states[0]))
    assert searched(instance, None).findings["in_range"].found.count == 1


def test_an_expression_may_ask_for_sets(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, STEPS)
    function = read_expression(instance, "len(s.isr[0]) + (s.leader in s.isr[1]) + (s.isr[0] == s.isr[1])")
    assert instance.python(function)(run.State(instance, instance.initial_states[0])) == 5
