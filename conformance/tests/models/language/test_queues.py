"""Fields that are queues: one meaning in all readings, printed as lists; what else is done with them is refused."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from conformance.tests.checker.reductions.test_symmetry import searched
from conformance.tests.models.language.test_sets import assert_refused_at_the_mark, refusal_at_the_mark
from isrcheck.checker import cli
from isrcheck.checker.reductions.find import reduction_of
from isrcheck.commands.exit_codes import VIOLATED
from isrcheck.models import registry, run
from isrcheck.models.language.model import Instance
from isrcheck.models.language.mutants import mutants
from isrcheck.models.messages import ModelError, UsageError

PRELUDE = '''"""Nodes send messages to each other."""

from enum import IntEnum

from isrcheck.language import (
    Domain, Flag, Queue, Set, action, always, between, bound, field, initial, optional, require, sometimes,
)


class Configuration:
    n = bound(3, "nodes")
    most = bound(2, "messages in an inbox")


class Node(Domain, size="n", symmetric=True):
    pass


class Kind(IntEnum):
    REQUEST = 1
    GRANT = 2


class State:
    inbox = field(Node, values=Queue(of=Kind, most="most"))
    turns = field(values=Queue(of=Node, most="n"))
    owner = field(values=optional(Node), initially=-1)
    seen = field(values=Set(of=Node))
'''

STEPS = """
@action
def ask(s, node: Node):
    require(node not in s.turns and len(s.turns) < s.n)
    s.turns.append(node)
    if len(s.inbox[node]) < s.most:
        s.inbox[node].append(Kind.REQUEST)


@action
def grant(s, node: Node):
    require(s.owner == -1 and len(s.turns) > 0 and s.turns[0] == node and len(s.inbox[node]) < s.most)
    s.owner = s.turns[0]
    s.turns.popleft()
    s.inbox[node].append(Kind.GRANT)


@action
def receive(s, node: Node):
    require(len(s.inbox[node]) > 0)
    kind = s.inbox[node].popleft()
    if kind == Kind.GRANT:
        s.owner = -1
        s.seen.add(node)
        s.inbox[node].clear()


@always
def in_turn(s):
    return all(s.turns[i] != s.turns[j] for i in range(len(s.turns)) for j in range(i))


@always
def a_grant_is_last(s):
    return all(s.inbox[n][i] != Kind.GRANT for n in Node for i in range(len(s.inbox[n]) - 1))


@always
def owner_has_a_grant(s):
    return s.owner == -1 or Kind.GRANT in s.inbox[s.owner]


@sometimes
def everyone_waits(s):
    return len(s.turns) == s.n and all(Kind.REQUEST in s.inbox[n] for n in Node)
"""


def write(folder: Path, body: str) -> Path:
    path = folder / "queues.py"
    path.write_text(PRELUDE + body, encoding="utf-8")
    return path


def action(*lines: str) -> str:
    return "\n".join(["@action", "def act(s, node: Node):", *(f"    {line}" for line in lines), ""])


def instance_of(folder: Path, body: str, **values: int) -> Instance:
    return registry.load_file(write(folder, body)).instance(None, values)


def test_a_queue_takes_the_bits_of_its_elements_and_of_none(tmp_path: Path) -> None:
    """Kinds 1 and 2, and 0 for none: 2 bits; nodes 0 to 2, and -1 for none: 2 bits."""
    layouts = list(instance_of(tmp_path, STEPS).layouts.values())
    assert [(one.sizes, one.low, one.high) for one in layouts[:2]] == [((3, 2), 0, 2), ((3,), -1, 2)]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("s.inbox.append(1)  # <-", "the queue `inbox` takes 1 index, not 0; a queue is read by s.inbox[...][i], len"),
        ("s.owner = s.turns  # <-", "the queue `s.turns` is used as a value; a queue is read by s.turns[i], len("),
        ("s.turns[0] = 1  # <-", "`s.turns[0]` is assigned to; a queue is changed by s.turns.append(x)"),
        ("s.turns = 1  # <-", "`s.turns` is assigned to; a queue is changed by s.turns.append(x)"),
        ("s.turns.push(1)  # <-", "a queue has no `push`; a queue is changed by s.turns.append(x), s.turns.popleft()"),
        (
            "s.turns.append()  # <-",
            "`append` takes 1 element, but this call passes more or fewer; a queue is changed by",
        ),
        (
            "s.turns.popleft(0)  # <-",
            "`popleft` takes 0 elements, but this call passes more or fewer; a queue is changed by",
        ),
        ("s.owner = s.turns.popleft()  # <-", "assign s.turns.popleft() to a local first"),
        ("require(s.turns.popleft() == 1)  # <-", "`s.turns.popleft()` is a part of an expression; write x = "),
        ("require(s.turns == s.turns)  # <-", "`s.turns == s.turns` compares a queue; compare len(...)"),
        (
            "require(all(x > 0 for x in s.turns))  # <-",
            "a `for` goes through the queue `s.turns`; write: for i in range(len(s",
        ),
        (
            "for x in s.turns:  # <-\n        s.owner = x",
            "a `for` goes through the queue `s.turns`; write: for i in range(",
        ),
        ("s.owner = s.turns[0][1]  # <-", "the queue `turns` takes 0 indices, not 2"),
        ("s.owner = len(s.turns[1:])  # <-", "`s.turns[1:]` is a slice; read one element at a time, in a loop over"),
    ],
)
def test_what_is_no_use_of_a_queue_is_refused(tmp_path: Path, code: str, says: str) -> None:
    assert_refused_at_the_mark(write(tmp_path, action(code)), says)


WRITTEN = "write it as in Queue(of=Node, most=3)"


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        (
            "x = Queue(of=Node, most=1)",
            "`x` is declared as the values of a field, not as a field; write x = field(values=Queue(...))",
        ),
        (
            "x = field(values=Queue(of=between('n', 9), most=1))",
            "Queue(of=between('n', 9)): the values do not begin with a number;"
            " declare the values of an element as in between(0, 5)",
        ),
        (
            "x = field(values=Queue(of=between(-2147483648, 0), most=1))",
            "Queue(of=between(-2147483648, 0)): a queue needs a number below its elements for empty places;"
            " let the elements begin at -2147483647 or above",
        ),
        (
            "x = field(values=Queue(of=Node, most=1), initially=0)",
            "a queue is empty initially; leave initially= out, and fill the queue in @initial",
        ),
        ("x = field(values=Queue(of=Node))", f"Queue(of=Node) lacks most=; {WRITTEN}"),
        ("x = field(values=Queue(Node, most=3))", f"Queue(Node, most=3) lacks of=; {WRITTEN}"),
        ("x = field(values=Queue)", f"field(values=Queue): Queue lacks its elements; {WRITTEN}"),
        ("x = field(values=Queue(of=Node, most=0))", "most=0 is too small; give most= at least 1"),
        ("x = field(values=Queue(of=Node, most=-1))", "most=-1 is too small; give most= at least 1"),
        (
            "x = field(values=Queue(of=Node, most=Node))",
            "most=Node is no number; give a whole number, the name of a configuration entry, or a function of the"
            " configuration",
        ),
        (
            "x = field(values=Queue(of=Set(of=Node), most=1))",
            "Queue(of=Set(...)): a set is no single value; index the field, as in field(Node, values=Set(...))",
        ),
    ],
)
def test_a_wrong_declaration_is_refused(tmp_path: Path, declared: str, says: str) -> None:
    path = write(tmp_path, f"    {declared}  # <-\n" + action("s.owner = 1"))
    assert refusal_at_the_mark(path) == says


def test_a_queue_without_places_is_refused(tmp_path: Path) -> None:
    line = PRELUDE.split("\n").index('    inbox = field(Node, values=Queue(of=Kind, most="most"))') + 1
    with pytest.raises(ModelError) as refusal:
        _ = instance_of(tmp_path, STEPS, most=0).layouts
    says = "field inbox holds queues of at most 0 elements; give most= at least 1"
    assert str(refusal.value) == f"{tmp_path / 'queues.py'}:{line}: {says}"
    path = write(tmp_path, STEPS)
    path.write_text(path.read_text().replace('most="most"', "most=lambda c: c.most - 3"))
    with pytest.raises(ModelError, match="field inbox holds queues of at most -1 elements; give most= at least 1"):
        _ = registry.load_file(path).instance().layouts


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("1", "give a list, the oldest element first"),
        ("[0, 1, 2, 1]", "give at most 3 elements of the queue"),
        ("[9]", r"turns\[0\] is initially 9; give a value in 0..2"),
        ("[-1, 0]", "give elements of the queue, which are whole numbers of at least 0"),
        ("{9: 0}", "give a list, the oldest element first"),
        ("[2, 0]", ""),
    ],
)
def test_initial_states_are_given_as_lists(tmp_path: Path, given: str, says: str) -> None:
    start = f'@initial\ndef starts(configuration):\n    yield {{"turns": {given}, "inbox": [[1], [], []]}}\n'
    instance = instance_of(tmp_path, STEPS + start)
    if says:
        with pytest.raises(ModelError, match=says):
            _ = instance.initial_states
    else:
        assert instance.initial_states == ((1, 0, 0, 0, 0, 0, 2, 0, -1, -1, 0, 0, 0),)


FAULTS = {
    "s.turns.popleft()": "popleft of turns, which is empty; guard the step with len(...)",
    "first = s.turns.popleft()\n    s.owner = first": "popleft of turns, which is empty",
    "s.owner = s.turns[0]": "index 0 of turns is outside the queue, whose length is 0",
    "s.owner = s.turns[0 - 1]": "index -1 of turns is outside the queue",
    "for x in range(4):\n        s.turns.append(0)": "append to turns, which is full with 3 elements",
    "s.turns.append(s.owner)": "-1 is appended to turns, whose elements can only be greater",
    "s.turns.append(3)": "3 is written to turns",
}


@pytest.mark.sampled
@pytest.mark.parametrize("code", FAULTS)
def test_what_a_queue_does_not_allow_leaves_the_range(tmp_path: Path, code: str) -> None:
    """In plain Python with a message; in the kernel and in Z3 as a violation of `in_range`, too."""
    path = write(tmp_path, action(*code.split("\n    ")))
    instance = registry.load_file(path).instance()
    with pytest.raises(ModelError, match=re.escape(FAULTS[code])):
        list(run.successors(instance, instance.initial_states[0]))
    assert searched(instance, None).findings["in_range"].found.count == 3
    assert cli.main([str(path), "--engine", "all", "--bound", "2"]) == VIOLATED


def test_none_is_in_no_queue_and_is_no_element_of_a_set(tmp_path: Path) -> None:
    """At first, the owner is no node."""
    asked = {"s.owner in s.turns": 0, "s.owner not in s.turns": 0, "s.owner in s.seen": 3}
    for code, violations in asked.items():
        found = searched(instance_of(tmp_path, action(f"require({code})", "s.owner = 0")), None).findings
        assert (found["in_range"].found.count if "in_range" in found else 0) == violations


MUTANTS = {
    "s.turns.popleft()": "the length of turns is 0, and an element beyond this length is used; test the index",
    "s.owner = s.turns[0]": "the length of turns is 0, and an element beyond this length is used",
    "s.owner = s.turns[4]": "index 4 of turns is outside 0..2",
    "for x in range(4):\n        s.turns.append(0)": "turns is full with 3 elements; guard the step with len(...), or",
    "s.turns.append(3)": "3 is written to turns, whose values are -1..2; guard the step, or widen the field's range",
}


@pytest.mark.parametrize("code", MUTANTS)
def test_a_mutant_says_what_a_queue_does_not_allow(tmp_path: Path, code: str) -> None:
    instance = instance_of(tmp_path, action("require(node == 0)", *code.split("\n    ")))
    (mutant,) = mutants(instance.model.actions[0].alternatives[0])
    with pytest.raises(ModelError, match=re.escape(MUTANTS[code])):
        mutant.function.python(run.State(instance, instance.initial_states[0]), 0)


def test_the_index_of_a_queue_is_read_whatever_is_looked_for(tmp_path: Path) -> None:
    """At first, the owner is no node, and so no index; 0 is no kind, and stands for no element in an inbox."""
    path = write(tmp_path, action("require(0 not in s.inbox[s.owner])", "s.owner = 0"))
    instance = registry.load_file(path).instance()
    with pytest.raises(ModelError, match=r"index -1 of inbox is outside 0..2"):
        list(run.successors(instance, instance.initial_states[0]))
    assert searched(instance, None).findings["in_range"].found.count == 3
    assert cli.main([str(path), "--engine", "all", "--bound", "2"]) == VIOLATED


def test_the_places_of_a_queue_are_no_symmetric_domain(tmp_path: Path) -> None:
    path = write(tmp_path, action("s.turns.clear()", "s.owner = node + 0"))
    path.write_text(path.read_text().replace(", symmetric=True", ""))
    with pytest.raises(UsageError) as refusal:
        reduction_of(registry.load_file(path).instance(), symmetry=True)
    assert "(Node: " in str(refusal.value) and "Place" not in str(refusal.value)


def test_an_operation_in_a_set_of_places_keeps_the_order(tmp_path: Path) -> None:
    """What goes in comes out, for every sequence of two elements, in a queue that was used before."""
    body = action("s.turns.append(node)", "first = s.turns.popleft()", "s.turns.append(first)", "s.owner = s.turns[0]")
    instance = instance_of(tmp_path, body)
    for one, other in itertools.product(range(3), repeat=2):
        cells = (*instance.initial_states[0][:6], one, -1, -1, *instance.initial_states[0][9:])
        after = run.take(instance, cells, instance.step(other))
        assert after is not None and after[6:10] == (other, one, -1, other)
