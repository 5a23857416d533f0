"""Long and deep functions: flat code of any length is accepted, and too deep code is refused.

All engines, the prover and the reference agree on each; a refusal is one line with the position and the limit.
"""

from __future__ import annotations

import ast
import itertools
import time
from pathlib import Path

import pytest

from conformance.tests.checker.compile.test_kernel import Compiled, Reference, compare
from conformance.tests.sampling import sampled
from conformance.tests.support.compared.symbolic import compare_all
from isrcheck.checker.cli import main
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.proofs.unbounded_abstraction import UnboundedAbstraction
from isrcheck.commands.exit_codes import VIOLATED
from isrcheck.models import registry, run
from isrcheck.models.language.declarations import LONGEST_CODE
from isrcheck.models.language.mutants import mutants
from isrcheck.models.language.reading import source as files
from isrcheck.models.language.reading.source import shown, spelled
from isrcheck.models.messages import UsageError
from isrcheck.traces.format.why_false import why_false

HEAD = '''\
"""Depth."""

from isrcheck.language import Flag, action, always, between, field, require


class State:
    a = field(values=between(0, 3))
    f = field(values=Flag)


def plus(x, y):
    return x + y


@action
def a_rises(s):
    require(s.a < 3)
    s.a += 1


@action
def f_changes(s):
    s.f = not s.f


'''


def model(folder: Path, text: str) -> Path:
    path = folder / "model.py"
    path.write_text(HEAD + text)
    return path


def asked(expression: str, *lines: str) -> str:
    body = "\n".join(f"    {line}" for line in (*lines, f"return {expression}"))
    return f"@always\ndef asked(s):\n{body}\n"


def elifs(count: int) -> list[str]:
    lines = ["if s.a == 0:", "    x = 0"]
    for number in range(1, count):
        lines += [f"elif s.a == {number}:", f"    x = {number}"]
    return [*lines, "else:", "    x = 9"]


def chained(count: int) -> str:
    first = "def h0(s, x):\n    return x\n\n\n"
    return first + "".join(f"def h{k}(s, x):\n    return h{k - 1}(s, x) + 0\n\n\n" for k in range(1, count))


def side_by_side(count: int) -> str:
    return "".join(f"def h{k}(s):\n    return s.a\n\n\n" for k in range(count))


def nested(count: int, before: str, inside: str, after: str) -> str:
    return before * count + inside + after * count


READ = {
    "500 terms": asked("s.a" + " + 1 - 1" * 249 + " + s.f < 3"),
    "20 cells": asked(" - ".join(["s.a"] * 10) + " + s.f" * 10 + " < 1"),
    "199 conditions": asked("(" + "".join(f"{k} if s.a == {k} else " for k in range(199)) + "9) < 3"),
    "200 elif": asked("x < 3", *elifs(200)),
    "10000 conjuncts": asked(" and ".join(["s.a < 3"] * 10000)),
    "10000 disjuncts": asked(" or ".join(["s.a == 0", "s.f", *["s.a > 5"] * 9998])),
    "300 comparisons": asked("0 <= " + " <= ".join(["s.a"] * 300) + " < 3"),
    "200 arguments": asked("min(" + ", ".join(["s.a"] * 200) + ") < 3"),
    "60 helpers": chained(60) + asked("h59(s, s.a) < 3"),
    "1000 helpers in a row": side_by_side(1000)
    + asked("0 < 1", *[f"x = h{k}(s)" for k in range(1000)]).replace("return 0 < 1", "return x < 3"),
    "3000 statements": asked("x < 3", *["x = s.a"] * 3000),
    "56 not": asked(nested(56, "not ", "s.a < 3", "")),
    "40 brackets": asked(nested(40, "(s.a - ", "s.a", ")") + " < 3"),
    "40 calls": asked(nested(40, "plus(s.f, ", "s.a", ")") + " < 30"),
    "15 loops": asked("any(s.a < 3 " + " ".join(f"for i{k} in range(1) if s.a < 3" for k in range(15)) + ")"),
    "50 loops": asked("not any(s.a > 2 " + " ".join(f"for i{k} in range(1)" for k in range(50)) + ")"),
    "15 statements": asked(
        "x < 3", "x = 0", *[f"{'    ' * k}if s.a > {k % 3}:" for k in range(15)], f"{'    ' * 15}x = 3"
    ),
    "a long range": asked("sum(s.f for i in range(" + " + ".join(["1"] * 300) + ")) < 300"),
    "150 guards": "@action\ndef act(s):\n" + "    require(s.a > 0)\n" * 150 + "    s.f = True\n\n\n" + asked("s.a < 3"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", sampled(READ, lambda name: not name.startswith("10000")))
def test_flat_code_is_read_by_all_engines(tmp_path: Path, name: str) -> None:
    instance = registry.load_file(model(tmp_path, READ[name])).instance()
    states = list(itertools.product(range(4), range(2)))
    (prop,) = instance.properties
    holds = {cells: run.holds(instance, prop, cells) for cells in states}
    assert set(holds.values()) == {True, False}
    reference, compiled = Reference(instance), Compiled(instance, kernel_of(instance))
    assert all(compare(reference, compiled, cells) is not None for cells in states)
    assert compare_all(instance, states).failures == 0
    assert UnboundedAbstraction(instance).steps
    for cells in states:
        if not holds[cells] and "1000" not in name:
            assert why_false(instance, prop, None, None, cells).lines()
    assert all(list(mutants(one.alternatives[0])) for one in instance.model.actions[:1])


@pytest.mark.sampled
@pytest.mark.parametrize("words", [("--bound", "4"), ("--engine", "z3", "--bound", "4"), ("--prove", "--bound", "4")])
@pytest.mark.parametrize("name", ["500 terms", "199 conditions", "200 elif", "60 helpers", "300 comparisons"])
def test_the_verdict_is_the_same(
    tmp_path: Path,
    name: str,
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([str(model(tmp_path, READ[name])), *words]) == VIOLATED
    out, _ = capsys.readouterr()
    assert "asked" in out and "VIOLATED" in out


TOO_MUCH = {
    "501 terms": (asked(" + ".join(["s.a"] * 501) + " < 9"), "in asked: a sum has 501 terms; write at most 500 terms"),
    "an element of 490 terms": (
        asked("(" + " + ".join(["s.a"] * 490) + ")[0] < 9"),
        "; write s.field or s.field[index]",
    ),
    "201 conditions": (
        asked("(" + "".join(f"{k} if s.a == {k} else " for k in range(201)) + "9) < 3"),
        "in asked: one `if` has 201 conditions; write at most 200",
    ),
    "400 elif": (asked("x < 3", *elifs(400)), "in asked: one `if` has 400 conditions; write at most 200"),
    "500 not": (
        asked(nested(500, "not ", "s.f", "")),
        "in asked: the statements and expressions are nested more than 60 deep; move a part of the function",
    ),
    "900 minus signs in an annotation": (
        f"@action\ndef act(s, a: {'-' * 900}1):\n    s.a = a\n",
        "in act: the statements and expressions are nested more than 60 deep; move a part of the function",
    ),
    "100 brackets": (
        asked(nested(100, "(s.a - ", "s.a", ")") + " < 3"),
        "the statements and expressions are nested more than 60 deep",
    ),
    "100 calls": (
        asked(nested(90, "plus(1, ", "s.a", ")") + " < 3"),
        "the statements and expressions are nested more than 60 deep",
    ),
    "70 helpers": (
        chained(70) + asked("h69(s, s.a) < 3"),
        "is nested more than 200 deep; nest fewer",
    ),
    "600 helpers": (chained(600) + asked("h599(s, s.a) < 3"), "is nested more than 200 deep; nest fewer"),
    "helpers read before": (
        chained(80) + "".join(f"@always\ndef p{k}(s):\n    return h{k}(s, s.a) < 9\n\n\n" for k in range(0, 80, 26)),
        "is nested more than 200 deep",
    ),
    "a constant of 400 digits": (
        asked("s.a < " + "9" * 400),
        "the constant of 1329 bits does not fit in 32 bits; write a number in",
    ),
    "a constant of 5000 digits": (asked("s.a < " + "9" * 5000), "not Python: Exceeds the limit"),
    "a hexadecimal constant": (
        asked("s.a < 0x" + "f" * 9000),
        "the constant of 36000 bits does not fit in 32 bits; write a number in",
    ),
    "a named constant": (
        "HUGE = 10 ** 9999\n\n\n" + asked("s.a < HUGE"),
        "the constant of 33216 bits does not fit in 32 bits; write a number",
    ),
    "10000 terms": (asked(" + ".join(["s.a"] * 10000) + " < 9"), ""),
    "9000 brackets": (asked(nested(9000, "(", "s.a", ")") + " < 9"), ""),
    "190 brackets": (
        asked(nested(190, "-(1 + ", "s.a", ")") + " < 9"),
        "the statements and expressions are nested more than 60 deep",
    ),
    "60 loops": (
        asked("any(s.f " + " ".join(f"for i{k} in range(1)" for k in range(60)) + ")"),
        "the statements and expressions are nested more than 60 deep",
    ),
    "61 parameters": (
        "def many("
        + ", ".join(f"p{k}" for k in range(61))
        + "):\n    return 1\n\n\n"
        + asked("many(" + ", ".join(["1"] * 61) + ") < s.a"),
        "in many: the function has 61 parameters; give it at most 60",
    ),
}


def test_generators_in_each_other_are_compared_with_their_text_once(tmp_path: Path) -> None:
    """Python compares the code of 24 generators in each other 2 ** 24 times."""
    path = model(tmp_path, asked("any(" * 24 + "s.f" + " for i in range(1))" * 24))
    start = time.process_time()
    registry.load_file(path)
    assert time.process_time() - start < 3


@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_deep_code_is_refused_in_one_line(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text, says = TOO_MUCH[name]
    path = model(tmp_path, text)
    with pytest.raises(UsageError) as error:
        registry.load_file(path)
    assert str(error.value).startswith(f"{path}:") and says in str(error.value)
    for words in ([], ["--prove"]):
        assert main([str(path), "--bound", "2", *words]) == 2
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == "" and len(lines) == 2 and all(len(line) < 400 for line in lines)


def test_a_file_that_python_cannot_parse_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = model(tmp_path, asked("s.a < 3"))

    def parse(*_given: object) -> ast.Module:
        raise MemoryError

    monkeypatch.setattr(files.ast, "parse", parse)
    with pytest.raises(
        UsageError, match=r"model.py:1: the file is nested too deep for Python to read; reduce the nesting$"
    ):
        registry.load_file(path)


EXPRESSIONS = [
    "a + b + c - (d + e) - -f + (g if h else i) + (j and k) + not_l",
    "(a if b else c) + d - (e < f) + g",
    "(a < b) - c - d",
    "a if b else c if d else e + f + g if h else i",
    "(a if b else c) if (d if e else f) else g",
    "f(a + b + c, s.x[a - b - c][d])",
    "max((a + b + c for i in range(a + b + c) if e - f - g), default=0)",
    "not (a and (b or c + d + e)) or -(a + b + c)",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_the_text_of_an_expression_is_that_of_python(text: str) -> None:
    tree = ast.parse(text, mode="eval").body
    before = ast.dump(tree)
    assert spelled(tree) == ast.unparse(tree)
    assert ast.dump(tree) == before


@pytest.mark.parametrize("form", ["all({})", "all(({}))"])
def test_a_generator_that_is_the_only_argument_has_no_brackets_of_its_own(form: str) -> None:
    generator = "a + b + c < (d if e else f) for i in range(a + b + c) if any(not g for j in h)"
    assert spelled(ast.parse(form.format(generator), mode="eval").body) == f"all({generator})"


def test_a_long_text_is_shortened_in_the_middle() -> None:
    found = shown(ast.parse(" + ".join(f"term{k}" for k in range(400)), mode="eval").body)
    assert found == "term0 + term1 + term2 + term3 + term4 ... term396 + term397 + term398 + term399"
    assert len(found) < LONGEST_CODE
