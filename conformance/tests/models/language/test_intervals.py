"""Intervals of numbers: code whose numbers could exceed 64 bits is refused, other code means the same to all engines.

The reference is CPython, whose numbers never wrap around: in random functions, the values of every expression have to
lie within its interval.
"""

from __future__ import annotations

import ast
import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.checker.compile.test_kernel import Compiled, Reference, compare
from conformance.tests.sampling import sampled
from conformance.tests.support.compared.symbolic import compare_all
from isrcheck.checker.cli import main
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.proofs.unbounded_abstraction import UnboundedAbstraction
from isrcheck.checker.symbolic.transition_relation import TransitionRelation
from isrcheck.models import registry, run
from isrcheck.models.language.declarations import CELL_HIGH, CELL_LOW
from isrcheck.models.language.intervals import LEAST, MOST, Interval, Intervals, Locals, hull
from isrcheck.models.language.ir.nodes import Expression
from isrcheck.models.language.model import Instance
from isrcheck.models.language.reading.reader import with_callees
from isrcheck.models.messages import LanguageError

HEAD = '''\
"""Numbers."""

from isrcheck.language import Domain, action, always, always_step, between, bound, field, lemma, sometimes
from isrcheck.language import Flag, require, setting


class Configuration:
    n = bound(2, "elements", least=0)
    many = bound(40, "rounds", least=0)
    most = setting(1, "a run-time number")


LOW = -2


class Element(Domain, size="n"):
    pass


class State:
    a = field(values=between(-2, 1))
    b = field(Element, values=between(0, 3))
    f = field(values=Flag)


@action
def a_rises(s):
    require(s.a < 1)
    s.a += 1


'''


def model(folder: Path, text: str) -> Path:
    path = folder / "model.py"
    path.write_text(HEAD + text)
    return path


def instance_of(folder: Path, text: str, **values: int) -> Instance:
    return registry.load_file(model(folder, text)).instance(None, values)


def asks(*lines: str, returns: str = "x == 0", helpers: str = "") -> str:
    body = "\n".join(f"    {line}" for line in (*lines, f"return {returns}"))
    return f"{helpers}@always\ndef asked(s):\n{body}\n"


def doublings(count: int, name: str = "x") -> list[str]:
    return [f"{name} = {name} + {name}"] * count


# ------------------------------------------------------------------------------------------------------------- refused

CHAIN_OF_HELPERS = "def h0(s, x):\n    return x + x\n\n\n" + "".join(
    f"def h{level}(s, x):\n    return h{level - 1}(s, h{level - 1}(s, x))\n\n\n" for level in range(1, 7)
)

REFUSED = {
    "doubled line by line": (asks("x = s.a + 3", *doublings(66)), "`x + x` can reach 4611686018427387904"),
    "doubled downwards": (asks("x = s.a - 1", *doublings(66)), "`x + x` can reach -6917529027641081856"),
    "nested helpers": (asks(returns="h6(s, s.a) == 0", helpers=CHAIN_OF_HELPERS), "`x + x` can reach 46116860184"),
    "a helper that is lent a number": (
        asks(
            *["x = twice(x)"] * 66,
            helpers="def twice(x):\n    return x + x\n\n\n",
        ).replace("def asked(s):\n", "def asked(s):\n    x = 1\n"),
        "`x + x` can reach 4611686018427387904",
    ),
    "a long sum": (asks("x = s.a", *doublings(61), returns=" + ".join(["x"] * 9) + " == 0"), "`x + x + x + x + x + x"),
    "nested sums": (
        asks("x = " + "sum(" * 13 + "s.b[0]" + "".join(f" for i{k} in range(s.many))" for k in range(13))),
        "can reach 50331648000000000000, outside",
    ),
    "one sum over many": (
        asks("x = sum(s.b[0] " + " ".join(f"for i{k} in range(s.many)" for k in range(13)) + ")"),
        "`sum(s.b[0] for i0 in range(s.many) f",
    ),
    "a loop": (asks("x = 1", "for i in range(64):", "    x += x"), "`x += x` can reach 4611686018427387904"),
    "a loop with two locals": (
        asks("x = 1", "y = 1", "for i in range(99):", "    z = x + y", "    x = y", "    y = z"),
        "`x + y` can reach",
    ),
    "a loop in a loop": (asks("x = 1", "for i in range(8):", "    for j in range(8):", "        x -= -x"), "`x -= -x`"),
    "one way of two": (
        asks("x = 1", *["if s.f:", "    x = x + x", "else:", "    x = 1"] * 66),
        "`x + x` can reach 4611686018427387904",
    ),
    "the lesser of two": (asks("x = -1", *["x = min(x + x, 5)"] * 66), "`x + x` can reach -9223372036854775808"),
    "one of two": (asks("x = 1", *["x = x + x if s.f else 1"] * 66), "`x + x` can reach"),
    "one or the other": (asks("x = 1", *["x = s.f and x + x"] * 66), "`x + x` can reach"),
    "a minus sign": (asks("x = 1", *doublings(61), "x = x - 1 + x", "x = -x - 1", "x = -x"), "`-x` can reach"),
    "settings": (asks("x = s.most", *doublings(56)), "`x + x` can reach 9151314442816847872"),
    "a guard": (
        "@action\ndef act(s, e: Element):\n    x = e + 1\n"
        + "\n".join(f"    {line}" for line in doublings(66))
        + "\n    require(x == 0)\n    s.f = True\n",
        "in act: `x + x` can reach 4611686018427387904",
    ),
    "a write": (
        "def sets(s, x):\n    s.a = x + x\n\n\n@action\ndef act(s):\n    x = 1\n"
        + "\n".join(f"    {line}" for line in doublings(61))
        + "\n    sets(s, x)\n",
        "in sets: `x + x` can reach 4611686018427387904",
    ),
    "an index": (asks("x = 1", *doublings(61), returns="s.b[x + x - x - x] == 0"), "`x + x - x - x` can reach"),
    "a property of steps": (
        "@always_step\ndef asked(before, after):\n    x = after.a - before.a\n"
        + "\n".join(f"    {line}" for line in doublings(66))
        + "\n    return x == 0\n",
        "`x + x` can reach",
    ),
    "a lemma": (asks("x = s.a", *doublings(66)).replace("@always\n", "@lemma\n"), "`x + x` can reach"),
    "what is permitted": (
        "def excused(s):\n    x = 1\n"
        + "\n".join(f"    {line}" for line in doublings(66))
        + "\n    return x == 0\n\n\n@always(permitted=excused)\ndef asked(s):\n    return s.a < 1\n",
        "in excused: `x + x` can reach",
    ),
    "a loop that is too long to follow": (
        asks("x = 0", *[f"{'    ' * k}for i{k} in range(99):" for k in range(4)], "                x += 1"),
        "computing the ranges of the numbers in this function takes more than 200000 evaluations; shorten the loops",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_number_that_may_leave_64_bits_is_refused(tmp_path: Path, name: str) -> None:
    text, says = REFUSED[name]
    with pytest.raises(LanguageError) as error:
        instance_of(tmp_path, text).layouts  # noqa: B018 - every engine asks for the layouts first
    message = str(error.value)
    assert message.startswith(f"{tmp_path}/model.py:") and says in message
    assert "\n" not in message and len(message) < 400


@pytest.mark.parametrize("words", [(), ("--engine", "z3"), ("--prove",), ("--bound", "0")])
def test_every_engine_refuses_too_large_numbers_before_it_begins(
    tmp_path: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """A number of at least 1 is 0 in 64 bits after 66 doublings, so the kernel reported HOLDS."""
    path = model(tmp_path, asks("x = s.a + 3", *doublings(66), returns="x != 0"))
    depth = () if "--bound" in words else ("--bound", "3")
    assert main([str(path), *words, *depth]) == 2
    out, err = capsys.readouterr()
    line = len(HEAD.splitlines()) + 3 + 60
    says = f"{path}:{line}: in asked: `x + x` can reach 4611686018427387904, outside -2**62..2**62-1"
    assert (out, err) == (
        "",
        f"check: {says}; add less to the number, or bound the number with min(...) and max(...)\n",
    )


@pytest.mark.parametrize(("size", "says"), [(1 << 62, "4611686018427387904"), (1 << 99, "2**99")])
def test_a_bound_may_have_any_size_that_engines_can_hold(tmp_path: Path, size: int, says: str) -> None:
    assert instance_of(tmp_path, asks("x = s.many"), many=size - 1 if size == 1 << 62 else 5).layouts
    with pytest.raises(LanguageError, match=r"in asked: `s.many` can reach") as error:
        instance_of(tmp_path, asks("x = s.many"), many=size).layouts  # noqa: B018
    assert f"`s.many` can reach {says}, outside" in str(error.value)


def test_the_bound_of_the_command_is_used(tmp_path: Path) -> None:
    text = asks("x = 1", "for i in range(s.many):", "    x += x", returns="x > 0")
    assert instance_of(tmp_path, text, many=61).layouts
    with pytest.raises(LanguageError, match="`x \\+= x` can reach 4611686018427387904"):
        instance_of(tmp_path, text, many=62).layouts  # noqa: B018


# ------------------------------------------------------------------------------------------------------------ accepted

LARGEST = ["x = 1", *doublings(61), "x = x - 1 + x"]

ALL_STATES = 4 * 4**2 * 2
"""The states of two elements: the values of `a`, of each `b` and of `f`."""

ACCEPTED = {
    "the largest number": asks(*LARGEST, returns="x - 2 - s.a < x and s.a < 0"),
    "the least number": asks(*LARGEST, "x = -x - 1", returns="x < 0 and x < s.a - 1 and s.a < 0"),
    "it comes back": asks("x = s.a", *doublings(60), returns="x < 0"),
    "61 doublings in a loop": asks("x = s.a", "for i in range(60):", "    x += x", returns="x > 0"),
    "doublings with an end": asks("x = s.a", *["x = max(-100, min(x + x, 100))"] * 66, returns="x != 100"),
    "a loop with an end": asks(
        "x = s.a", "for i in range(3):", "    x = max(-9, min(x + x + s.b[0], 9))", returns="x < 9"
    ),
    "a counter": asks("x = 0", "for i in range(99):", "    if s.f or i > s.a:", "        x += 1", returns="x < 99"),
    "a change of sign": asks("x = s.a", "for i in range(99):", "    x = -x", returns="x <= 0"),
    "a sum of sums": asks(
        "x = sum(s.b[i] + sum(s.a for j in range(s.many) if j > i) for i in range(s.n) if s.f)", returns="x < 9"
    ),
    "a loop without rounds": asks(
        "x = 1", "for i in range(0):", *[f"    {line}" for line in doublings(66)], returns="x == 1 + s.a"
    ),
    "behind a return": asks(
        "if s.f:", "    return s.a < 0", "else:", "    return s.a < 1", "x = 1", *doublings(66), returns="x == 0"
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", ACCEPTED)
def test_numbers_that_just_fit_mean_the_same_to_every_engine(tmp_path: Path, name: str) -> None:
    instance = instance_of(tmp_path, ACCEPTED[name], n=2, many=5)
    reference, compiled = Reference(instance), Compiled(instance, kernel_of(instance))
    ranges = [range(p.low, p.high + 1) for p in instance.layouts.values() for _ in range(p.count)]
    states = list(itertools.product(*ranges))
    assert len(states) == ALL_STATES
    # The step that raises `a` errs nowhere, and the property is asked in every state.
    assert [len(compare(reference, compiled, cells) or ()) for cells in states] == [int(c[0] < 1) for c in states]
    assert {run.holds(instance, instance.properties[0], cells) for cells in states} == {True, False}
    compared = compare_all(instance, states)
    assert compared.failures == 0 and compared.answers >= 256
    assert UnboundedAbstraction(instance).steps and TransitionRelation(instance).properties


def test_reading_the_models_of_the_project_takes_no_time() -> None:
    """Counts the expressions analysed in Kafka's model, for all generations, actions and properties."""
    model, _ = registry.load("kafka")
    instance = model.instance("2.1")
    named: dict[str, Interval] = {place.name: (place.low, place.high) for place in instance.layouts.values()}
    for name, entry in model.entries.items():
        value = getattr(instance.configuration, name)
        named[name] = (value, value) if entry.is_bound or entry.most is None else (entry.least, entry.most)
    intervals = Intervals(named, lambda domain: 0)
    for prop in (*model.properties, *model.lemmas):
        intervals.of_call(prop.function.routine, [None] * len(prop.function.parameters))
    assert 1000 < intervals.work < 10_000


def test_every_layout_is_analysed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = registry.load_file(model(tmp_path, asks("x = s.most + s.many")))
    read.instance().layouts  # noqa: B018
    calls: list[Any] = []
    kept = Intervals.of_call
    monkeypatch.setattr(Intervals, "of_call", lambda *given: (calls.append(given), kept(*given))[1])
    read.instance(None, {"most": 5}).layouts  # noqa: B018 - one kernel serves every setting
    assert not calls
    read.instance(None, {"many": 41}).layouts  # noqa: B018
    assert len(calls) == 2


# ------------------------------------------------------------------------------------------- no value lies outside


class Recorded(Intervals):
    """Intervals that record the interval of each expression, by its position in the text."""

    def __init__(self, named: dict[str, Interval]) -> None:
        super().__init__(named, lambda domain: 0)
        self.said: dict[tuple[int, ...], Interval] = {}

    def value(self, expression: Expression, locals_: Locals) -> Interval:
        found = super().value(expression, locals_)
        span = expression.span
        place = span.line, span.column, span.end_line, span.end_column
        self.said[place] = hull(found, self.said.get(place))
        return found


def place_of(node: ast.expr) -> tuple[int, ...]:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


class Watching(ast.NodeTransformer):
    """Rewrites a function so that every number is recorded when it is computed."""

    def visit(self, node: ast.AST) -> Any:
        is_number = isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare | ast.IfExp)
        is_number = is_number or (isinstance(node, ast.Subscript | ast.Name) and isinstance(node.ctx, ast.Load))
        is_number = is_number or (isinstance(node, ast.Call) and ast.unparse(node.func) != "range")
        if isinstance(node, ast.Name) and node.id not in VARIABLES:
            is_number = False
        place = place_of(node) if is_number and isinstance(node, ast.expr) else ()
        found = self.generic_visit(node)
        if not is_number:
            return found
        return ast.Call(ast.Name("noted", ast.Load()), [ast.Constant(place), found], [])


VARIABLES = ("x", "y", "z", "i", "j")


class Programs:
    """Random functions of the language."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def number(self, depth: int, known: tuple[str, ...], helpers: int) -> str:
        one = self.chance.choice
        if depth == 0:
            return one([*known, *known, "s.a", "s.b[1]", "s.most", "s.n", str(one(range(-3, 9)))])
        part = [self.number(depth - 1, known, helpers) for _ in range(3)]
        loop = self.number(depth - 1, (*known, "j"), helpers)
        forms = [
            f"({part[0]} + {part[1]})",
            f"({part[0]} - {part[1]} + {part[2]})",
            f"(-{part[0]})",
            f"min({part[0]}, {part[1]})",
            f"max({part[0]}, {part[1]}, {part[2]})",
            f"({part[0]} if {part[1]} < {part[2]} else {part[0]})",
            f"({part[0]} and {part[1]})",
            f"({part[0]} or not {part[1]})",
            f"({part[0]} <= {part[1]} == {part[2]})",
            f"sum({loop} for j in range({one(['s.n', 'LOW, 3', '0'])}){one(['', ' if j < ' + part[0]])})",
            f"any({loop} > {part[0]} for j in range(2))",
        ]
        forms += [f"help{helper}(s, {part[0]}, {part[1]})" for helper in range(helpers)]
        return str(one(forms))

    def block(self, depth: int, known: tuple[str, ...], helpers: int, indent: str) -> list[str]:
        lines = []
        for _ in range(self.chance.randint(1, 3)):
            form = self.chance.choice("=====+-if" if depth == 0 else "==+-iIf")
            name, value = self.chance.choice("xyz"), self.number(self.chance.randint(0, 2), known, helpers)
            if form in "=+-" or depth == 0:
                sign = form if form in "+-" else ""
                lines.append(f"{indent}{name} {sign}= {value}")
            elif form == "f":
                lines.append(f"{indent}for i in range({self.chance.choice(['3', 's.n', 'LOW, 2'])}):")
                lines += self.block(depth - 1, (*known, "i"), helpers, indent + "    ")
            else:
                lines.append(f"{indent}if {value}:")
                lines += self.block(depth - 1, known, helpers, indent + "    ")
                if form == "I":
                    lines.append(f"{indent}elif {self.number(1, known, helpers)} > 0:")
                    lines.append(f"{indent}    return {self.number(1, known, helpers)}")
                    lines += [f"{indent}else:", *self.block(0, known, helpers, indent + "    ")]
        return lines

    def text(self) -> str:
        functions = []
        for number in range(2):
            body = self.block(2, ("x", "y", "z"), number, "    ")
            functions.append("\n".join([f"def help{number}(s, x, y):", "    z = 0", *body, "    return x + y + z"]))
        first, second = (self.number(1, (), 2) for _ in range(2))
        functions.append(f"@always\ndef asked(s):\n    return help1(s, {first}, {second}) != 0")
        return "\n\n\n".join(functions) + "\n"


@pytest.mark.sampled
@pytest.mark.parametrize("block", sampled(range(10), lambda block: block < 3))
def test_values_of_random_functions_lie_in_their_intervals(tmp_path: Path, block: int) -> None:
    seen = refused = 0
    for seed in range(30 * block, 30 * block + 30):
        try:
            instance = instance_of(tmp_path, Programs(seed).text())
            seen += watched(instance)
        except LanguageError:
            refused += 1
    assert refused <= 2 and seen > 2000


def watched(instance: Instance) -> int:
    """Compare every value that CPython computes in any state with its interval; return the number of values."""
    named: dict[str, Interval] = {place.name: (place.low, place.high) for place in instance.layouts.values()}
    named |= {"n": (2, 2), "many": (40, 40), "most": (0, 127)}
    recorded = Recorded(named)
    (prop,) = instance.properties
    recorded.of_call(prop.function.routine, [None])
    names = dict(prop.function.names)
    seen = 0

    def noted(place: tuple[int, ...], value: int) -> int:
        nonlocal seen
        seen += 1
        # Of a sum of three terms, that of the first two is not said by itself.
        low, high = recorded.said.get(place, (value, value))
        assert low <= value <= high, (place, value, (low, high))
        return value

    names["noted"] = noted
    tree = ast.parse(Path(prop.function.path).read_text())
    own = {function.name for function in with_callees([prop.function])}
    functions = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name in own]
    for function in functions:
        function.decorator_list = []
    watching = ast.fix_missing_locations(Watching().visit(ast.Module([*functions], [])))
    exec(compile(watching, "watched", "exec"), names)
    chance = random.Random(1)
    for setting in (0, 1, 127):
        configured = instance.model.instance(None, {"most": setting})
        for _ in range(4):
            cells = tuple(chance.randint(p.low, p.high) for p in instance.layouts.values() for _ in range(p.count))
            names["asked"](run.State(configured, cells))
    return seen


def test_the_limit_leaves_every_engine_headroom() -> None:
    assert (LEAST, MOST) == (-(2**62), 2**62 - 1)
    assert CELL_LOW >= LEAST and CELL_HIGH <= MOST


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "s.a = 6 // s.a",
            "`6 // s.a` divides by a number that can be 0; divide by a number that its",
        ),
        ("s.a = 6 % (s.a - 3)", "`6 % (s.a - 3)` divides by a number that can be 0"),
        ("s.a = 6 // (0 - 2)", "`6 // (0 - 2)` divides by a number that can be -2"),
        ("s.a = max(i for i in range(s.a))", "`max(i for i in range(s.a))` has no value if its range is empty"),
        (
            "s.a = 0 * max(i for i in Few)",
            "has no value if its range is empty; give",
        ),
    ],
)
def test_what_has_no_value_in_some_configuration_is_one_line(tmp_path: Path, line: str, says: str) -> None:
    text = (
        '"""A model."""\n\nfrom isrcheck.language import Domain, action, between, bound, field\n\n\n'
        "class Configuration:\n"
        '    few = bound(1, "few")\n\n\nclass Few(Domain, size="few"):\n    pass\n\n\nclass State:\n'
        f"    a = field(values=between(0, 6), initially=1)\n\n\n@action\ndef act(s):\n    {line}\n"
    )
    path = tmp_path / "valueless.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LanguageError) as refusal:
        assert registry.load_file(path).instance(None, {"few": 0}).layouts
    assert str(refusal.value).startswith(f"{path}:20: in act: ") and says in str(refusal.value)
