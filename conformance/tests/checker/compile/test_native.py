"""Native code of kernels: each construct of the language has the same meaning as in Python."""

from __future__ import annotations

import ctypes
import gc
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from llvmlite import ir

from isrcheck.checker.compile import native
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.outcome.exploration import StepPath
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.registry import load_file

FUNCTIONS = {
    "numbers": "def f(a, b):\n    return (a + b * 3 - -b) * 2 + (a >> 1) + (b & 5)",
    "bits": "def f(a, b):\n    c = a ^ b\n    c |= 4\n    c ^= 9\n    return (a | b) * 100 + c + (a | 1 ^ b & 3)",
    "comparisons": "def f(a, b):\n    return (a < b) + (a <= b) * 2 + (a > b) * 4 + (a >= b) * 8 - (a != b)",
    "a chain": "def f(a, b):\n    return int(a < b <= 2) + 2 * (0 == a == b)",
    "truth values": "def f(a, b):\n    c = a < b\n    c += True\n    return c - (not a) + (True if b else 5)",
    "and, or": "def f(a, b):\n    return (a and b) + 10 * (a or b) + 100 * (not a or not b and a == 1)",
    "one of two": "def f(a, b):\n    return (a if a > b else b + 7) + (4 if a == 1 else b == 2)",
    "least and greatest": "def f(a, b):\n    return min(a, b, 1) + 10 * max(a, -b) + 100 * max(a, b, 0, 2)",
    "if": (
        "def f(a, b):\n    if a:\n        b += 5\n    else:\n        b -= 5\n    if b > 2:\n        a = b\n    return a"
    ),
    "behind a return": "def f(a, b):\n    if a:\n        return b\n        return a\n    return 7\n    b = 5",
    "return within if": "def f(a, b):\n    if a:\n        return 1\n    else:\n        return 2\n    return 3",
    "loops": (
        "def f(a, b):\n    total = 0\n    for i in range(a):\n        for j in range(-2, b):\n"
        "            total += i * 10 + j\n            if total > 30:\n                return total\n    return total"
    ),
    "a loop's variable is assigned to": (
        "def f(a, b):\n    total = 0\n    for i in range(0, 4):\n        i += a\n        total += i\n    return total"
    ),
    "while": (
        "def f(a, b):\n    total = 0\n    while a < b and total < 9:\n        a += 1\n        while b > 2:\n"
        "            b -= 1\n            total += 5\n        total += a\n    return total * 10 + a"
    ),
    "break": (
        "def f(a, b):\n    total = 0\n"
        "    while True:\n        total += 1\n        if total + a > 5:\n            break\n"
        "        for i in range(9):\n            if i > b:\n                break\n            total += i\n"
        "    for j in range(3):\n        total += 100\n        if j == a:\n            break\n        total += 7\n"
        "    return total"
    ),
    "return within while": (
        "def f(a, b):\n    while a > b:\n        if a == 2:\n            return 50\n        a -= 1\n    return a"
    ),
    "a call, and nothing to return": (
        "def g(a):\n    if a > 1:\n        return True\n    return\n\n"
        'def f(a, b):\n    """Says."""\n    pass\n    g(a)\n    return (1 if g(b) else 0) + (2 if g(a) else 4)'
    ),
}


def compiled(text: str, **operations: native.Operation) -> Callable[..., int]:
    return native.load(native.object_code(text, operations, ("f",)), {"f": 2})["f"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_line_means_the_same_to_python_and_to_the_processor(name: str) -> None:
    namespace: dict[str, Callable[..., int]] = {}
    exec(FUNCTIONS[name], namespace)
    function = compiled(FUNCTIONS[name])
    for a, b in itertools.product(range(-3, 4), repeat=2):
        assert (a, b, function(a, b)) == (a, b, int(namespace["f"](a, b)))


@pytest.mark.parametrize(
    ("expression", "asked"),
    [
        ("note(a) and note(b)", {(0, 1): [0], (1, 1): [1, 1]}),
        ("note(a) or note(b)", {(0, 1): [0, 1], (1, 0): [1]}),
        ("note(a) < note(b) < note(5)", {(0, 1): [0, 1, 5], (1, 0): [1, 0]}),
        ("note(b) if note(a) else note(7)", {(0, 1): [0, 7], (1, 2): [1, 2]}),
    ],
)
def test_operands_that_python_skips_are_not_evaluated(expression: str, asked: dict[tuple[int, int], list[int]]) -> None:
    """An index in an operand that is not evaluated must not count as out of range."""
    seen: list[int] = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    callback = kind(lambda number: seen.append(number) or number)
    address = ctypes.cast(callback, ctypes.c_void_p).value

    def note(builder: native.Builder, number: native.Value) -> native.Value:
        signature = native.ir.FunctionType(native.I64, [native.I64])
        pointer = builder.inttoptr(native.ir.Constant(native.I64, address), signature.as_pointer())
        return builder.call(pointer, [number])

    function = compiled(f"def f(a, b):\n    return {expression}", note=note)
    for (a, b), expected in asked.items():
        seen.clear()
        function(a, b)
        assert seen == expected


def test_a_module_has_constants_and_other_lines_for_python() -> None:
    text = (
        '"""Says."""\nfrom elsewhere import g\n\nC = 1 << 40\n\n\ndef f(a: int, b: int) -> int:\n    return a * C - b\n'
    )
    function = native.load(native.object_code(text, {}, ("f",), {"C": 1 << 40}), {"f": 2})["f"]
    assert function(-3, 5) == -3 * (1 << 40) - 5


@pytest.mark.parametrize(
    "text",
    [
        "def f(a, b):\n    while a:\n        a -= 1\n        continue\n    return a",
        "def f(a, b):\n    while a:\n        a -= 1\n    else:\n        b = 2\n    return b",
        "def f(a, b):\n    for i in range(a):\n        b += i\n    else:\n        b = 2\n    return b",
        "def f(a, b):\n    return a ** b",
        "def f(a, b):\n    return [a, b][0]",
        "def f(a, b):\n    return g(a)",
        "def f(a, b):\n    return c",
    ],
)
def test_unknown_syntax_is_refused(text: str) -> None:
    with pytest.raises((AssertionError, AttributeError, KeyError)):
        native.object_code(text, {}, ("f",))


def test_no_instruction_is_left_to_the_garbage_collector() -> None:
    """A kernel of kafka has 30,000. The collector takes a third of the time of the whole compilation to free them."""
    text = FUNCTIONS["loops"] + "\n\n\ndef g(a, b):\n    return f(a, b) if a and b > 5 else b"
    gc.collect()
    gc.disable()
    try:
        native.object_code(text, {}, ["g"])
        left = [one for one in gc.get_objects() if isinstance(one, (ir.Block, ir.Instruction, ir.Constant))]
    finally:
        gc.enable()
    assert left == []


TWICE = '''"""A helper gets one state twice."""

from isrcheck.language import action, always, between, field, require


class State:
    x = field(values=between(0, 5), initially=5)
    seen = field(values=between(0, 5), initially=5)


def moves(s, before):
    if before.x > 0:
        s.x = 0
        s.seen = before.x


@action
def ends(s):
    require(s.x == 5)
    moves(s, s)


@always
def seen_is_not_0(s):
    return s.seen != 0
'''


def test_a_helper_may_get_one_state_twice(tmp_path: Path) -> None:
    """What it writes through one name it reads through the other, in optimized code as well."""
    (tmp_path / "twice.py").write_text(TWICE)
    instance = load_file(tmp_path / "twice.py").instance()
    found = explore(instance, Limits(), kernel=kernel_of(instance, is_optimized=True))
    assert found.findings["seen_is_not_0"].found.path == StepPath(0, (0,))
