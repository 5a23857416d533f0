"""The table of the language's constructs agrees with the reader, with Python's grammar, and with the documents."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from conformance.tests.support.compared.representation import representation_differs
from conformance.tests.support.constructs import BEFORE, ROWS, framed, kinds_in, kinds_of, routines_of
from isrcheck.models import registry, run
from isrcheck.models.language.ir.constructs import (
    CONDITIONS,
    DEPTH,
    DEPTH_IN_ALL,
    EXPRESSIONS_ARE,
    LIMITS,
    NUMBERS,
    PARAMETERS,
    REFUSALS,
    STATEMENTS_ARE,
    TERMS,
    Construct,
    Limit,
    Place,
    Refusal,
)
from isrcheck.models.language.ir.nodes import Expression, Node, Return, Routine, Statement
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import LanguageError, ModelError

REFUSED = [(example, refusal) for refusal in REFUSALS for example in refusal.examples]
if hasattr(ast, "TypeAlias"):  # Python 3.12
    REFUSED.append(("type Inner = int", REFUSALS[0]))
if hasattr(ast, "TemplateStr"):  # Python 3.14
    REFUSED.append(('a = t"{r}"', next(refusal for example, refusal in REFUSED if example == 'a = f"{r}"')))


def instance_of(folder: Path, text: str) -> Instance:
    """An instance of the model with more functions."""
    path = folder / "table.py"
    path.write_text(BEFORE + text, encoding="utf-8")
    return registry.load_file(path).instance()


def read(folder: Path, text: str) -> list[Routine]:
    """The routines of the model with more functions, whose numbers are within the limits of the language."""
    instance = instance_of(folder, text)
    assert instance.layouts
    return list(routines_of(instance.model))


def example_of(construct: Construct, example: str, folder: Path) -> set[type[Node]]:
    """The kinds of nodes that an example becomes; not those of the function around it."""
    (routine,) = (one for one in read(folder, framed(example, construct.place)) if one.name == "example")
    around = {Return} if construct.place in (Place.VALUE, Place.STEP) else set()
    return kinds_in(routine) - around


@pytest.mark.whole
@pytest.mark.parametrize(("construct", "example"), ROWS, ids=[example for _, example in ROWS])
def test_the_reader_accepts_each_construct_and_makes_its_nodes(
    construct: Construct, example: str, tmp_path: Path
) -> None:
    kinds = example_of(construct, example, tmp_path)
    assert set(construct.nodes) <= kinds
    assert construct.nodes or not kinds


WRONG = [construct for construct, example in ROWS if construct.wrong and example == construct.examples[0]]


@pytest.mark.parametrize("construct", WRONG, ids=lambda construct: construct.wrong)
def test_what_is_an_error_of_a_state_violates_in_range_there(construct: Construct, tmp_path: Path) -> None:
    """For Python, and for the representation."""
    instance = instance_of(tmp_path, framed(construct.wrong, construct.place))
    (initial,) = instance.initial_states
    (step,) = (one for one in instance.steps if one.action in ("act", "example") and one.ordinals == (0, 1, 0))
    with pytest.raises(ModelError):
        run.take(instance, initial, step)
    assert representation_differs(instance, initial) is None


def test_every_node_is_the_result_of_a_construct() -> None:
    nodes = {node for construct, _ in ROWS for node in construct.nodes}
    assert nodes == kinds_of(Expression, Statement)


def refusal(folder: Path, text: str) -> tuple[int, str]:
    """The line that is refused, counted from the first line of the text, and the message behind it."""
    with pytest.raises(LanguageError) as refused:
        read(folder, text)
    place, _, message = str(refused.value).partition(": ")
    path, _, line = place.rpartition(":")
    assert path == str(folder / "table.py")
    assert "\n" not in message
    return int(line) - BEFORE.count("\n"), message


IN_THE_LAST_LINE = ("break", "continue", "require(s.is_up[p])")


@pytest.mark.parametrize(("example", "row"), REFUSED, ids=[f"{row.place.name} {example}" for example, row in REFUSED])
def test_the_reader_refuses_what_the_language_does_not_have_with_the_cure(
    example: str, row: Refusal, tmp_path: Path
) -> None:
    text = framed(example, row.place)
    line, message = refusal(tmp_path, text)
    first = text[: text.index("def example")].count("\n") + 2
    assert line == first + (example.count("\n") if example.endswith(IN_THE_LAST_LINE) else 0)
    assert message.startswith("in example: ")
    assert message.endswith(f"; {row.cure}")
    if row.cure == STATEMENTS_ARE:
        assert re.match(r"in example: the statement `(\w+)` is not in the language; ", message)[1] in names_in(example)
    if row.cure == EXPRESSIONS_ARE:
        assert re.match("in example: the expression `.+` is not in the language; ", message)
    if row.cure.startswith("use + - "):
        text = example.removeprefix("a = ")
        assert message.startswith(f"in example: `{text}` has an operator that the language lacks; ")


def grammar(kind: type[ast.AST]) -> set[type[ast.AST]]:
    """Statements, expressions or operators of the Python that runs the tests."""
    return {one for one in kind.__subclasses__() if one.__module__ == "ast"}


GRAMMAR = {
    one for kind in (ast.stmt, ast.expr, ast.operator, ast.unaryop, ast.cmpop, ast.boolop) for one in grammar(kind)
}


def in_text(text: str) -> set[type[ast.AST]]:
    return {type(node) for node in ast.walk(ast.parse(text))} & GRAMMAR


def names_in(text: str) -> set[str]:
    return {kind.__name__ for kind in in_text(text)}


def test_nothing_of_pythons_grammar_is_undecided() -> None:
    accepted = {kind for construct, example in ROWS for kind in in_text(framed(example, construct.place))}
    refused = {kind for example, _ in REFUSED for kind in in_text(example)}
    assert sorted(kind.__name__ for kind in GRAMMAR - accepted - refused) == []
    assert {ast.Assign, ast.For, ast.If, ast.Call, ast.GeneratorExp, ast.Subscript} <= accepted
    assert refused & accepted  # what a construct contains can be refused elsewhere


VALUES = [example.removeprefix("a = ") for example, _ in REFUSED if example.startswith("a = ") and "\n" not in example]
NOWHERE = [one for one in VALUES if in_text(one) - {kind for c, e in ROWS for kind in in_text(framed(e, c.place))}]


WHEREVER = [
    "require({})",
    "s.leader = {}",
    "s.is_up[{}] = True",
    "if {}:\n    pass",
    "for e in range({}):\n    pass",
    "require(any({} for e in Replica))",
    "require(any(True for e in Replica if {}))",
    "require(r in (1, {}))",
    "fence(s, {})",
    "s.isr.add({})",
    "s.inbox[{}].append(1)",
    "a = r + 1 - {}",
]


@pytest.mark.sampled
@pytest.mark.parametrize("value", NOWHERE)
def test_an_expression_that_the_language_does_not_have_is_refused_wherever_it_stands(
    value: str, tmp_path: Path
) -> None:
    for line in WHEREVER:
        if "yield" in value and " for e in Replica" in line:  # Python itself refuses `yield` in a generator
            continue
        line, message = refusal(tmp_path, framed(line.format(f"({value})"), Place.ACTION))
        assert (line, message[:12]) == (3, "in example: ")


def sized(limit: Limit, size: int) -> str:
    """A function of this size."""
    if limit is NUMBERS:
        return framed(f"require(r < {size})", Place.ACTION)
    if limit is DEPTH:  # a call, and what it takes
        return framed(f"require({'not ' * (size - 3)}r)", Place.ACTION)
    if limit is DEPTH_IN_ALL:  # two for each function, a return and its call; the last one has a cell and its state
        helpers = [f"def helper_{one}(s):\n    return helper_{one + 1}(s)\n" for one in range((size - 5) // 2)]
        last = f"def helper_{len(helpers)}(s):\n    return {'not ' * ((size - 5) % 2)}s.leader\n"
        return "".join([*helpers, last, "@always\ndef claim(s):\n    return helper_0(s)\n"])
    if limit is PARAMETERS:
        given = "".join(f", a{one}: Replica" for one in range(size - 1))
        return f"@action\ndef example(s{given}):\n    pass\n"
    if limit is TERMS:
        return framed(f"a = {' + '.join('r' * size)}", Place.ACTION)
    assert limit is CONDITIONS
    return framed(f"a = {'0 if r else ' * size}1", Place.ACTION)


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.of)
def test_a_function_may_be_as_large_as_its_limit_and_no_larger(limit: Limit, tmp_path: Path) -> None:
    assert read(tmp_path, sized(limit, limit.most))
    _, message = refusal(tmp_path, sized(limit, limit.most + 1))
    assert message.endswith(f"; {limit.cure}")
