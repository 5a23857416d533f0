"""The modelling language: other Python is refused with file, line and a hint; accepted code has one meaning.

Every refusal is tested by a tiny model whose refused line is marked `# <-`. Accepted models are compared, state by
state, between CPython and the compiled kernel; above all constructs that one of them could misinterpret.
"""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from conformance.tests.checker.compile.test_kernel import Compiled, Reference, compare
from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.models import registry
from isrcheck.models.language.expression import read_expression
from isrcheck.models.language.model import Instance, assemble
from isrcheck.models.messages import LanguageError, ModelError, UsageError
from isrcheck.models.run import Cells, State

PRELUDE = '''"""A model of nothing in particular."""

from enum import IntEnum

from isrcheck.language import (
    NONE, Domain, Flag, Subset, action, always, always_possible, always_step, between, bound, budget, field, initial,
    optional, require, setting, sometimes, switch,
)


class Configuration:
    n = bound(2, "nodes")
    m = bound(3, "places")
    k = setting(1, "a run-time number")
    w = switch(True, "a switch")


class Node(Domain, size="n"):
    pass


class Place(Domain, size="m"):
    pass


class Nodes(Subset, of=Node):
    pass


class Places(Subset, of=Place):
    pass


class Colour(IntEnum):
    RED = 0
    GREEN = 1
    BLUE = 2


class State:
    x = field(Node, values=between(-1, 3))
    y = field(Place, values=between(0, 2))
    z = field(Node, Place, values=Flag)
    f = field(values=Flag)
    g = field(values=Flag)
    c = field(values=Colour)


TWO = 2
YES = True
WORD = "word"


def one(s):
    return 1


def clear(s):
    s.f = False


@action
def flip(s):
    s.f = not s.f


'''


def action(*lines: str, parameters: str = "s, node: Node") -> str:
    return "\n".join(["@action", f"def act({parameters}):", *(f"    {line}" for line in lines), ""])


def write(folder: Path, body: str, name: str = "mine.py", prelude: str = PRELUDE) -> Path:
    path = folder / name
    path.write_text(prelude + body, encoding="utf-8")
    return path


def marked_line(path: Path) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith("# <-"))


def whole(path: Path) -> Instance:
    """Load a model and use everything that an engine uses."""
    instance = registry.load_file(path).instance()
    assert instance.layouts and instance.initial_states and instance.steps is not None
    assert instance.properties is not None
    return instance


# ----------------------------------------------------------------------------- refused: a line in the body of an action

IN_AN_ACTION = [
    # Statements.
    (
        "for i in range(2):  # <-\n        pass\n    else:\n        pass",
        "the loop has an `else`, which the language lacks; put the statements of the `else` after the loop",
    ),
    ("return  # <-", "an action contains `return`; guard with require(...)"),
    ("return True  # <-", "an action contains `return`; guard with require(...)"),
    # Assignments.
    ("a = b = 1  # <-", "`a = b = 1` has several assignments; write one assignment per line"),
    ("a, b = 1, 2  # <-", "`(1, 2)` is not in the language"),
    ("a, b = s.f  # <-", "`(a, b)` is no field of the state; write s.field or s.field[index]"),
    ("a = 1\n    a *= 2  # <-", "`a *= 2` has an operator that the language lacks; use += or -=, or write"),
    ("s = 1  # <-", "`s` is a parameter or a name of the language, to which nothing can be assigned; choose another"),
    (
        "taken = 1  # <-",
        "`taken` is a parameter or a name of the language, to which nothing can be assigned; choose another",
    ),
    ("a += 1  # <-", "`a` has no value yet; give the local a value before += or -="),
    (
        "s.n = 2  # <-",
        "`n` is an entry of the configuration, which no function can change; write only fields of the state",
    ),
    (
        "s.k += 1  # <-",
        "`k` is an entry of the configuration, which no function can change; write only fields of the state",
    ),
    (
        "s.w = False  # <-",
        "`w` is an entry of the configuration, which no function can change; write only fields of the state",
    ),
    ("s.unknown = 1  # <-", "the state has no field `unknown`; it has c, f, g, k, m, n, w, x, y, z"),
    ("s.x = 1  # <-", "`x` takes 1 index, not 0; write every index: the language has no slices and no parts of arrays"),
    ("s.z[0] = 1  # <-", "`z` takes 2 indices, not 1; write every index"),
    ("a = 1\n    a[0] = 1  # <-", "`a[0]` is no field of the state; write s.field or s.field[index]"),
    ("node.x = 1  # <-", "`node` is not a state here; name the state s or before or after"),
    # Guards.
    (
        "s.f = True\n    require(s.g)  # <-",
        "require(...) is called after a write; put every guard before the first write",
    ),
    ("if s.g:\n        s.f = True\n    require(s.g)  # <-", "require(...) is called after a write"),
    ("clear(s)\n    require(s.g)  # <-", "require(...) is called after a write"),
    ("for i in range(2):\n        require(s.g)  # <-\n        s.f = True", "require(...) is called after a write"),
    (
        "for i in range(2):\n        for j in range(2):\n            require(s.g)  # <-\n        clear(s)",
        "require(...) is called after a write",
    ),
    ("for i in range(2):\n        s.f = True\n    require(s.g)  # <-", "require(...) is called after a write"),
    ("require()  # <-", "require(...) takes exactly one condition; write one require(...) per guard"),
    ("require(s.f, s.g)  # <-", "require(...) takes exactly one condition; write one require(...) per guard"),
    ("require(condition=s.f)  # <-", "require(...) takes exactly one condition; write one require(...) per guard"),
    ("a = require(s.f)  # <-", "`require(...)` cannot be called here; call helpers of the modelling language"),
    # Declarations.
    *(
        (
            f"require({name}(s.f))  # <-",
            f"`{name}(...)` is a declaration, which has no value in a function;"
            " write the declaration outside of functions",
        )
        for name in ("always", "always_possible", "between", "field", "setting")
    ),
    # Calls.
    (
        "one(s)  # <-",
        "the value that one(...) returns is not used; use the value, or call a helper that writes to the state",
    ),
    (
        "a = clear(s)  # <-",
        "the helper clear writes to the state and has no value; call the helper as a statement of its own",
    ),
    (
        "flip(s)  # <-",
        "flip is an action or another declaration, which no function can call; move the code that both functions",
    ),
    ("s.x[0] = len(s.x)  # <-", "`len(s.x)` is not the length of a domain, a set or a queue; give len(...) a domain"),
    (
        "s.x[0] = len(Node, Place)  # <-",
        "`len(Node, Place)` is not the length of a domain, a set or a queue; give len(...) a domain",
    ),
    (
        "s.x[0] = len(Colour)  # <-",
        "`len(Colour)` is not the length of a domain, a set or a queue; give len(...) a domain",
    ),
    ("a = len  # <-", "`len` is used without a call; call it"),
    (
        "print(s.f)  # <-",
        "Python's own `print` is not in the language; of Python's own functions, use only min, max, abs, all",
    ),
    ("a = pow(s.y[0], 2)  # <-", "Python's own `pow` is not in the language"),
    ("a = next(i for i in range(2))  # <-", "Python's own `next` is not in the language"),
    ("a = id  # <-", "Python's own `id` is not in the language"),
    ("a = max  # <-", "`max` is used without a call; call it"),
    ("a = range(2)  # <-", "`range` is used without a call; write it as in: for x in range(n)"),
    (
        "lenn(s)  # <-",
        "`lenn` has no value here; define the name in the module, or assign it on every path to this line",
    ),
    ("a = Node(1)  # <-", "`Node(...)` cannot be called here; call helpers of the modelling language"),
    ("a = WORD(1)  # <-", "`WORD(...)` cannot be called here; call helpers of the modelling language"),
    ("a = s.f()  # <-", "`s.f(...)` does not call a plain name; call helpers by their plain name"),
    ("a = (lambda: 1)()  # <-", "call helpers by their plain name"),
    ("a = one()  # <-", "one(...) must get 1 arguments by position, but does not; pass every argument by position"),
    (
        "a = one(s, 1)  # <-",
        "one(...) must get 1 arguments by position, but does not; pass every argument by position",
    ),
    (
        "a = one(s=s)  # <-",
        "one(...) must get 1 arguments by position, but does not; pass every argument by position",
    ),
    (
        "a = one(s.f)  # <-",
        "`s.f` is passed to one as `s`, which is of another kind; pass a state to a parameter that is a state",
    ),
    ("a = min(1)  # <-", "min(...) gets fewer than two numbers; write min(a, b)"),
    (
        "a = max(s.y[i] for i in range(2) if s.f)  # <-",
        "the generator of max(...) has an `if` or goes through a set, so it may have no element; give the value",
    ),
    (
        "a = max((s.y[i] for i in range(2)), key=3)  # <-",
        "max(...) has a keyword other than `default`; leave that keyword out",
    ),
    (
        "a = max((s.y[i] for i in range(2)), 3)  # <-",
        "max(...) gets a generator and another argument; write max(a, max(... for x",
    ),
    ("a = min(1, 2, key=3)  # <-", "min(...) of numbers has a keyword argument; write min(a, b)"),
    ("a = min(1, 2, default=3)  # <-", "min(...) of numbers has a keyword argument; write min(a, b)"),
    # Expressions.
    ("s.x[0] = [1][0]  # <-", "`[1][0]` is no field of the state; write s.field or s.field[index]"),
    ("a = [1, 2]  # <-", "`[1, 2]` is not in the language; use only numbers, truth values, names"),
    ("yield 1  # <-", "this expression has no effect; call require(...), or a helper that writes to the state"),
    ("s.f  # <-", "this expression has no effect; call require(...), or a helper that writes to the state"),
    ("a = 'text'  # <-", "the constant 'text' is no value of the language; use whole numbers and truth values"),
    ("a = 1.5  # <-", "the constant 1.5 is no value of the language; use whole numbers and truth values"),
    ("a = None  # <-", "the constant None is no value of the language; use whole numbers and truth values"),
    ("a = ...  # <-", "the constant Ellipsis is no value of the language; use whole numbers and truth values"),
    ("a = WORD  # <-", "`WORD` is a str, not a whole number; use only names of whole numbers"),
    ("a = Colour  # <-", "use only names of whole numbers"),
    ("a = one  # <-", "`one` is a function, not a whole number; use only names of whole numbers"),
    ("a = s  # <-", "the whole state `s` is used as a value; read fields of the state, or pass it to a helper"),
    ("a = s.x  # <-", "`x` takes 1 index, not 0; write every index"),
    (
        "a = s.z[0]  # <-",
        "`z` takes 2 indices, not 1; write every index: the language has no slices and no parts of arrays",
    ),
    ("a = s.z[0][0:1]  # <-", "`s.z[0][0:1]` is a slice; read one element at a time, in a loop over range(m, n)"),
    ("a = s.z[0, 0]  # <-", "`z` takes 2 indices, not 1"),
    ("a = s.f[0]  # <-", "`f` takes 0 indices, not 1"),
    ("a = s.n[0]  # <-", "`n` is a configuration entry, which takes no index; leave the index out"),
    ("a = s.unknown  # <-", "the state has no field `unknown`; it has c, f, g, k, m, n, w, x, y, z"),
    ("a = s.f.real  # <-", "`s.f.real` is no field of the state; write s.field or s.field[index]"),
    ("a = after.f  # <-", "`after` is not a state here; name the state s or before or after"),
    ("a = Colour.PINK  # <-", "Colour has no member PINK; it has RED, GREEN, BLUE"),
    (
        "a = Node.size  # <-",
        "`Node.size` is an attribute of neither a state nor an IntEnum; read s.field, or a member of an IntEnum",
    ),
    ("a = Colour.RED.value  # <-", "`Colour.RED.value` is no field of the state; write s.field or s.field[index]"),
    ("a = Colour['RED']  # <-", "`Colour['RED']` is no field of the state; write s.field or s.field[index]"),
    ("a = s.y[0] ** 2  # <-", "`s.y[0] ** 2` has an operator that the language lacks; use + - * // or %"),
    ("a = ~s.y[0]  # <-", "`~s.y[0]` has an operator that the language lacks; use `not` or a minus sign"),
    ("a = +s.y[0]  # <-", "`+s.y[0]` has an operator that the language lacks; use `not` or a minus sign"),
    (
        "require(s.y[0] in [1, 2])  # <-",
        "`s.y[0] in [1, 2]` does not list the values after `in`; write the values in round brackets, as in:",
    ),
    (
        "require(s.y[0] not in s.y)  # <-",
        "`s.y[0] not in s.y` does not list the values after `in`; write the values in round brackets, as in:",
    ),
    (
        "require(s.y[0] in range(2))  # <-",
        "`s.y[0] in range(2)` does not list the values after `in`; write the values in round brackets, as in:",
    ),
    ("require((1, 2) == s.y[0])  # <-", "`(1, 2)` is not in the language"),
    (
        "require(s.y[0] is None)  # <-",
        "`s.y[0] is None` has a comparison that the language lacks; compare with == != < <= > >=",
    ),
    (
        "require(s.y[0] is not NONE)  # <-",
        "`s.y[0] is not NONE` has a comparison that the language lacks; compare with == != < <= > >=",
    ),
    ("require(0 < s.y[0] in (1, 2))  # <-", "write `in` as a comparison of its own, in brackets"),
    ("require(taken == flip)  # <-", "`taken` has no value here"),
    # Loops and folds.
    (
        "for i in s.y:  # <-\n        pass",
        "a `for` goes through `s.y`; go through range(n), range(m, n), a domain or a set",
    ),
    (
        "for i in (1, 2):  # <-\n        pass",
        "a `for` goes through `(1, 2)`; go through range(n), range(m, n), a domain or a set",
    ),
    (
        "for i in range(0, 4, 2):  # <-\n        pass",
        "a `for` goes through `range(0, 4, 2)`; go through range(n), range(m, n), a domain or a set",
    ),
    (
        "for i in range():  # <-\n        pass",
        "a `for` goes through `range()`; go through range(n), range(m, n), a domain or a set",
    ),
    ("for i, j in range(2):  # <-\n        pass", "`(i, j)` cannot be a loop variable; use one plain name"),
    ("for s in range(2):  # <-\n        pass", "`s` cannot be a loop variable; use one plain name"),
    ("for taken in range(2):  # <-\n        pass", "`taken` cannot be a loop variable; use one plain name"),
    ("for i in range(s.nn):  # <-\n        pass", "the state has no field `nn`; it has c, f, g, k, m, n, w, x, y, z"),
    ("for i in range(s.nn[0] + 1):  # <-\n        pass", "the state has no field `nn`; it has c, f, g, k, m"),
    (
        "for i in Colour:  # <-\n        pass",
        "a `for` goes through `Colour`; go through range(n), range(m, n), a domain or a set",
    ),
    (
        "for i in Nodes:  # <-\n        pass",
        "a `for` goes through `Nodes`; go through range(n), range(m, n), a domain or a set",
    ),
    ("for Node in range(2):\n        for i in Node:  # <-\n            pass", "a `for` goes through `Node`"),
    ("require(any(i for Node in range(2) for i in Node))  # <-", "a `for` goes through `Node`"),
    ("for i in range(i):  # <-\n        pass", "`i` has no value here"),
    ("require(any(True for i in range(2) for j in range(j)))  # <-", "`j` is a variable of the generator, which"),
    ("require(any([s.f, s.g]))  # <-", "any(...) has no generator; write any(... for x in range(n))"),
    ("require(all(s.f))  # <-", "all(...) has no generator; write all(... for x in range(n))"),
    ("a = sum([s.y[i] for i in range(2)])  # <-", "sum(...) has no generator; write sum(... for x in range(n))"),
    ("a = sum((1 for i in range(2)), 1)  # <-", "sum(...) has no generator; write sum(... for x in range(n))"),
    # Names: Python's own rules, found out before Python does.
    ("s.y[0] = later  # <-\n    later = 1", "`later` has no value here"),
    ("if s.f:\n        a = 1\n    s.y[0] = a  # <-", "`a` has no value here"),
    ("for i in range(2):\n        a = i\n    s.y[0] = a  # <-", "`a` has no value here"),
    ("for i in range(2):\n        pass\n    s.y[0] = i  # <-", "`i` has no value here"),
    ("require(any(i == 1 for i in range(2)) and i == 0)  # <-", "`i` has no value here"),
    ("require(s.y[0] == TWO)  # <-\n    TWO = 1", "`TWO` has no value here"),
    ("if s.f:\n        TWO = 1\n    s.y[0] = TWO  # <-", "`TWO` has no value here"),
    ("for TWO in range(1):\n        pass\n    s.y[0] = TWO  # <-", "`TWO` has no value here"),
    ("one = 2\n    s.y[0] = one(s)  # <-", "`one` has no value here"),
    ("Colour = 2\n    s.c = Colour.RED  # <-", "`Colour` has no value here"),
    ("min = 2\n    s.y[0] = min(1, min)  # <-", "`min` has no value here"),
    ("range = 2\n    for i in range(2):  # <-\n        pass", "a `for` goes through `range(2)`"),
    (
        "i = 1\n    require(any(True for j in range(2) if i == j for i in range(2)))  # <-",
        "`i` is a variable of the generator, which has no value yet; rename the variable",
    ),
    # Numbers: what 64 bits do not hold means something else in a kernel.
    ("require(s.y[0] < 100000000000000000000)  # <-", "the constant 100000000000000000000"),
]


@pytest.mark.parametrize(("code", "says"), IN_AN_ACTION, ids=[code for code, _ in IN_AN_ACTION])
def test_a_line_outside_the_language_is_refused(tmp_path: Path, code: str, says: str) -> None:
    path = write(tmp_path, action(code))
    with pytest.raises(LanguageError) as refusal:
        registry.load_file(path)
    message = str(refusal.value)
    assert message.startswith(f"{path}:{marked_line(path)}: in act: ")
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize("use", ["nodes[0]", "0 in nodes", "len(nodes) == 1", "any(n == 0 for n in nodes)"])
def test_a_helper_says_which_parameter_is_a_subset(tmp_path: Path, use: str) -> None:
    helper = f"def has(s, {{}}):\n    return {use}\n\n\n"
    body = action("require(has(s, some))  # <-", "s.f = True", parameters="s, some: Nodes")
    path = write(tmp_path, helper.format("nodes") + body)
    with pytest.raises(LanguageError) as refused:
        whole(path)
    assert str(refused.value) == (
        f"{path}:{marked_line(path)}: in act: `some` is a subset, but has does not declare `nodes` as a subset;"
        " annotate the parameter: nodes: Nodes"
    )
    assert whole(write(tmp_path, helper.format("nodes: Nodes") + body, "annotated.py"))


# --------------------------------------------------------------------------------------- refused: functions and modules

WHOLE_FUNCTIONS = {
    "the first parameter of an action must be its only state": (
        "@action\ndef act():  # <-\n    pass",
        "@action\ndef act(state: Node):  # <-\n    pass",
        "@action\ndef act(s, before):  # <-\n    s.f = True",
        "@action\ndef act(s, taken: Node):  # <-\n    s.f = True",
    ),
    "the parameter node of an action has no domain; annotate the parameter, as in `leader: Replica`": (
        "@action\ndef act(s, node):  # <-\n    pass",
    ),
    "int is not a domain; annotate the parameter with a Domain or a Subset": (
        "@action\ndef act(s, node: int):  # <-\n    pass",
    ),
    "Colour is not a domain; declare a Domain with as many elements, as in: class AnyColour(Domain, size=3)": (
        "@action\ndef act(s, colour: Colour):  # <-\n    pass",
    ),
    "one(1) is not a domain": ("@action\ndef act(s, node: one(1)):  # <-\n    pass",),
    "'Node' is not a domain": ("@action\ndef act(s, node: 'Node'):  # <-\n    pass",),
    "a parameter has a form that the language lacks; leave out defaults, *args, **names, /": (
        "@action\ndef act(s, node: Node = 0):  # <-\n    pass",
        "@action\ndef act(s, *nodes):  # <-\n    pass",
        "@action\ndef act(s, **nodes):  # <-\n    pass",
        "@action\ndef act(s, *, node: Node):  # <-\n    pass",
        "@action\ndef act(s, /, node: Node):  # <-\n    pass",
        "def h(s, a=1):  # <-\n    return a\n@action\ndef act(s):\n    s.y[0] = h(s, 1)",
    ),
    "a parameter is a subset, but no parameter is a state; pass the state as well, as the first parameter": (
        "def h(nodes: Nodes):  # <-\n    return nodes[0]\n@action\ndef act(s, nodes: Nodes):\n    s.f = h(nodes)",
    ),
    "`s[0]` is no field of the state; write s.field or s.field[index]": (
        "def h(s: Nodes):\n    return s[0]  # <-\n@action\ndef act(s):\n    s.f = h(s)",
    ),
    "h both writes f and returns a value; split it into two helpers: one that returns the value, and one that writes": (
        "def h(s):  # <-\n    s.f = True\n    return 1\n@action\ndef act(s):\n    s.y[0] = h(s)",
        "def h(s):  # <-\n    clear(s)\n    return 1\n@action\ndef act(s):\n    s.y[0] = h(s)",
    ),
    "one path returns a value, and another path ends without `return`; end every path with `return value`": (
        "def h(s):  # <-\n    if s.f:\n        return 1\n@action\ndef act(s):\n    s.y[0] = h(s)",
        "def h(s):  # <-\n    for i in range(2):\n        return i\n@action\ndef act(s):\n    s.y[0] = h(s)",
    ),
    "`return` has no value; use if/else in place of `return` in a helper that writes": (
        "def h(s):\n    return  # <-\n@action\ndef act(s):\n    s.y[0] = h(s)",
    ),
    "the helper h returns nothing": (
        "def h(s):\n    pass\n@action\ndef act(s):\n    s.y[0] = h(s)  # <-",
        "def h(s):\n    pass\n@action\ndef act(s):\n    require(not h(s))  # <-",
    ),
    "require(...) is called outside an action; return a truth value, and call require(...) in the action": (
        "def h(s):\n    require(s.f)  # <-\n@action\ndef act(s):\n    h(s)",
    ),
    "h calls itself; write the repetition as a for loop over a range": (
        "def h(s, a):  # <-\n    return h(s, a)\n@action\ndef act(s):\n    s.y[0] = h(s, 1)",
        "def h(s):  # <-\n    return i(s)\ndef i(s):\n    return h(s)\n@action\ndef act(s):\n    s.y[0] = h(s)",
    ),
    "`one` has no value here": ("def h(s, one):\n    return one(s)  # <-\n@action\ndef act(s):\n    s.y[0] = h(s, 1)",),
    "a `for` goes through `range(2)`": (
        "def range(n):\n    return n\n@action\ndef act(s):\n    for i in range(2):  # <-\n        s.f = True",
    ),
    "the subset `nodes` is used as a value; index it: nodes[element]": (
        "@action\ndef act(s, nodes: Nodes):\n    s.f = nodes  # <-",
    ),
    "any(...) has no generator": ("@action\ndef act(s, nodes: Nodes):\n    require(any(nodes))  # <-",),
    "`nodes` is a parameter or a name of the language, to which nothing can be assigned; choose another name": (
        "@action\ndef act(s, nodes: Nodes):\n    nodes = 1  # <-",
    ),
    "`nodes[0]` is no field of the state; write s.field or s.field[index]": (
        "@action\ndef act(s, nodes: Nodes):\n    nodes[0] = True  # <-",
    ),
    "`nodes` is a subset, but h does not declare `a` as a subset; annotate the parameter: a: Nodes": (
        "def h(s, a):\n    return a\n@action\ndef act(s, nodes: Nodes):\n    s.f = h(s, nodes)  # <-",
    ),
    "`node` is passed to h as `nodes`, which is of another kind; pass a subset to a parameter that is": (
        "def h(s, nodes: Nodes):\n    return nodes[0]\n@action\ndef act(s, node: Node):\n    s.f = h(s, node)  # <-",
    ),
    "`some` is passed to h as `nodes`, which is of another kind; pass a subset of the class that": (
        "def h(s, nodes: Nodes):\n    return nodes[0]\n@action\ndef act(s, some: Places):\n    s.f = h(s, some)  # <-",
    ),
    "`nodes` cannot be a loop variable": (
        "@action\ndef act(s, nodes: Nodes):\n    for nodes in range(2):  # <-\n        s.f = nodes[0]",
        "@action\ndef act(s, nodes: Nodes):\n    require(any(nodes[0] for nodes in range(2)))  # <-",
    ),
    "leave the decorator out": (
        "import functools\n@action  # <-\n@functools.cache\ndef act(s):\n    s.f = True",
        "import functools\n@functools.cache  # <-\n@action\ndef act(s):\n    s.f = True",
    ),
    "act uses TWO, which belongs to the function around it": (
        "def make(TWO):\n    @action  # <-\n    def act(s):\n        s.y[0] = TWO\n    return act\nact = make(1)",
    ),
    "<lambda> is not written as a plain `def` in this file": ("act = action(lambda s: None)  # <-",),
    "act is not written as a plain `def` in this file": ("@action  # <-\nasync def act(s):\n    s.f = True",),
    "an action has two names, act and again": ("@action  # <-\ndef act(s):\n    s.f = True\nagain = act",),
    "`shows` of act names node; the action has no parameters: remove `shows`": (
        "@action(shows='{node}')\ndef act(s):  # <-\n    s.f = True",
    ),
    "p both writes f and returns a value": (
        "@always\ndef p(s):  # <-\n    s.f = True\n    return True",
        "@always_possible\ndef p(s):  # <-\n    s.f = True\n    return True",
    ),
    "the property returns nothing": (
        "@always\ndef p(s):  # <-\n    s.f = True",
        "@always\ndef p(s):  # <-\n    clear(s)",
        "@sometimes\ndef p(s):  # <-\n    pass",
        "@always_possible\ndef p(s):  # <-\n    pass",
    ),
    "the parameters are (s, node); write them as (s)": ("@always\ndef p(s, node: Node):  # <-\n    return True",),
    "the parameters are (); write them as (s)": ("@always\ndef p():  # <-\n    return True",),
    "the parameters are (before, after); write them as (s)": (
        "@always\ndef p(before, after):  # <-\n    return True",
        "@always_possible\ndef p(before, after):  # <-\n    return True",
    ),
    "the parameters are (s); write them as (before, after) or (before, after, taken)": (
        "@always_step\ndef p(s):  # <-\n    return True",
    ),
    "the parameters are (after, before)": ("@always_step\ndef p(after, before):  # <-\n    return True",),
    "p is @always_possible, which only a search decides, not a proof; leave every_length= out": (
        "@always_possible(every_length=True)\ndef p(s):  # <-\n    return s.f",
    ),
    "without a lambda or a factory": (
        "@always_possible(permitted=lambda s: True)  # <-\ndef p(s):\n    return s.f",
        "@always(permitted=lambda s: True)  # <-\ndef p(s):\n    return s.f",
    ),
    "write them as (s) or (before, after) or (before, after, taken)": (
        "@sometimes\ndef p(taken):  # <-\n    return True",
    ),
    "the state `after` is written, but the function can only read this state; write only the state `s` of an action": (
        "@always_step\ndef p(before, after):\n    after.f = True  # <-\n    return True",
    ),
    "the state `before` is written, but the function can only read this state; write only the state `s` of an action": (
        "@always_step\ndef p(before, after):\n    before.f = True  # <-\n    return True",
    ),
    "`taken` is used as a value; compare `taken` with an action: taken == name": (
        "@always_step\ndef p(before, after, taken):\n    return taken  # <-",
        "@always_step\ndef p(before, after, taken):\n    return taken + 1 > 1  # <-",
        "@always_step\ndef p(before, after, taken):\n    a = taken  # <-\n    return a == flip",
    ),
    "`taken == 1` does not compare `taken` with one action; write `taken == NAME`, with an action's name": (
        "@always_step\ndef p(before, after, taken):\n    return taken == 1  # <-",
    ),
    "`taken < flip` does not compare `taken` with one action; write `taken == NAME`, with an action's name": (
        "@always_step\ndef p(before, after, taken):\n    return taken < flip  # <-",
    ),
    "`flip == taken` does not compare `taken` with one action; write `taken == NAME`, with an action's name": (
        "@always_step\ndef p(before, after, taken):\n    return flip == taken  # <-",
    ),
    "write `taken == NAME`, with an action's name": (
        "@always_step\ndef p(before, after, taken):\n    return taken == flip == flip  # <-",
    ),
    "one is not an action of this model; name one of its actions": (
        "@always_step\ndef p(before, after, taken):\n    return taken == one  # <-",
    ),
    "`fly` has no value here": ("@always_step\ndef p(before, after, taken):\n    return taken == fly  # <-",),
    "`taken` is passed to h as `t`, which is of another kind; pass `taken` to a parameter `taken`, and only there": (
        (
            "def h(before, after, t):\n    return t == 0\n@always_step\ndef p(before, after, taken):\n"
            "    return h(before, after, taken)  # <-"
        ),
    ),
    "`0` is passed to h as `taken`, which is of another kind; pass `taken` to a parameter `taken`, and only there": (
        (
            "def h(before, after, taken):\n    return taken == flip\n@always_step\ndef p(before, after, taken):\n"
            "    return h(before, after, 0)  # <-"
        ),
    ),
    "`taken` cannot be a loop variable": (
        "@always_step\ndef p(before, after, taken):\n    return any(taken == flip for taken in range(2))  # <-",
    ),
    "p has a permitted= that is not a function of one state": (
        "@always(permitted=clear)\ndef p(s):\n    return s.f",
        "def h(s):  # <-\n    pass\n@always(permitted=h)\ndef p(s):\n    return s.f",
        "def h(before, after):  # <-\n    return 1\n@always_step(permitted=h)\ndef p(before, after):\n    return 1",
        "def h(s, node):  # <-\n    return True\n@always(permitted=h)\ndef p(s):\n    return s.f",
        "@always(permitted=3)\ndef p(s):  # <-\n    return s.f",
    ),
    "applies=": ("@always(applies=3)\ndef p(s):  # <-\n    return s.f",),
    **{
        f"`shows` of act names {names}; name every parameter: node, place": (
            f"@action(shows={shows!r})\ndef act(s, node: Node, place: Place):  # <-\n    s.f = True",
        )
        for shows, names in (
            ("{node}", "node"),
            ("{node} at {plaice}", "node, plaice"),
            ("{node} at {}", "node, "),
            ("{node.x} at {place}", "node.x, place"),
            ("", "nothing"),
            ("{node at {place}", "'{node at {place}'"),
            ("{node:d} at {place}", "'{node:d} at {place}'"),
            (3, "3"),
        )
    },
}
"""Functions that are refused in their marked line (without a mark, in `clear`), by what the message contains."""

REFUSED_FUNCTIONS = [(body, says) for says, bodies in WHOLE_FUNCTIONS.items() for body in bodies]


@pytest.mark.parametrize(("body", "says"), REFUSED_FUNCTIONS, ids=[body for body, _ in REFUSED_FUNCTIONS])
def test_a_function_outside_the_language_is_refused(tmp_path: Path, body: str, says: str) -> None:
    path = write(tmp_path, body + "\n")
    with pytest.raises(LanguageError) as refusal:
        registry.load_file(path)
    message = str(refusal.value)
    line = marked_line(path) if "# <-" in body else PRELUDE.splitlines().index("def clear(s):") + 1
    assert message.startswith(f"{path}:{line}: ")
    assert says in message
    assert "\n" not in message


def variant(folder: Path, body: str, name: str) -> ModuleType:
    """A module of a variant, as a package of models would import it."""
    path = write(folder, body, f"{name}.py", prelude="")
    module = ModuleType(name)
    module.__file__ = str(path)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    return module


BASE = PRELUDE + action("s.x[node] = place", parameters="s, node: Node, place: Place")
SWAP = "from isrcheck.language import action, require\nNode, Place = base.Node, base.Place\n"


def base_and_variant(folder: Path, body: str) -> tuple[ModuleType, ModuleType, Path]:
    base = variant(folder, BASE, "base")
    path = write(folder, SWAP + body, "swap.py", prelude="")
    swap = ModuleType("swap")
    swap.__file__ = str(path)
    swap.__dict__["base"] = base
    for module in (base, swap):
        for value in vars(module).values():
            if getattr(value, "__module__", "") == "builtins":
                value.__module__ = module.__name__
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), swap.__dict__)
    return base, swap, path


@pytest.mark.parametrize(
    "parameters", ["s", "s, node: Node", "s, place: Place, node: Node", "s, node: Node, place: Place, other: Place"]
)
def test_a_swapped_action_keeps_the_parameters(tmp_path: Path, parameters: str) -> None:
    base, swap, path = base_and_variant(tmp_path, f"@action\ndef act({parameters}):  # <-\n    s.f = True\n")
    with pytest.raises(LanguageError) as refusal:
        assemble("mine", base, {"plain": (None, {}), "swapped": (swap, {})})
    at = PRELUDE.count("\n") + 2
    assert str(refusal.value) == (
        f"{path}:{marked_line(path)}: act has other parameters than at {tmp_path / 'base.py'}:{at};"
        " give all versions of an action the same parameters"
    )


def test_a_variant_cannot_set_undeclared_entries(tmp_path: Path) -> None:
    base, swap, _ = base_and_variant(tmp_path, "")
    with pytest.raises(
        ModelError,
        match=r"base\.py: protocol swapped sets FENCING, which the model does not declare; declare them as switches",
    ):
        assemble("mine", base, {"swapped": (swap, {"FENCING": True})})


NO_STATE = PRELUDE.replace("class State:", "class Estate:")
RESERVED = "`{}` is reserved by the language; choose another name"


def with_field(name: str) -> str:
    return PRELUDE.replace("    f = field", f"    {name} = field(values=Flag)\n    f = field")


def with_entry(name: str) -> str:
    return PRELUDE.replace("    n = bound", f'    {name} = bound(1, "{name}")\n    n = bound')


WHOLE_MODULES = {
    "empty": ("", "no `class State:` with fields; declare the state, see docs/language.md"),
    "no state": (NO_STATE, "no `class State:` with fields; declare the state, see docs/language.md"),
    "no action": (PRELUDE.replace("@action\n", ""), "no @action; a model needs at least one"),
    "field and entry": (with_field("n"), "`n` is both a field and a configuration entry; rename one"),
    "two initial": (
        PRELUDE + "@initial\ndef a(configuration):\n    yield {}\n\n@initial\ndef b(configuration):\n    yield {}\n",
        "there are several @initial functions; keep one",
    ),
    "field that the state itself needs": (with_field("cells"), RESERVED.format("cells")),
    "field with an underscore": (with_field("_cells"), RESERVED.format("_cells")),
    "field with the name of the implicit property": (with_field("in_range"), RESERVED.format("in_range")),
    "entry that the configuration itself needs": (with_entry("items"), RESERVED.format("items")),
    "entry with the name of the implicit property": (with_entry("in_range"), RESERVED.format("in_range")),
}


@pytest.mark.parametrize(("text", "says"), WHOLE_MODULES.values(), ids=WHOLE_MODULES)
def test_a_module_that_is_no_model_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = write(tmp_path, text, prelude="")
    with pytest.raises(LanguageError) as refusal:
        registry.load_file(path)
    assert str(refusal.value) == f"{path}:1: {says}"


def test_a_base_class_declares_first(tmp_path: Path) -> None:
    text = PRELUDE.replace(
        "class Configuration:",
        'class Common:\n    h = bound(2, "h")\n    n = bound(1, "n")\n\n\nclass Configuration(Common):',
    )
    text = text.replace(
        "class State:",
        "class Base:\n    p = field(values=Flag)\n    f = field(Node, values=Flag)\n\n\nclass State(Base):",
    )
    plain, inheriting = whole(write(tmp_path, "")), whole(write(tmp_path, "", "yours.py", text))
    assert dict(inheriting.configuration.items()) == {"h": 2, **dict(plain.configuration.items())}
    names = [name for name in plain.layouts if name != "f"]
    assert list(inheriting.layouts) == ["p", "f", *names]
    assert inheriting.layouts["f"].sizes == ()


@pytest.mark.parametrize("kind", ["action", "always", "always_possible", "sometimes", "lemma"])
def test_no_function_takes_the_name_of_the_implicit_property(tmp_path: Path, kind: str) -> None:
    body = "    s.f = True" if kind == "action" else "    return s.f"
    path = write(
        tmp_path, f"@{kind}\ndef in_range(s):\n{body}\n", prelude=PRELUDE.replace("setting,", "lemma, setting,")
    )
    with pytest.raises(LanguageError) as refusal:
        registry.load_file(path)
    line = path.read_text().splitlines().index(f"@{kind}", PRELUDE.count("\n")) + 1
    says = "the property `in_range` is built into every model; choose another name"
    assert str(refusal.value) == f"{path}:{line}: {says}"


def test_the_kind_of_a_property_is_part_of_the_digest(tmp_path: Path) -> None:
    digests = {
        registry.load_file(write(tmp_path, f"@{kind}\ndef p(s):\n    return s.f\n")).digest
        for kind in ("always", "always_possible", "sometimes")
    }
    assert len(digests) == 3


DOMAIN, ENTRY, FIELD = (
    "class Odd(Domain, {}):\n    pass\n\n\nclass State:\n    odd = field(Odd, values=Flag)",
    "class Configuration:\n    odd = {}\n\n\nclass State:\n    odd = field(values=Flag)",
    "class State:\n    odd = {}",
)
BAD_DECLARATIONS = [
    (DOMAIN, 'size="odd"', "odd"),
    (DOMAIN, "size=lambda c: c.odd", "odd"),
    (
        DOMAIN,
        "size=1.5",
        "size=1.5 is no number; give a whole number, the name of a configuration entry, or a function",
    ),
    (DOMAIN, "sise=1", "Domain(...) got an unexpected keyword argument 'sise'; docs/language.md says what it takes"),
    (DOMAIN, "size=lambda c: c.n - 3", "odd"),
    (FIELD, "field(values=between(1))", "between(...) missing 1 required positional argument: 'high'; docs/"),
    (FIELD, 'field(values=between(0, "odd"))', "odd"),
    (FIELD, "field(values=between(3, 1))", "field odd has no values (3..1); give it a range that is not empty"),
    (
        FIELD,
        "field(values=between(0, 2**31))",
        "field odd would hold 0..2147483648: a cell holds -2147483648..2147483647",
    ),
    (FIELD, "field(Nodes, values=Flag)", "Nodes"),
    (FIELD, "field(3, values=Flag)", "3"),
    (FIELD, "field(values=Nodes)", "Nodes is a Subset, which only a parameter can be; write field"),
    (
        FIELD,
        "field(values=3)",
        "field(values=3) is not possible; give a domain, an IntEnum, Flag, between(low, high), optional(...), Set(...)",
    ),
    (FIELD, "field(Node)", "a field lacks values=; declare the values of its cells, as in field(values=Flag)"),
    (FIELD, "field(values=Flag, initially='on')", "initially='on' is no whole number; give a number"),
    (
        FIELD,
        "field(values=optional(Flag))",
        "optional(...) takes no Flag; use an IntEnum with a member that means 'none'",
    ),
    (
        FIELD,
        "field(values=optional(Colour))",
        "optional(...) takes no IntEnum; give Colour a member that means 'none'",
    ),
    (
        FIELD,
        "field(values=optional(between(1, 2)))",
        "optional(...) takes numbers that start at 0, not at 1; start them at 0",
    ),
    (FIELD, "field(values=optional(optional(Node)))", "optional(...) contains another optional(...); write it once"),
    (FIELD, "field(values=Flag, initially=2)", "odd is initially 2; give a value in 0..1"),
    (ENTRY, "setting(200, '', most=2**31)", "-2147483648..2147483647"),
    (
        ENTRY,
        "setting(0, '', values=3)",
        "setting(values=3): a setting is a number or a member of an IntEnum; give values= an IntEnum, or leave",
    ),
    (
        ENTRY,
        "switch(3, '')",
        "switch(3): a switch is on or off, or a member of an IntEnum; give True, False or a member of an IntEnum",
    ),
    (ENTRY, "bound('2', '')", "default='2' is no whole number; give a number"),
    (ENTRY, "setting(-2, '', least=0)", "-2"),
]


@pytest.mark.parametrize(("form", "odd", "says"), BAD_DECLARATIONS, ids=[odd for _, odd, _ in BAD_DECLARATIONS])
def test_an_impossible_declaration_is_one_line(tmp_path: Path, form: str, odd: str, says: str) -> None:
    text = PRELUDE.replace("class State:", form.format(odd))
    with pytest.raises(UsageError) as refusal:
        whole(write(tmp_path, text, prelude=""))
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value) and "Error" not in str(refusal.value)


BAD_FILES = {
    "not Python": ("def (:\n", ":1: not Python: invalid syntax"),
    "raises": ("x = 1\nraise ValueError('a\\nb')\n", ":2: loading the model failed: ValueError: a b"),
    "exits": ("import sys\nsys.exit(3)\n", ":2: loading the model failed: SystemExit: 3"),
    "null byte": ("x = 1\0\n", "not Python: source code string cannot contain null bytes"),
    "imports what is not there": ("import nothing_of_that_name\n", ":1: loading the model failed: ModuleNotFoundError"),
    "made by exec": (PRELUDE + "exec('@action\\ndef act(s):\\n    s.f = True\\n')\n", "act"),
}


@pytest.mark.parametrize(("text", "says"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_cannot_be_loaded_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError) as refusal:
        registry.load_file(write(tmp_path, text, prelude=""))
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert ":None:" not in str(refusal.value)


def test_a_file_is_read_in_its_declared_encoding(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_bytes(f"# -*- coding: latin-1 -*-\n# \xe9\n{PRELUDE}".encode("latin-1"))
    assert [one.name for one in registry.load_file(path).actions] == ["flip"]


@pytest.mark.parametrize("name", ["mine.txt", "missing.py", "folder.py"])
def test_a_path_that_is_no_python_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine.txt").write_text(PRELUDE, encoding="utf-8")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(UsageError, match="there is no such Python file; give the path of a model"):
        registry.load_file(tmp_path / name)


# ---------------------------------------------------------------------------------------- accepted: one meaning for all

HELPERS = """
def mixed(s):
    if s.f:
        return True
    return s.y[0]


def plus_one(s, a):
    return a + 1


def first_one(s):
    for i in range(s.m):
        if s.y[i] == 1:
            return i
    return NONE


def is_in(s, some: Places, a):
    return some[a]


def copies(s, before):
    s.f = not before.f
    s.g = before.f


def shadowing(s, TWO):
    return TWO


def any_place(s, i):
    return any(s.y[i] == 2 for i in range(s.m)) or s.y[i] == 1


@always
def light(s):
    return s.f or s.g

"""


def calls_locals(names: list[str]) -> str:
    """Use names as locals together with generated code for cells, folds and writes."""
    lines = [f"{name} = s.y[{number % 3}]" for number, name in enumerate(names)]
    lines += [f"{name} += s.y[s.y[0]]" for name in names]
    lines += [f"require(any({name} == j - 1 for j in range(s.m + 2)))" for name in names]
    lines += [f"s.x[node] = min(3, {names[0]} + {names[-1]})", f"s.y[0] = sum({names[1]} > j for j in range(2))"]
    return "\n    ".join([*lines, "s.x[0] += 0"])


MEANINGS = {
    # Truth values are numbers.
    "flag as a number": "s.y[0] = s.f + s.g",
    "minus a flag": "s.x[node] = -s.f",
    "number as a flag": "s.f = s.y[0]",
    "not a number": "s.f = not s.y[0]",
    "add to a flag": "s.f += s.g",
    "take from a flag": "s.f -= s.g",
    "min of flags": "s.f = min(s.f, s.g)",
    "max of flag and number": "s.x[0] = max(s.f, s.x[1])",
    "min of three": "s.x[0] = min(True, s.x[1], False)",
    "clamped flag": "s.y[0] = min(max(s.f, 0), 1)",
    "constant truth": "s.y[0] = YES + YES",
    "flag as an index": "s.y[s.f] = 1",
    "truth as an index": "s.x[True] = 0",
    "sum of flags": "s.y[0] = sum(s.z[0][i] for i in range(2))",
    "sum of comparisons": "s.y[0] = sum(s.y[i] > 0 for i in range(2))",
    "flag in one branch, number in the other": "if s.f:\n        a = s.g\n    else:\n        a = 2\n    s.y[0] = a",
    "flag that becomes a number": "a = s.f\n    a += 1\n    s.y[0] = a",
    "flag that becomes a number in a loop": (
        "a = s.f\n    for i in range(2):\n        a = a + s.g\n    require(a < 3)\n    s.y[0] = a"
    ),
    "helper that returns either": "s.y[1] = mixed(s)",
    "one helper with either": "s.y[1] = plus_one(s, s.f)\n    s.y[2] = plus_one(s, s.y[0])",
    "number as a condition": "if s.y[0]:\n        s.f = True\n    elif s.x[node] + 1:\n        s.g = False",
    # and, or, if-else give values, and evaluate only what decides.
    "and of numbers": "s.y[0] = s.y[1] and s.y[2]",
    "or of numbers": "s.y[0] = s.y[1] or 2",
    "or of either": "s.y[0] = s.f or s.y[2]\n    s.y[1] = s.y[1] and s.f",
    "if-else of either": "s.y[0] = s.f if s.g else s.y[1]",
    "or that ends early": "require(s.x[node] < 0 or s.y[s.x[node] - 1] == 1)\n    s.f = True",
    "and that ends early": "require(0 <= s.x[node] and s.x[node] < 3 and s.y[s.x[node]] == 1)\n    s.f = True",
    "if-else that asks one side": "s.f = s.y[s.x[node]] == 1 if 0 <= s.x[node] < 3 else s.g",
    "guard that ends the action": "require(s.x[node] >= 0)\n    require(s.x[node] < 3)\n    s.y[s.x[node]] = 0",
    # Comparisons.
    "chain": "require(0 <= s.x[node] < s.m == 3 != s.y[0])\n    s.f = 0 < s.y[1] <= s.y[2]",
    "chain of flags": "s.f = s.f == s.g == True\n    s.g = (s.f == s.g) == (s.y[0] == 1)",
    "chain that ends early": "require(0 < s.y[0] < 2 > s.y[s.y[0] + 1])\n    s.f = True",
    "chain that fails": "require(0 < s.y[0] < s.y[s.y[0] + 1])\n    s.f = True",
    "negative numbers": "s.x[node] = -s.x[node] - -1",
    # Cells.
    "index below": "s.y[-1] = 1",
    "index above": "s.y[s.y[0] + 1] = 1",
    "index of a row": "s.z[s.x[node]][0] = True",
    "value above": "s.x[node] += 2",
    "value below": "s.y[0] -= 1",
    "swap": "a = s.y[0]\n    s.y[0] = s.y[1]\n    s.y[1] = a",
    "cell that indexes itself": "s.y[s.y[0]] += s.y[0]",
    "state passed twice": "copies(s, s)",
    "colours": "require(s.c != Colour.BLUE)\n    s.c += 1",
    "settings": "require(s.k < s.y[0] or s.w)\n    s.y[0] = s.k\n    s.f = s.w",
    "nothing": "pass",
    # Parameters.
    "parameter assigned": "node = node + 1\n    require(node < 2)\n    s.x[node] = 0",
    "parameter assigned beyond": "node += 1\n    s.x[node] = 0",
    "parameter as a loop variable": "for node in range(s.m):\n        s.y[node] = 0",
    "helper that searches": "s.x[node] = first_one(s)",
    "property as a helper": "require(light(s))\n    s.f = not s.f",
    "subset": "require(is_in(s, some, s.y[0]))\n    s.f = True",
    "subset beyond": "require(some[s.y[0] + 1])\n    s.f = True",
    # Loops and folds.
    "range from below": "for i in range(NONE, 2):\n        s.y[i] = 1",
    "fold from below": "require(any(s.y[i] == 2 for i in range(NONE, 2)))\n    s.f = True",
    "fold from below, guarded": "require(any(i >= 0 and s.y[i] == 2 for i in range(NONE, 2)))\n    s.f = True",
    "range of a truth value": "for i in range(True):\n        s.f = s.g\n    for j in range(YES):\n        s.g = s.f",
    "range of a number": "for i in range(s.y[0]):\n        s.y[i + 1] = 0",
    "range from a number": "for i in range(s.y[0], s.y[1] + 1):\n        s.f = not s.f",
    "range of a setting": "for i in range(s.k + s.w):\n        s.y[i] = 1",
    "range of what the loop writes": "for i in range(s.y[0]):\n        s.y[0] = 0\n        s.g = not s.g",
    "range of its own variable": "i = s.y[0]\n    for i in range(i):\n        s.y[i] = 2\n    s.x[node] = i",
    "range of a loop variable": "for i in Place:\n        for j in range(i + 1, s.m):\n            s.y[j] = s.y[i]",
    "range of a parameter": "for i in range(node):\n        s.x[i] = 0\n    s.y[0] = sum(1 for i in range(node + 1))",
    "range of a variable of a generator": "s.y[0] = sum(1 for i in Place for j in range(i) if s.y[i] == s.y[j]) // 2",
    "range that is an index beyond": "for i in range(s.y[s.x[node]]):\n        pass",
    "guards in a range of a number": "for i in range(s.y[0]):\n        require(s.y[i] > 0)\n    s.f = True",
    "range with a negative product": "for i in range(-1 * s.y[0], s.y[0]):\n        s.f = not s.f",
    "domain": "for i in Place:\n        s.y[i] = len(Node)",
    "folds over domains": "s.f = any(all(s.z[i][j] for j in Place) for i in Node)",
    "a fold that Python does not compile": "s.f = True or any(s.x[i] in Place for i in Node)",
    "elements counted": "s.y[0] = sum(1 for i in Node if s.x[i] in Place)",
    "element of a domain": "s.f = s.x[node] in Node\n    s.g = s.x[node] not in Place",
    "in a tuple": "s.f = s.y[0] in (1, s.y[1])\n    s.g = s.x[node] not in (0, -1, s.f)",
    "in nothing": "s.f = s.y[0] in ()\n    s.g = s.f not in ()",
    "truth in a tuple": "s.f = s.f in (s.y[0], s.g)",
    "in a tuple that leaves its range": "s.f = s.y[0] in (0, s.y[s.x[node]])",
    "max of a generator": "s.x[node] = max(s.y[i] for i in Place)\n    s.y[0] = min(s.f for j in range(2))",
    "min and max of flags": "s.f = max(s.z[i][j] for i in Node for j in Place)\n    s.g = min(s.z[0][j] for j in Node)",
    "max with a default": "s.x[node] = max((i for i in Place if s.y[i] == 1), default=NONE)",
    "min with a default": "s.y[0] = min((s.y[i] for i in range(s.y[0], 3)), default=s.y[1])",
    "default beyond": "s.y[0] = min((s.y[i] for i in Place if s.f), default=s.y[s.x[0]])",
    "default that is a call": "s.y[0] = min((s.y[i] for i in Place if s.f), default=plus_one(s, s.y[1]))",
    "product": "s.y[0] = s.y[0] * s.y[1]\n    s.x[node] = -s.y[0] * 2 + 3",
    "quotient and remainder": "s.x[node] = (s.x[0] - s.y[0] * 3) // 3 + 2\n    s.y[0] = (s.x[1] - 5) % 3",
    "quotient by a loop variable": "s.y[0] = sum(s.y[1] // i + -s.y[2] % i for i in range(1, 3)) % len(Place)",
    "product of flags": "s.f = s.f * s.g\n    s.y[0] = s.f * 2 % (1 + s.y[1])",
    "range of nothing": "for i in range(2, 1):\n        s.f = not s.f",
    "range of a colour": "for i in range(Colour.GREEN, s.m - 1 + 1):\n        s.y[i] = 0",
    "several ifs": (
        "require(any(s.y[i] == j for i in range(s.m) if i > 0 if s.y[i] < 2 for j in range(s.n) if j != s.x[0]))"
        "\n    s.f = True"
    ),
    "fold in a fold": (
        "s.y[0] = sum(1 for i in range(s.n) if all(any(s.y[j] == q for j in range(s.m)) for q in range(2)))"
    ),
    "fold hides the variable of a fold": "s.f = any(all(s.y[i] for i in range(2)) and s.x[i] for i in range(2))",
    "fold hides its own variable": "s.f = any(s.y[i] == 1 for i in range(2) for i in range(3))",
    "fold hides a parameter": "s.f = any(s.y[node] == 1 for node in range(3)) and s.x[node] == 1",
    "guard hides a parameter": "require(all(s.y[node] == 1 for node in range(2)))\n    s.x[node] = 0",
    "guard hides a local": "i = 1\n    require(all(s.y[i] < 2 for i in range(3)))\n    s.y[i] = 0",
    "fold hides a parameter of a helper": "s.f = any_place(s, s.y[0])",
    "fold before a local of the same name": (
        "require(any(any(s.y[a] for a in range(2)) for i in range(2)))\n    a = 1\n    s.y[0] = a"
    ),
    # Names that mean something to Python, to the language, or to the kernel.
    "constant hidden by a fold": "require(any(s.y[TWO] == 1 for TWO in range(s.m)) and TWO == 2)\n    s.f = True",
    "constant hidden by a loop": "for TWO in range(s.m):\n        s.y[TWO] = 0",
    "constant hidden by a parameter": "s.y[0] = shadowing(s, s.y[1])",
    "sum of a local called total": "total = s.y[0]\n    require(sum(total for i in range(s.m)) > 2)\n    s.f = True",
    "locals called like the variables of folds": (
        "i_0 = s.y[0]\n    i_1 = 0\n    i_2 = 0\n    i_3 = 0\n    require(all(s.y[i] < 2 for i in range(3)))"
        "\n    s.y[0] = i_0 + i_1 + i_2 + i_3"
    ),
    **{
        f"locals called {names}": calls_locals(names.split())
        for names in (
            "read write element failed pack unpack copy emit",
            "total store int p0 p1 i count chosen words state",
            "step results active note pause expand check inner outer",
            "act one at_0 flip before_ after_ s_ first last room",
        )
    },
}
"""What the body of an action says; `act_0`, `act_1`, ... of one model, so that all of it is compiled once."""

FAILS = {
    "index below",
    "index above",
    "index of a row",
    "value above",
    "value below",
    "parameter assigned beyond",
    "range from below",
    "fold from below",
    "range that is an index beyond",
    "in a tuple that leaves its range",
    "default beyond",
    "product",
}
"""The meanings that leave an index or a value out of range in some state, or in every state."""


def in_range(instance: Instance) -> Iterator[Cells]:
    """Many states within the ranges of the fields that all these models share."""
    chance = random.Random(1)
    ranges = [(p.low, p.high) for p in instance.layouts.values() for _ in range(p.count)]
    for _ in range(400):
        yield tuple(chance.randint(low, high) for low, high in ranges)


def compared(instance: Instance, kernel: Kernel | None = None) -> tuple[Reference, Compiled]:
    """CPython and the kernel, for `compare`."""
    return Reference(instance), Compiled(instance, kernel or kernel_of(instance))


def only(instance: Instance, action_name: str) -> Instance:
    """The instance without all other actions, which needs no other kernel."""
    names = [one.name for one in instance.model.actions]
    return replace(instance, alternatives=tuple(0 if name == action_name else None for name in names))


@pytest.fixture(scope="module")
def meanings(tmp_path_factory: pytest.TempPathFactory) -> tuple[Instance, Kernel]:
    """One model with an action for each meaning."""
    body = HELPERS
    for number, code in enumerate(MEANINGS.values()):
        more = ", some: Places" if "some" in code else ""
        body += action(code, parameters=f"s, node: Node{more}").replace("def act(", f"def act_{number}(") + "\n\n"
    instance = whole(write(tmp_path_factory.mktemp("meanings"), body))
    return instance, kernel_of(instance)


@pytest.mark.sampled
@pytest.mark.parametrize("name", MEANINGS)
def test_a_line_means_the_same_to_python_and_to_the_kernel(name: str, meanings: tuple[Instance, Kernel]) -> None:
    instance = only(meanings[0], f"act_{list(MEANINGS).index(name)}")
    reference, compiled = compared(instance, meanings[1])
    taken = [compare(reference, compiled, cells) for cells in in_range(instance)]
    assert (None in taken) if name in FAILS else any(taken)


PROPERTIES = """
def excused(s):
    return s.g


def of_flip(before, after, taken):
    return taken == flip and before.f


def same(before, after):
    return before.f == after.f


@always(permitted=excused)
def bright(s):
    return s.f


@always
def far(s):
    return s.y[s.y[0]] + s.x[0]


@sometimes
def number(s):
    return s.x[0] + s.x[1]


@always_step(permitted=excused)
def still(before, after):
    return same(after, before)


@always_step
def flips_only(before, after, taken):
    return taken == flip or taken != act and after.c == Colour.RED


@always_step
def helped(before, after, taken):
    return not of_flip(before, after, taken)


@always_step
def alone(before, after):
    return bright(after) or not bright(before)


@always_step
def settings_of_both(before, after):
    return before.k == after.k and before.w and after.n == 2 and all(before.x[i] <= after.x[i] for i in range(after.n))


@sometimes
def moves(before, after, taken):
    return taken == act and before.x[0] != after.x[0]


@action
def act(s, node: Node):
    require(s.x[node] < 3)
    s.x[node] += 1
"""


def test_properties_mean_the_same_to_python_and_to_the_kernel(tmp_path: Path) -> None:
    instance = whole(write(tmp_path, PROPERTIES))
    reference, compiled = compared(instance)
    seen = [compiled.successors(cells) for cells in in_range(instance) if compare(reference, compiled, cells)]
    # Each of them is violated, permitted or found somewhere, so that each was compared for both of its values.
    noted = {name for answer in seen if answer for name, both in answer[1].items() if both[0][0] or both[1][0]}
    assert noted == {prop.name for prop in instance.properties if prop.of_steps} - {"settings_of_both"}


def test_an_index_out_of_range_in_a_property_fails_in_both(tmp_path: Path) -> None:
    instance = whole(write(tmp_path, "@always\ndef p(s):\n    return s.y[s.x[0]] == 0\n"))
    reference, compiled = compared(instance)
    fails = {}
    for cells in in_range(instance):
        assert compare(reference, compiled, cells) is not None
        fails[cells[0]] = compiled.properties(cells) is None
    assert fails == {-1: True, 0: False, 1: False, 2: False, 3: True}


@pytest.mark.parametrize("guard", ["any(some[1 - i] for i in range(2))", "sum(some[i + 1] for i in range(2)) > 0"])
def test_an_index_of_a_subset_is_checked_inside_a_fold(tmp_path: Path, guard: str) -> None:
    """The fold needs the state, in which an index outside the subset is recorded."""
    path = write(tmp_path, action(f"require({guard})", "s.g = True", parameters="s, some: Nodes"))
    instance = only(whole(path), "act")
    reference, compiled = compared(instance)
    steps = compare(reference, compiled, (0,) * 14)
    assert (steps is None) == ("i + 1" in guard)
    assert steps is None or len(steps) == 3


def test_helpers_of_one_name_in_two_modules_are_two(tmp_path: Path) -> None:
    for name, value in (("near_helper", 1), ("far_helper", 2)):
        (tmp_path / f"{name}.py").write_text(f"def size(s):\n    return {value}\n", encoding="utf-8")
    imports = "from far_helper import size as far\nfrom near_helper import size\n"
    path = write(tmp_path, imports + action("s.y[0] = size(s)\n    s.y[1] = far(s)"))
    instance = whole(path)
    names = [f"{name}.py" for name in ("far_helper", "mine", "near_helper")]
    assert instance.model.sources == {str(tmp_path / name): name for name in names}
    steps = compare(*compared(only(instance, "act")), (0,) * 14)
    assert steps is not None and [after[2:4] for _, after in steps] == [(1, 2), (1, 2)]


@pytest.mark.parametrize("size", [0, 1])
def test_empty_and_singleton_domains(tmp_path: Path, size: int) -> None:
    body = (
        action("require(s.x[node] < 3)", "s.x[node] += 1")
        + action("require(some[0])", "s.f = s.x[0] == 0", parameters="s, some: Nodes, node: Node").replace(
            " act(", " more("
        )
        + "@always\ndef p(s):\n    return all(s.x[i] == 0 for i in range(s.n)) == any(True for i in range(s.n))\n"
        + "@always\ndef q(s):\n    return sum(s.z[i][0] for i in range(s.n)) < s.n\n"
    )
    instance = registry.load_file(write(tmp_path, body)).instance(None, {"n": size})
    assert len(instance.steps) == 1 + size + size * 2
    reference, compiled = compared(instance)
    assert [compare(reference, compiled, cells) is None for cells in in_range(instance)] == [False] * 400


def test_a_guard_is_not_evaluated_without_a_step(tmp_path: Path) -> None:
    """The guard's index is out of range, but the action has no possible arguments."""
    path = write(tmp_path, action("require(s.y[s.x[0] + 3] == 0)", parameters="s, place: Place, some: Node"))
    path.write_text(path.read_text(encoding="utf-8").replace("s.x[0]", "s.y[0]"), encoding="utf-8")
    instance = only(registry.load_file(path).instance(None, {"n": 0}), "act")
    reference, compiled = compared(instance)
    assert [compare(reference, compiled, cells) for cells in in_range(instance)] == [[]] * 400


@pytest.mark.parametrize(("before", "behind"), [(64, 0), (63, 1), (60, 2), (128, 0)])
def test_cells_without_bits_at_the_end_of_a_word(tmp_path: Path, before: int, behind: int) -> None:
    text = f"""
from isrcheck.language import Domain, Flag, action, between, field, require

class Many(Domain, size={before}):
    pass

class State:
    low = field(values=between(-5, -5), initially=-5)
    many = field(Many, values=Flag)
    fixed = field(values=between(3, 3), initially=3)
    wide = field(values=between(-128, 127))
    other = field(values=between(0, {behind}))

@action
def act(s, one: Many):
    require(s.fixed == 3)
    require(s.low == -5)
    require(s.wide > -128)
    s.many[one] = not s.many[one]
    s.wide -= 1
    s.other = {behind} - s.other
"""
    instance = whole(write(tmp_path, text, prelude=""))
    reference, compiled = compared(instance)
    assert {len(compare(reference, compiled, cells) or ()) for cells in itertools.islice(in_range(instance), 40)} <= {
        0,
        before,
    }


def test_a_path_on_which_an_index_is_zero_is_not_lost(tmp_path: Path) -> None:
    """LLVM treats an address with base 0 as unreachable; an index known to be 0 must not become the base."""
    body = """
def position(s):
    if s.f:
        return s.y[0] > 0
    return 0


@action
def act(s):
    s.g = sum(s.y[position(s)] for i in range(2)) == 0
"""
    instance = only(whole(write(tmp_path, body)), "act")
    reference, compiled = compared(instance)
    assert {len(compare(reference, compiled, cells) or ()) for cells in in_range(instance)} == {1}


def test_a_swapped_action_may_rename_its_parameters(tmp_path: Path) -> None:
    """Sizes differ, so an index that is in range for one action is out of range for the other."""
    body = (
        "@action\ndef act(s, place: Node, node: Place):\n"
        "    require(place == 0)\n    require(s.y[node] == 1)\n    s.x[node] = place\n"
    )
    base, swap, _ = base_and_variant(tmp_path, body)
    model = assemble("mine", base, {"plain": (None, {}), "swapped": (swap, {})})
    for protocol in model.protocols:
        instance = model.instance(protocol)
        reference, compiled = compared(instance)
        answers = [compare(reference, compiled, cells) for cells in in_range(instance)]
        assert any(answers) and (None in answers) == (protocol == "swapped")


def test_an_enumeration_with_a_hole_is_refused_or_can_be_printed(tmp_path: Path) -> None:
    text = PRELUDE.replace("    GREEN = 1\n", "") + action("require(s.c < 2)", "s.c += 1", parameters="s")
    path = write(tmp_path, text, prelude="")
    try:
        instance = whole(path)
    except UsageError as error:
        refusal = str(error)
    else:
        refusal = f"{path}: Colour {[instance.layouts['c'].spell(value) for value in (0, 1, 2)]}"
    assert refusal.startswith(f"{path}:") and "Colour" in refusal


# ------------------------------------------------------------------------------------------------------- contradictions

CONTRADICTION = '''
from isrcheck.language import contradiction


@contradiction
def too_many(configuration):
    """k is above the number of
    nodes; lower it."""
    return configuration.k > configuration.{name}
'''


def test_a_contradiction_refuses_a_configuration_with_its_docstring(tmp_path: Path) -> None:
    model = registry.load_file(write(tmp_path, CONTRADICTION.format(name="n")))
    assert model.instance(None, {"k": 2}).configuration.k == 2
    with pytest.raises(UsageError) as refusal:
        model.instance(None, {"k": 3})
    assert str(refusal.value) == "k is above the number of nodes; lower it."
    assert model.instance(None, {"k": 3, "n": 3}).configuration.k == 3


def test_a_failing_contradiction_is_an_error_of_the_model(tmp_path: Path) -> None:
    path = write(tmp_path, CONTRADICTION.format(name="nodes"))
    with pytest.raises(ModelError) as refusal:
        registry.load_file(path).instance()
    last = len(path.read_text(encoding="utf-8").splitlines())
    assert str(refusal.value).startswith(f"{path}:{last}: contradiction too_many: the configuration has no nodes")


def test_an_action_cannot_call_a_contradiction(tmp_path: Path) -> None:
    path = write(tmp_path, CONTRADICTION.format(name="n") + action("require(too_many(s))"))
    with pytest.raises(LanguageError, match="too_many is an action or another declaration"):
        registry.load_file(path)


def test_a_typed_expression_goes_through_domains(tmp_path: Path) -> None:
    instance = whole(write(tmp_path, ""))
    function = read_expression(instance, "max(s.x[i] + len(Place) for i in Node) * 2 + (7 in Node)")
    assert instance.python(function)(State(instance, instance.initial_states[0])) == 6


@pytest.mark.parametrize("text", ["s.x[0] is 1", "1(2)"])
def test_python_adds_no_warning_to_the_refusal_of_a_typed_expression(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.py"
    path.write_text(PRELUDE)
    instance = registry.load_file(path).instance()
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("always")
        with pytest.raises(LanguageError, match="column 1: "):
            read_expression(instance, text)
    assert not printed


def test_a_function_that_was_refused_is_refused_again_for_the_same_reason(tmp_path: Path) -> None:
    """A user may type several expressions that call a function outside the language."""
    path = write(tmp_path, "def odd(s):\n    return [1, 2][0] == s.y[0]\n@action\ndef act(s):\n    s.f = True\n")
    instance = registry.load_file(path).instance()
    messages = set()
    for _ in range(80):
        with pytest.raises(LanguageError) as refusal:
            read_expression(instance, "odd(s)")
        messages.add(str(refusal.value).partition(": ")[2])
    assert messages == {"in odd: `[1, 2][0]` is no field of the state; write s.field or s.field[index]"}
