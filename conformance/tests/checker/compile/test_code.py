"""Functions that are built from Python: each construct has the meaning that its documentation says."""

from __future__ import annotations

import ctypes
import gc
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from llvmlite import ir

from isrcheck.checker.compile import machine_code, staging
from isrcheck.checker.compile.staging import (
    I64,
    Apart,
    Buffer,
    Build,
    Code,
    Number,
    Operation,
    Staged,
    Value,
    load_word,
    store_word,
)

Function = Callable[[Any, Any], int]


def assembly_of(build: Build) -> str:
    with staging.new_module() as module:
        module.define("f", [Value] * 2, build, is_exported=True)
        return module.assembly()


def compiled(build: Build) -> Callable[..., int]:
    code = machine_code.machine_code(assembly_of(build))
    return machine_code.load(code, {"f": 2})["f"]


def numbers(a: Any, b: Any) -> Any:
    return (a + b * 3 - -b) * 2 + (a >> 1) + (b & 5) + (7 - a)


def bits(a: Any, b: Any) -> Any:
    return (a | b) * 100 + ((a ^ b | 4) ^ 9) + (a | (b & 3) ^ 1)


def quotients(a: Any, b: Any) -> Any:
    return a // 3 * 100 + b % 3 * 10 + (a + b) // 2


def comparisons(a: Any, b: Any) -> Any:
    return (a < b) * 1 + (a <= b) * 2 + (a > b) * 4 + (a >= b) * 8 - (a != b) * 1 + (a == b) * 16 + (b > 2) * 32


@pytest.mark.parametrize("formula", [numbers, bits, quotients, comparisons])
def test_a_formula_means_the_same_to_python_and_to_the_processor(formula: Callable[[Any, Any], Any]) -> None:
    function = compiled(lambda code, a, b: code.return_(formula(a, b)))
    for a, b in itertools.product(range(-3, 4), repeat=2):
        assert (a, b, function(a, b)) == (a, b, int(formula(a, b)))


def one_of_two(code: Code, a: Value, b: Value) -> None:
    code.return_(code.choice([(a > b, a)], lambda: b + 7) + code.choice([(a == 1, 4), (b == 1, 9)], b == 2))


def and_or(code: Code, a: Value, b: Value) -> None:
    either = code.some(~a, lambda: code.every(~b, a == 1))
    code.return_(code.every(a, b) + 10 * code.some(a, b) + 100 * either + 1000 * code.every(a > 0))


def least_and_greatest(code: Code, a: Value, b: Value) -> None:
    least, greatest = code.extremum("<", a, b, 1), code.extremum(">", a, b, 0, 2)
    code.return_(least + 10 * code.extremum(">", a, -b) + 100 * greatest)


def membership(code: Code, a: Value, b: Value) -> None:
    code.return_(code.among(a, [b, 1, -2]) + 2 * code.among(b, [3]) + 4 * code.among(a, []))


def conditions(code: Code, a: Value, b: Value) -> None:
    total = code.variable(0)
    with code.when(a):
        total += b
    with code.otherwise():
        total -= 5
    with code.when(total > 2):
        total.set(a * 10)
    with code.when(a == 1):
        total += 100
    with code.otherwise(lambda: b == 1):
        total += 200
    with code.otherwise(lambda: b == 2):
        with code.when(a == 2):
            total += 300
        with code.otherwise():
            total += 400
    with code.otherwise():
        total += 500
    code.return_(total)


def returns(code: Code, a: Value, b: Value) -> None:
    with code.when(a > 0):
        with code.when(b > 0):
            code.return_(1)
        with code.otherwise():
            code.return_(a == b)
    with code.otherwise(lambda: a == 0):
        code.return_(b)


def both_return(code: Code, a: Value, b: Value) -> None:
    with code.when(a > b):
        code.return_(1)
    with code.otherwise():
        code.return_(2)


def loops(code: Code, a: Value, b: Value) -> None:
    total = code.variable(0)
    with code.loop(0, a) as i, code.loop(-2, b) as j:
        total += i * 10 + j
        with code.when(total > 30):
            code.return_(total)
    code.return_(total)


def repetitions(code: Code, a: Value, b: Value) -> None:
    first, second, total = code.variable(a), code.variable(b), code.variable(0)
    with code.repeat(lambda: code.every(first < second, lambda: total < 9)):
        first += 1
        with code.repeat(lambda: second > 2):
            second -= 1
            total += 5
        total += first
    code.return_(total * 10 + first)


def leaving(code: Code, a: Value, b: Value) -> None:
    total = code.variable(0)
    with code.repeat():
        total += 1
        with code.when(total + a > 5):
            code.leave()
        with code.loop(0, 9) as i:
            with code.when(i > b):
                code.leave()
            total += i
    with code.loop(0, 3) as j:
        total += 100
        with code.when(j == a):
            code.leave()
        total += 7
    code.return_(total)


def bits_of_variables(code: Code, a: Value, b: Value) -> None:
    total = code.variable(a)
    total |= b
    total ^= 9
    total -= 13
    code.return_(total)


def helper(code: Code, a: Value) -> None:
    with code.when(a > 1):
        code.return_(True)


def calls(code: Code, a: Value, b: Value) -> None:
    staged = Staged(helper)
    code.return_(code.choice([(staged(b), 1)], 0) + code.choice([(code.call(helper, a), 2)], 4))


def conditions_in_python(a: int, b: int) -> int:
    total = b if a else -5
    total = a * 10 if total > 2 else total
    return total + (100 if a == 1 else 200 if b == 1 else (300 if a == 2 else 400) if b == 2 else 500)


def loops_in_python(a: int, b: int) -> int:
    total = 0
    for i, j in itertools.product(range(a), range(-2, b)):
        total += i * 10 + j
        if total > 30:
            break
    return total


def repetitions_in_python(a: int, b: int) -> int:
    total = 0
    while a < b and total < 9:
        a += 1
        while b > 2:
            b -= 1
            total += 5
        total += a
    return total * 10 + a


def leaving_in_python(a: int, b: int) -> int:
    total = 0
    while True:
        total += 1
        if total + a > 5:
            break
        for i in range(9):
            if i > b:
                break
            total += i
    for j in range(3):
        total += 100
        if j == a:
            break
        total += 7
    return total


BUILDERS: dict[Build, Callable[[int, int], int]] = {
    one_of_two: lambda a, b: (a if a > b else b + 7) + (4 if a == 1 else 9 if b == 1 else b == 2),
    and_or: lambda a, b: (a and b) + 10 * (a or b) + 100 * (not a or (not b and a == 1)) + 1000 * (a > 0),
    least_and_greatest: lambda a, b: min(a, b, 1) + 10 * max(a, -b) + 100 * max(a, b, 0, 2),
    membership: lambda a, b: (a in (b, 1, -2)) + 2 * (b == 3),
    conditions: conditions_in_python,
    returns: lambda a, b: (1 if b > 0 else a == b) if a > 0 else b if a == 0 else 0,
    both_return: lambda a, b: 1 if a > b else 2,
    loops: loops_in_python,
    repetitions: repetitions_in_python,
    leaving: leaving_in_python,
    bits_of_variables: lambda a, b: ((a | b) ^ 9) - 13,
    calls: lambda a, b: (b > 1) + (2 if a > 1 else 4),
}
"""Functions that use constructs, and what they mean in plain Python."""


@pytest.mark.parametrize("build", BUILDERS)
def test_a_construct_means_the_same_as_in_python(build: Build) -> None:
    function = compiled(build)
    for a, b in itertools.product(range(-3, 4), repeat=2):
        assert (a, b, function(a, b)) == (a, b, int(BUILDERS[build](a, b)))


SKIPPING: dict[str, tuple[Callable[[Code, Callable[[Number], Value], Value, Value], Value], dict[Any, list[int]]]] = {
    "and": (lambda code, note, a, b: code.every(lambda: note(a), lambda: note(b)), {(0, 1): [0], (1, 1): [1, 1]}),
    "or": (lambda code, note, a, b: code.some(lambda: note(a), lambda: note(b)), {(0, 1): [0, 1], (1, 0): [1]}),
    "if": (
        lambda code, note, a, b: code.choice([(note(a), lambda: note(b))], lambda: note(Value(code, I64(7)))),
        {(0, 1): [0, 7], (1, 2): [1, 2]},
    ),
}


@pytest.mark.parametrize("name", SKIPPING)
def test_operands_that_python_skips_are_not_evaluated(name: str) -> None:
    """An index in an operand that is not evaluated must not count as out of range."""
    evaluated: list[int] = []

    def see(number: int) -> int:
        evaluated.append(number)
        return number

    callback = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(see)
    address = ctypes.cast(callback, ctypes.c_void_p).value

    def note(builder: Any, number: Any) -> Any:
        signature = ir.FunctionType(I64, [I64])
        return builder.call(builder.inttoptr(ir.Constant(I64, address), signature.as_pointer()), [number])

    build, expected = SKIPPING[name]
    function = compiled(lambda code, a, b: code.return_(build(code, Operation(note), a, b)))
    for (a, b), numbers_evaluated in expected.items():
        evaluated.clear()
        function(a, b)
        assert evaluated == numbers_evaluated


def exchange(code: Code, before: Buffer, s: Buffer, place: Value) -> None:
    """Exchange the words at a place of two buffers."""
    kept = load_word(before + place)
    store_word(before + place, load_word(s + place))
    store_word(s + place, kept)


def exchange_apart(code: Code, before: Apart, s: Apart, place: Value) -> None:
    """The same of two buffers that are different."""
    code.call(exchange, before, s, place)


@pytest.mark.parametrize("build", [exchange, exchange_apart])
def test_buffers_are_pointers_that_may_be_declared_apart(build: Build) -> None:
    """A buffer behaves like any other address: its kind only tells LLVM what it may assume."""
    with staging.new_module() as module:
        module.function(build, is_exported=True)
        assembly = module.assembly()
    assert assembly.count("noalias") == 2 * (build is exchange_apart)
    words = [(ctypes.c_int64 * 2)(1, 2), (ctypes.c_int64 * 2)(3, 4)]
    function = machine_code.load(machine_code.machine_code(assembly), {build.__name__: 3})[build.__name__]
    function(*map(ctypes.addressof, words), 8)
    assert [list(word) for word in words] == [[1, 4], [3, 2]]


def test_only_exported_functions_can_be_seen_from_outside() -> None:
    definitions = [line for line in assembly_of(calls).splitlines() if line.startswith("define")]
    assert [("internal" in line, '@"f"' in line) for line in definitions] == [(True, False), (False, True)]


def asks_a_value(code: Code, a: Value, b: Value) -> None:
    code.return_(1 if a == b else 3)


def goes_on_behind_the_end(code: Code, a: Value, b: Value) -> None:
    code.return_(a)
    code.return_(b)


def separates_otherwise(code: Code, a: Value, b: Value) -> None:
    with code.when(a > 1):
        pass
    code.variable(b + 1)
    with code.otherwise():
        pass


@pytest.mark.parametrize(
    ("build", "kind", "says"),
    [
        (asks_a_value, TypeError, "that code computes later"),
        (goes_on_behind_the_end, AssertionError, "the code has ended here"),
        (separates_otherwise, AssertionError, "directly behind"),
    ],
)
def test_mistakes_in_builders_are_refused(build: Build, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        assembly_of(build)


@pytest.mark.sampled
def test_no_instruction_is_left_to_the_garbage_collector() -> None:
    """A kernel of kafka has 30,000. The collector takes a third of the time of the whole compilation to free them."""
    gc.collect()
    gc.disable()
    try:
        for build in BUILDERS:
            assembly_of(build)
        left = [each for each in gc.get_objects() if isinstance(each, (ir.Block, ir.Instruction, ir.Constant))]
    finally:
        gc.enable()
    assert left == []
