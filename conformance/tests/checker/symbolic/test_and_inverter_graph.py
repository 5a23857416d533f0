"""Formulas, numbers and queries to Z3, compared with plain Python.

Hypothesis draws formulas as nested tuples; circuit, clauses and solvers have to agree with Python under every
assignment. Numbers are compared value by value.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import z3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isrcheck.checker.resources.limits import Answer
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph
from isrcheck.checker.symbolic.finite_integers import COMPARE, FiniteArithmetic, OneHotInteger
from isrcheck.checker.symbolic.linear_integers import LinearArithmetic, LinearInteger
from isrcheck.checker.symbolic.solver import Solver, once

pytestmark = pytest.mark.sampled

VARIABLES = 4
Assignment = tuple[bool, ...]
ASSIGNMENTS: Sequence[Assignment] = list(itertools.product([False, True], repeat=VARIABLES))

thorough = settings(
    max_examples=200, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
brief = settings(thorough, max_examples=60)

# ------------------------------------------------------------------------------------------------------------- formulas

Formula = Any
"""The number of a variable, a truth value, or an operation with its operands."""

MEANING: Mapping[str, Callable[..., bool]] = {
    "not": operator.not_,
    "both": lambda a, b: a and b,
    "either": lambda a, b: a or b,
    "same": operator.eq,
    "choose": lambda condition, yes, no: yes if condition else no,
    "all": lambda *sides: all(sides),
    "any": lambda *sides: any(sides),
    "exactly_one": lambda *sides: sum(sides) == 1,
}


def _larger(smaller: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    some = st.lists(smaller, max_size=4).map(tuple)
    return st.one_of(
        st.tuples(st.just("not"), smaller),
        st.tuples(st.sampled_from(["both", "either", "same"]), smaller, smaller),
        st.tuples(st.just("choose"), smaller, smaller, smaller),
        st.tuples(st.sampled_from(["all", "any", "exactly_one"]), some).map(lambda one: (one[0], *one[1])),
    )


formulas = st.recursive(st.one_of(st.integers(0, VARIABLES - 1), st.booleans()), _larger, max_leaves=12)


def meant(formula: Formula, assignment: Assignment) -> bool:
    """The value of a formula, computed by Python."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, int):
        return assignment[formula]
    name, *sides = formula
    return MEANING[name](*(meant(side, assignment) for side in sides))


def built(circuit: AndInverterGraph, variables: Sequence[int], formula: Formula) -> int:
    """The literal of a formula."""
    if isinstance(formula, bool):
        return TRUE if formula else FALSE
    if isinstance(formula, int):
        return variables[formula]
    name, *sides = formula
    literals = [built(circuit, variables, side) for side in sides]
    if name == "not":
        return -literals[0]
    build = getattr(circuit, name)
    literal: int = build(literals) if name in ("all", "any", "exactly_one") else build(*literals)
    return literal


def new_circuit(variables: int = VARIABLES) -> tuple[AndInverterGraph, list[int]]:
    circuit = AndInverterGraph()
    return circuit, [circuit.variable() for _ in range(variables)]


def holds(circuit: AndInverterGraph, variables: Sequence[int], assignment: Assignment, literal: int) -> bool:
    truth = {1: True}
    circuit.truths([literal], truth, lambda node: assignment[variables.index(node)])
    return truth[abs(literal)] == (literal > 0)


@thorough
@given(formulas)
def test_a_formula_has_the_value_that_python_computes(formula: Formula) -> None:
    circuit, variables = new_circuit()
    literal = built(circuit, variables, formula)
    for assignment in ASSIGNMENTS:
        assert holds(circuit, variables, assignment, literal) == meant(formula, assignment)
    assert built(circuit, variables, formula) == literal


@pytest.mark.parametrize("name", ["both", "either", "same"])
def test_known_values_are_simplified_at_once(name: str) -> None:
    circuit, (a, b, *_) = new_circuit()
    build = getattr(circuit, name)
    known = {TRUE: True, FALSE: False}
    for one, other in itertools.product((TRUE, FALSE, a, -a), repeat=2):
        found = build(one, other)
        truths = {MEANING[name](*sides) for sides in _sides(known, a, one, other)}
        assert (found in known) == (len(truths) == 1)
        assert abs(found) in (1, a)
    assert build(a, b) == build(b, a)


def _sides(known: Mapping[int, bool], a: int, one: int, other: int) -> list[tuple[bool, bool]]:
    def truth(side: int, value: bool) -> bool:
        return known.get(side, value == (side > 0))

    return [(truth(one, value), truth(other, value)) for value in (True, False)]


def test_a_repeated_conjunct_is_absorbed() -> None:
    circuit, (a, b, c, _) = new_circuit()
    both = circuit.both(a, b)
    assert circuit.both(a, both) == both
    assert circuit.both(-a, both) == FALSE
    assert circuit.both(-a, -both) == -a
    assert circuit.both(a, -both) == circuit.both(a, -b)
    assert circuit.both(c, both) not in (TRUE, FALSE, both, c)
    size = len(circuit.left)
    assert circuit.both(b, a) == both
    assert len(circuit.left) == size


@thorough
@given(formulas, st.lists(formulas, min_size=VARIABLES, max_size=VARIABLES))
def test_variables_are_replaced_everywhere(formula: Formula, images: list[Formula]) -> None:
    circuit, variables = new_circuit()
    literal = built(circuit, variables, formula)
    # The last variable has no image, and stays what it is.
    known = {variable: built(circuit, variables, one) for variable, one in zip(variables[:-1], images, strict=False)}
    found = circuit.replaced(circuit.cone([literal]), known)
    new = found[literal] if literal > 0 else -found[-literal]
    for assignment in ASSIGNMENTS:
        replaced = (*(meant(image, assignment) for image in images[:-1]), assignment[-1])
        assert holds(circuit, variables, assignment, new) == meant(formula, replaced)


@thorough
@given(formulas, formulas)
def test_the_cone_of_a_literal_has_all_its_inputs(formula: Formula, known: Formula) -> None:
    circuit, variables = new_circuit()
    literal, other = built(circuit, variables, formula), built(circuit, variables, known)
    whole = circuit.cone([literal])
    assert whole == sorted(set(whole))
    for node in whole:
        assert {abs(circuit.left[node]), abs(circuit.right[node])} - {0} <= set(whole)
    others = set(circuit.cone([other]))
    assert set(whole) == set(circuit.cone([literal], others)) | (set(whole) & others)


@thorough
@given(st.lists(formulas, min_size=1, max_size=3))
def test_clauses_are_true_together_where_the_formulas_are(demanded: list[Formula]) -> None:
    circuit, variables = new_circuit()
    literals = [built(circuit, variables, one) for one in demanded]
    clauses = circuit.clauses(literals)
    for assignment in ASSIGNMENTS:
        given_ = [[variable if value else -variable] for variable, value in zip(variables, assignment, strict=True)]
        expected = all(meant(one, assignment) for one in demanded)
        assert satisfiable([*clauses, *given_]) == expected


def satisfiable(clauses: list[list[int]]) -> bool:
    """Whether clauses are satisfiable: by unit propagation and case distinction."""
    while True:
        if any(not clause for clause in clauses):
            return False
        unit = next((clause[0] for clause in clauses if len(clause) == 1), None)
        if unit is None:
            break
        clauses = _given(clauses, unit)
    if not clauses:
        return True
    return any(satisfiable(_given(clauses, literal)) for literal in (clauses[0][0], -clauses[0][0]))


def _given(clauses: list[list[int]], literal: int) -> list[list[int]]:
    return [[one for one in clause if one != -literal] for clause in clauses if literal not in clause]


# -------------------------------------------------------------------------------------------------------------- solvers


@brief
@given(st.lists(formulas, min_size=1, max_size=3))
def test_a_single_z3_query_agrees_with_python(demanded: list[Formula]) -> None:
    circuit, variables = new_circuit()
    literals = [built(circuit, variables, one) for one in demanded]
    answer, values = once(circuit, literals)
    models = [one for one in ASSIGNMENTS if all(meant(formula, one) for formula in demanded)]
    assert answer is (Answer.YES if models else Answer.NO)
    assert (values is not None) == bool(models)
    if values is not None:
        assert tuple(map(values.holds, variables)) in models
        assert all(map(values.holds, literals))


@pytest.mark.parametrize("arithmetic", [False, True])
@brief
@given(st.lists(st.tuples(formulas, st.lists(formulas, max_size=4)), min_size=1, max_size=4))
def test_repeated_z3_queries_agree_with_python(arithmetic: bool, rounds: list[tuple[Formula, list[Formula]]]) -> None:
    """Added formulas stay; assumptions hold for one query, and a core is a subset of them."""
    circuit, variables = new_circuit()
    solver = Solver(circuit, arithmetic=LinearArithmetic(circuit) if arithmetic else None)
    possible = list(ASSIGNMENTS)
    for added, assumed in rounds:
        literals = [built(circuit, variables, one) for one in assumed]
        models = [one for one in possible if all(meant(formula, one) for formula in assumed)]
        answer = solver.check(*literals)
        assert answer is (Answer.YES if models else Answer.NO)
        if answer is Answer.YES:
            values = solver.values()
            assert tuple(map(values.holds, variables)) in models
        else:
            core = solver.core()
            assert core <= set(literals)
            blamed = [formula for formula, literal in zip(assumed, literals, strict=True) if literal in core]
            assert not [one for one in possible if all(meant(formula, one) for formula in blamed)]
        solver.add(built(circuit, variables, added))
        possible = [one for one in possible if meant(added, one)]


def test_a_passed_deadline_gives_no_answer() -> None:
    circuit, (a, *_) = new_circuit()
    assert once(circuit, [a], 0.0) == (Answer.SECONDS, None)
    assert Solver(circuit, 0.0).check(a) is Answer.SECONDS
    assert [answer for answer in Answer if answer.is_known] == [Answer.YES, Answer.NO]


def test_a_constant_false_formula_needs_no_query() -> None:
    circuit, (a, *_) = new_circuit()
    assert once(circuit, [a, FALSE], 0.0) == (Answer.NO, None)
    answer, values = once(circuit, [])
    assert answer is Answer.YES
    assert values is not None
    assert not values.holds(a)


# -------------------------------------------------------------------------------------------------------------- numbers

Sum = Any
"""A number, the number of a numeric variable as a text, or an operation with its operands."""

RANGES = {"p": (0, 2), "q": (-1, 0), "r": (-2, 1)}


def _larger_sum(smaller: st.SearchStrategy[Sum]) -> st.SearchStrategy[Sum]:
    return st.one_of(
        st.tuples(st.just("add"), smaller, smaller),
        st.tuples(st.just("negate"), smaller),
        st.tuples(st.just("truth"), st.integers(0, VARIABLES - 1)),
        st.tuples(st.just("choose"), st.integers(0, VARIABLES - 1), smaller, smaller),
    )


sums = st.recursive(st.one_of(st.integers(-3, 3), st.sampled_from(sorted(RANGES))), _larger_sum, max_leaves=6)
signs = st.sampled_from(sorted(COMPARE))
Numbers = Mapping[str, int]


def meant_number(number: Sum, numbers: Numbers, assignment: Assignment) -> int:
    """The value of a sum, computed by Python."""
    match number:
        case int():
            return number
        case str():
            return numbers[number]
        case ("add", a, b):
            return meant_number(a, numbers, assignment) + meant_number(b, numbers, assignment)
        case ("negate", a):
            return -meant_number(a, numbers, assignment)
        case ("truth", variable):
            return int(assignment[variable])
        case (_, condition, yes, no):
            return meant_number(yes if assignment[condition] else no, numbers, assignment)
    raise AssertionError(number)


class Arithmetic:
    """An arithmetic with a new number for each range, and a way to build sums."""

    def __init__(self, kind: type[FiniteArithmetic] | type[LinearArithmetic]) -> None:
        self.circuit, self.variables = new_circuit()
        self.arithmetic = kind(self.circuit)
        self.numbers = {name: self.arithmetic.number(low, high) for name, (low, high) in RANGES.items()}

    def built(self, number: Sum) -> Any:
        match number:
            case int():
                return number
            case str():
                return self.numbers[number]
            case ("add", a, b):
                return self.arithmetic.add(self.built(a), self.built(b))
            case ("negate", a):
                return self.arithmetic.negate(self.built(a))
            case ("truth", variable):
                return self.arithmetic.of_truth(self.variables[variable])
            case (_, condition, yes, no):
                return self.arithmetic.choose(self.variables[condition], self.built(yes), self.built(no))
        raise AssertionError(number)


def every_choice() -> list[tuple[Numbers, Assignment]]:
    ranges = [range(low, high + 1) for low, high in RANGES.values()]
    return [
        (dict(zip(RANGES, numbers, strict=True)), assignment)
        for numbers in itertools.product(*ranges)
        for assignment in ASSIGNMENTS
    ]


EVERY_CHOICE = every_choice()


@thorough
@given(sums, sums, signs, st.integers(-4, 2), st.integers(0, 4))
def test_one_hot_integers_agree_with_python(one: Sum, other: Sum, sign: str, low: int, more: int) -> None:
    here = Arithmetic(FiniteArithmetic)
    a, b = here.built(one), here.built(other)
    literal = here.arithmetic.compare(sign, a, b)
    inside, within = here.arithmetic.within(a, low, low + more)
    for numbers, assignment in EVERY_CHOICE[::3]:
        truth = given_cases(here, numbers, assignment)
        value = meant_number(one, numbers, assignment)
        assert value_of(a, truth) == value
        assert truth(literal) == COMPARE[sign](value, meant_number(other, numbers, assignment))
        assert truth(inside) == (low <= value <= low + more)
        if truth(inside):
            assert value_of(within, truth) == value
        assert [truth(here.arithmetic.is_element(a, element)) for element in range(-9, 9)] == [
            element == value for element in range(-9, 9)
        ]
        assert all(truth(here.arithmetic.has_one_value(number)) for number in here.numbers.values())


def given_cases(here: Arithmetic, numbers: Numbers, assignment: Assignment) -> Callable[[int], bool]:
    """The values of literals for given numbers and variables."""
    known = dict(zip(here.variables, assignment, strict=True))
    for name, number in here.numbers.items():
        assert isinstance(number, OneHotInteger)
        for case, literal in number.of.items():
            known[abs(literal)] = (case == numbers[name]) == (literal > 0)
    truth = {1: True}

    def holds_here(literal: int) -> bool:
        here.circuit.truths([literal], truth, known.__getitem__)
        return truth[abs(literal)] == (literal > 0)

    return holds_here


def value_of(number: Any, truth: Callable[[int], bool]) -> int:
    if isinstance(number, int):
        return number
    (value,) = (case for case, literal in number.of.items() if truth(literal))
    return int(value)


def test_a_number_has_exactly_one_value() -> None:
    circuit = AndInverterGraph()
    arithmetic = FiniteArithmetic(circuit)
    assert arithmetic.number(3, 3) == 3
    assert arithmetic.has_one_value(3) == TRUE
    assert arithmetic.has_one_value(arithmetic.number(3, 4)) == TRUE
    number = arithmetic.number(3, 5)
    assert isinstance(number, OneHotInteger)
    variables = list(number.of.values())
    for assignment in itertools.product([False, True], repeat=3):
        assert holds(circuit, variables, assignment, arithmetic.has_one_value(number)) == (sum(assignment) == 1)


@pytest.mark.recorded
@settings(thorough, max_examples=100)
@given(sums, sums, signs, st.integers(-4, 2), st.one_of(st.none(), st.integers(0, 4)), st.data())
def test_unbounded_numbers_agree_with_python(
    one: Sum, other: Sum, sign: str, low: int, more: int | None, data: st.DataObject
) -> None:
    """For given variables, Z3 and Python agree on every comparison."""
    here = Arithmetic(LinearArithmetic)
    high = None if more is None else low + more
    a = here.built(one)
    literal = here.arithmetic.compare(sign, a, here.built(other))
    inside, _ = here.arithmetic.within(a, low, high)
    solver = Solver(here.circuit, arithmetic=here.arithmetic)
    for numbers, assignment in data.draw(st.lists(st.sampled_from(EVERY_CHOICE), min_size=3, max_size=3)):
        value = meant_number(one, numbers, assignment)
        expected = [
            (literal, COMPARE[sign](value, meant_number(other, numbers, assignment))),
            (inside, low <= value and (high is None or value <= high)),
            *((here.arithmetic.is_element(a, element), element == value) for element in (value - 1, value)),
        ]
        given_ = [
            *(here.arithmetic.compare("==", here.numbers[name], number) for name, number in numbers.items()),
            *(v if truth else -v for v, truth in zip(here.variables, assignment, strict=True)),
        ]
        for found, truth in expected:
            assert solver.check(*given_, found if truth else -found) is Answer.YES
            values = solver.values()
            assert values.holds(found) == truth
            model = solver.solver.model()
            assert here.arithmetic.value(model, here.numbers["p"]) == numbers["p"]
            assert solver.check(*given_, -found if truth else found) is Answer.NO


def test_a_half_bounded_number_respects_its_bound() -> None:
    circuit = AndInverterGraph()
    arithmetic = LinearArithmetic(circuit)
    assert arithmetic.number(3, 3) == 3
    for low, high in [(None, None), (-1, None), (None, 2), (-1, 2)]:
        number = arithmetic.number(low, high)
        solver = Solver(circuit, arithmetic=arithmetic)
        found = [value for value in range(-4, 6) if solver.check(arithmetic.compare("==", number, value)) is Answer.YES]
        assert found == [v for v in range(-4, 6) if (low is None or low <= v) and (high is None or v <= high)]


@thorough
@given(sums, sums)
def test_equal_sums_are_identical(one: Sum, other: Sum) -> None:
    """Identical sums are compared without Z3."""
    here = Arithmetic(LinearArithmetic)
    a, b = here.built(one), here.built(other)
    add, negate, compare = here.arithmetic.add, here.arithmetic.negate, here.arithmetic.compare
    assert add(a, b) == add(b, a)
    assert add(a, negate(a)) == 0
    assert negate(negate(a)) == a
    total = add(a, b)
    assert (compare("==", add(total, negate(b)), a), compare("<", a, add(a, 1))) == (TRUE, TRUE)
    for sign, opposite in (("<", ">="), ("<=", ">"), ("==", "!=")):
        assert compare(sign, a, b) == -compare(opposite, a, b)
    assert compare("<", a, b) == compare(">", b, a)
    assert compare("==", a, b) == compare("==", b, a)


def test_a_chosen_number_is_defined_where_it_is_used() -> None:
    circuit, (a, *_) = new_circuit()
    arithmetic = LinearArithmetic(circuit)
    number = arithmetic.number(0, None)
    chosen = arithmetic.choose(a, number, -1)
    assert isinstance(chosen, LinearInteger)
    assert arithmetic.choose(-a, -1, number) == chosen
    assert arithmetic.choose(a, number, number) == number
    assert [arithmetic.choose(literal, number, -1) for literal in (TRUE, FALSE)] == [number, -1]
    below = arithmetic.compare("<", chosen, 0)
    solver = Solver(circuit, arithmetic=arithmetic)
    answers = [solver.check(*assumed) for assumed in ((a, below), (-a, below), (-a, -below))]
    assert answers == [Answer.NO, Answer.YES, Answer.NO]
    formula = arithmetic.formula(abs(below))
    assert formula is not None
    assert all(isinstance(side, z3.BoolRef) for side in formula)
    assert z3.is_not(formula[1])
    assert arithmetic.formula(a) is None
    assert arithmetic.defining(a) == []
