"""The digest of a function: what it does counts, and how it is written does not."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from isrcheck.models import registry
from isrcheck.models.language.ir.digest import of_routine
from isrcheck.models.language.ir.nodes import Store
from isrcheck.models.language.model import Model
from isrcheck.models.language.mutants import mutants
from isrcheck.models.language.reading.reader import Function

LIMITS = "LIMIT = 3\n"
ROLES = "from enum import IntEnum\n\n\nclass Role(IntEnum):\n    FOLLOWER = 0\n    LEADER = 1\n    LAST = 2\n"
INNER = "def inner(s, number):\n    return number + s.high * 2\n"
OUTER = "from inner import inner\n\n\ndef outer(s, number):\n    return min(inner(s, number), 5)\n"
TEXT = '''"""A model."""

from limits import LIMIT
from outer import outer
from roles import Role

from isrcheck.language import Domain, Subset, action, always, between, bound, field, require


class Configuration:
    nodes = bound(2, "nodes")
    others = bound(2, "others")


class Node(Domain, size="nodes"):
    pass


class Other(Domain, size="others"):
    pass


class Nodes(Subset, of=Node):
    pass


class State:
    at = field(Node, values=between(0, 9))
    low = field(values=between(0, 9))
    high = field(values=between(0, 9))
    leads = field(Node, values=Role)


@action
def rise(s, node: Node, group: Nodes):
    """It rises."""
    rest = s.high - s.low
    require(s.leads[node] == Role.LEADER)
    if rest < LIMIT and any(s.at[other] < rest for other in Node):
        s.high = outer(s, rest)
    for one in range(2):
        s.low = one
    s.at[node] = 0


@always
def stays(s):
    return s.low <= s.high or len(Node) < 9
'''
MODULES = {"limits": LIMITS, "roles": ROLES, "inner": INNER, "outer": OUTER, "model": TEXT}

Load = Callable[..., Model]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Load the model, with other texts of some modules, as in a new process."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def loaded(**texts: str) -> Model:
        importlib.invalidate_caches()
        for name, text in (MODULES | texts).items():
            monkeypatch.delitem(sys.modules, name, raising=False)
            (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        return registry.load_file(tmp_path / "model.py")

    return loaded


def changed(module: str, *changes: tuple[str, str]) -> dict[str, str]:
    text = MODULES[module]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return {module: text}


def rise(model: Model) -> Function:
    return model.actions[0].alternatives[0]


# -------------------------------------------------------------------------------------------------- how it is written

SAME = {
    "a comment": changed("model", ("    s.at[node] = 0", "    # the end\n    s.at[node] = 0  # zero")),
    "a docstring": changed("model", ('    """It rises."""\n', "")),
    "another docstring": changed("model", ("It rises.", "It goes up.")),
    "the layout": changed("model", ("s.high - s.low", "(s.high\n        -   s.low)")),
    "a local": changed("model", ("rest", "left")),
    "the variable of a loop": changed("model", ("one", "each")),
    "the variable of a generator": changed("model", ("s.at[other] < rest for other", "s.at[one] < rest for one")),
    "a parameter of a helper": changed("inner", ("number", "value")),
    "the name of a helper": {
        **changed("inner", ("inner", "deep")),
        **changed("outer", (" inner\n", " deep\n"), ("(inner", "(deep")),
    },
    "the name of a constant": changed("model", ("import LIMIT", "import LIMIT as MOST"), ("< LIMIT", "< MOST")),
    "a number in place of a constant": changed("model", ("< LIMIT", "< 3")),
    "a number in place of a member": changed("model", ("Role.LEADER", "1")),
    "a constant that is computed": changed("limits", ("LIMIT = 3", "LIMIT = sum([1, 2])")),
    "what no function names": changed("limits", ("LIMIT = 3", "LIMIT = 3\nOTHER = 4")),
    "a range from 0": changed("model", ("range(2)", "range(0, 2)")),
}


@pytest.mark.sampled
@pytest.mark.parametrize("what", SAME)
def test_what_is_written_in_another_way_keeps_the_digest(load: Load, what: str) -> None:
    before, after = load(), load(**SAME[what])
    assert of_routine(rise(before).routine) == of_routine(rise(after).routine)
    assert before.digest == after.digest


# ------------------------------------------------------------------------------------------------------ what it means

OTHER = {
    "a constant of another file": changed("limits", ("3", "4")),
    "a member of an enumeration": changed("roles", ("LEADER = 1\n    LAST = 2", "LAST = 1\n    LEADER = 2")),
    "the operands": changed("model", ("s.high - s.low", "s.low - s.high")),
    "the operator": changed("model", ("s.high - s.low", "s.high + s.low")),
    "a product": changed("inner", ("*", "//")),
    "a comparison": changed("model", ("rest < LIMIT", "rest <= LIMIT")),
    "and": changed("model", ("LIMIT and any", "LIMIT or any")),
    "a gathering": changed("model", ("and any(", "and all(")),
    "an extremum": changed("outer", ("min(", "max(")),
    "one more guard": changed("model", ("    if rest", "    require(s.low < 9)\n    if rest")),
    "one guard less": changed("model", ("    require(s.leads[node] == Role.LEADER)\n", "")),
    "the order of statements": changed(
        "model", ("    s.at[node] = 0\n", ""), ("    for one", "    s.at[node] = 0\n    for one")
    ),
    "a statement in a loop": changed("model", ("    s.at[node] = 0", "        s.at[node] = 0")),
    "another variable": changed("model", ("s.low = one", "s.low = rest")),
    "one variable in place of two": changed("model", ("for one in", "for rest in"), ("= one", "= rest")),
    "the field": changed("model", ("s.low = one", "s.high = one")),
    "a range": changed("model", ("range(2)", "range(1, 2)")),
    "a helper": changed("outer", ("5", "6")),
    "a helper of a helper": changed("inner", ("number + s.high", "number + s.low")),
    "a constant of a helper of a helper": {
        "inner": "from limits import LIMIT\n\n\n" + INNER.replace("s.high", "LIMIT")
    },
    "the domain of a parameter": changed("model", ("rise(s, node: Node", "rise(s, node: Other")),
    "the domain of a loop": changed("model", ("other in Node", "other in Other")),
    "the name of a domain": changed("model", ("Node", "Broker")),
    "the size of a domain": changed("model", ('Node(Domain, size="nodes")', 'Node(Domain, size="others")')),
    "the letters of a domain": changed("model", ('size="nodes")', 'size="nodes", letters=True)')),
}


@pytest.mark.whole
@pytest.mark.parametrize("what", OTHER)
def test_another_meaning_changes_the_digest(load: Load, what: str) -> None:
    before, after = load(), load(**OTHER[what])
    assert of_routine(rise(before).routine) != of_routine(rise(after).routine)
    assert before.digest != after.digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("node: Node, group: Nodes):", "node: Node, others: Nodes):"),  # traces name it
        ("def rise", "def rises"),
        ("@action\n", '@action(shows="{node} {group}")\n'),
        ("@action\n", "@action(fair=True)\n"),
        ("@action\n", '@action(fair="node")\n'),
        ("@action\n", '@action(fair="strong")\n'),
        ("@always\n", "@always(permitted=stays_low)\n"),
        ("len(Node) < 9", "len(Other) < 9"),
        ("(0, 9))\n    low", "(0, 8))\n    low"),
        ("bound(2, ", "bound(3, "),
    ],
)
def test_what_a_model_declares_changes_its_digest_alone(load: Load, old: str, new: str) -> None:
    more = TEXT.replace("@always\n", "def stays_low(s):\n    return s.low == 0\n\n\n@always\n")
    assert old in more
    before, after = load(model=more), load(model=more.replace(old, new))
    assert of_routine(rise(before).routine) == of_routine(rise(after).routine)
    assert before.digest != after.digest


FAIRNESS = (
    "fair=True",
    "fair='strong'",
    "fair='node'",
    "fair=strong_fairness(each='node')",
    "fair=weak_fairness(when=stays_low)",
    "fair=weak_fairness(when=is_first)",
    "fair=weak_fairness(when=is_second)",
    "fair=strong_fairness(when=stays_low)",
)


@pytest.mark.whole
def test_each_fairness_has_its_own_digest_and_weak_fairness_has_one_however_it_is_written(load: Load) -> None:
    more = TEXT.replace("@action\n", "def stays_low(s):\n    return s.low == 0\n\n\n@action\n", 1)
    for name, number in (("first", 0), ("second", 1)):
        more = more.replace(
            "@action\n", f"def is_{name}(s, node: Node):\n    return node == {number}\n\n\n@action\n", 1
        )
    more = more.replace("import Domain,", "import strong_fairness, weak_fairness, Domain,")
    digests = {fair: load(model=more.replace("@action\n", f"@action({fair})\n", 1)).digest for fair in FAIRNESS}
    assert len(set(digests.values())) == len(FAIRNESS)
    assert (
        load(model=more.replace("@action\n", "@action(fair=weak_fairness(each='node'))\n", 1)).digest
        == (digests["fair='node'"])
    )


def test_the_folder_of_a_model_does_not_count_and_its_name_does(load: Load, tmp_path: Path) -> None:
    text = TEXT.replace("from limits import LIMIT\nfrom outer import outer\n", "LIMIT = 3\n").replace(
        "outer(s, rest)", "0"
    )
    digests = []
    for name in ("here/model", "there/model", "there/another"):
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        (path.parent / "roles.py").write_text(ROLES, encoding="utf-8")
        path.write_text(text, encoding="utf-8")
        digests.append(registry.load_file(path).digest)
    assert digests[0] == digests[1] != digests[2]
    assert re.fullmatch("[0-9a-f]{64}", digests[0])


@pytest.mark.parametrize(
    ("old", "new"),
    [("LAST", "FINAL"), ("LAST = 2", 'LAST = 2\n\n    @property\n    def spelling(self):\n        return "r"')],
)
def test_traces_spell_members(load: Load, old: str, new: str) -> None:
    """A member that no function names counts in the model, and not in the function."""
    before, after = load(), load(**changed("roles", (old, new)))
    assert of_routine(rise(before).routine) == of_routine(rise(after).routine)
    assert before.digest != after.digest


@pytest.mark.parametrize("value", [3, 4])
def test_constants_of_one_name_count_by_value(load: Load, value: int) -> None:
    """Two functions that differ only in which of two equal-named modules' constants they use."""
    helper = "LIMIT = {}\n\n\ndef most(s):\n    return s.low < LIMIT\n"
    text = "from first import most as one_most\nfrom second import most as other_most\n" + TEXT
    text += "\n\n@always\ndef one(s):\n    return one_most(s)\n\n\n@always\ndef other(s):\n    return other_most(s)\n"
    model = load(model=text, first=helper.format(3), second=helper.format(value))
    one, other = (prop.function for prop in model.properties if prop.name in ("one", "other"))
    assert (of_routine(one.routine) == of_routine(other.routine)) == (value == 3)


# ------------------------------------------------------------------------------------------------- other functions


def test_a_mutant_has_another_digest() -> None:
    model = registry.load("published/kip_101")[0]
    originals = {of_routine(one.routine) for action in model.actions for one in action.alternatives}
    made = [one for action in model.actions for alternative in action.alternatives for one in mutants(alternative)]
    assert made
    assert not originals & {of_routine(one.function.routine) for one in made}


def test_a_routine_has_the_digest_of_its_body(load: Load) -> None:
    """A routine that is made from a given one, as by a reduction."""
    routine = rise(load()).routine
    assert of_routine(replace(routine)) == of_routine(routine)
    *others, last = routine.body
    assert isinstance(last, Store)
    assert of_routine(replace(routine, body=tuple(others))) != of_routine(routine)


def test_a_long_sum_and_a_deep_expression(load: Load) -> None:
    """A sum has up to 500 terms, and is no deep expression: those have up to 60 parts, one in another."""
    deep = "s.low" + " * (1 + 1" * 25 + ")" * 25
    text = TEXT.replace(
        "    s.at[node] = 0", f"    long = s.low{' + s.high' * 498} + 0\n    deep = {deep}\n    s.at[node] = 0"
    )
    last = text.replace(" + 0\n", " - 0\n")
    first, middle = text.replace("= s.low + s.high", "= s.high + s.high"), text.replace("(1 + 1)", "(1 + 0)")
    assert last != text != first
    assert len({of_routine(rise(load(model=one)).routine) for one in (text, last, first, middle)}) == 4


def test_a_long_chain_of_helpers(load: Load) -> None:
    """The reader accepts 99 helpers, each of which calls the next."""
    helpers = "".join(f"def h{one}(s):\n    return h{one - 1}(s)\n\n\n" for one in range(1, 99))
    text = TEXT.replace("@action\n", f"{helpers}@action\n").replace("s.at[node] = 0", "s.at[node] = h98(s)")
    first, other = (f"def h0(s):\n    return {value}\n\n\n" for value in (1, 2))
    models = [load(model=text.replace("def h1(", f"{one}def h1(")) for one in (first, other)]
    assert of_routine(rise(models[0]).routine) != of_routine(rise(models[1]).routine)
