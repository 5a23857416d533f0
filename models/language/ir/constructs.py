"""The closed list of the modelling language: what a function of a model can contain, and what is refused instead.

`CONSTRUCTS` lists the constructs with their meaning, their errors and the nodes that they become; `REFUSALS` lists the
forms of Python that the language does not have, and `LIMITS` the limits on size. The tests check that the reader
accepts and refuses the examples of every entry, and that the entries cover Python's whole grammar. The tables of
docs/language.md are made of the entries, and the fuzzer has to write every construct. The examples are about `MODEL`:
the parameters `r` and `p` are replicas, and the parameter `chosen` is a set of replicas.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from isrcheck.models.language.ir import nodes as ir

MODEL = """\
class Role(IntEnum):
    FOLLOWER = 0
    LEADER = 1


class Configuration:
    replicas = bound(3, "replicas of the log", least=1)
    patience = setting(2, "fetches that a follower may miss")


class Replica(Domain, size="replicas"):
    pass


class Replicas(Subset, of=Replica):
    pass


class Broker(Record):
    role = field(values=Role)


class Request(Record):
    sender = field(values=Replica)
    epoch = field(values=between(0, 5))


class State:
    leader = field(values=optional(Replica))
    epoch = field(Replica, values=between(0, 5))
    is_up = field(Replica, values=Flag)
    isr = field(values=Set(of=Replica))
    inbox = field(Replica, values=Queue(of=Replica, most=2))
    broker = field(Replica, values=Broker)
    requests = field(values=Queue(of=Request, most=2))


LIMIT = 4


def is_ahead(s, one, other):
    return s.epoch[one] > s.epoch[other]


def fence(s, replica):
    s.is_up[replica] = False


@action
def replica_restarts(s, replica: Replica):
    s.is_up[replica] = True
"""
"""The model in which the examples are read."""


class Place(Enum):
    """Where in `MODEL` an example of a construct is inserted."""

    ACTION = "the statements of an action"
    HELPER = "the statements of a helper that returns a value"
    VALUE = "an expression in an action or in a helper"
    STEP = "an expression in a property of steps"


@dataclass(frozen=True)
class Construct:
    """A construct of the language, such as `s.isr.add(r)`: a row of a table in docs/language.md."""

    examples: tuple[str, ...]
    """The construct as it is written, in each of its forms."""
    meaning: str
    nodes: tuple[type[ir.Node], ...]
    """The nodes that each example becomes, both as written and in the core; none if the construct has no effect for an
    engine."""
    place: Place = Place.VALUE
    error: str = ""
    """The use of the construct that violates `in_range` in a state; empty if no use does."""
    wrong: str = ""
    """An example of the error in the initial state, where `r` is replica 0, `p` replica 1, and `chosen` empty."""


_ACTION, _HELPER, _STEP = Place.ACTION, Place.HELPER, Place.STEP

_INDEX = "an index outside the array"
_RANGE = "a value outside the range of the field"
_DOMAIN = "an element outside the domain"
_PLACE = "a place at which the queue has no element"
_EMPTY = "an empty queue"
_FULL = "a full queue, or a value outside the range of its elements"

STATEMENTS = (
    Construct(
        ("require(s.is_up[r])",),
        "a guard: where the condition is false, the action has no step",
        (ir.Require,),
        _ACTION,
    ),
    Construct(("s.epoch[r] = 2",), "writes a cell of the state", (ir.Store,), _ACTION, _RANGE, "s.epoch[r] = 6"),
    Construct(
        ("s.epoch[r] += 1", "s.epoch[r] -= 1"),
        "adds to a cell, or subtracts from it",
        (ir.Store, ir.Sum),
        _ACTION,
        _RANGE,
        "s.epoch[r] -= 1",
    ),
    Construct(("count = s.epoch[r]",), "gives a local its value", (ir.Assign,), _ACTION),
    Construct(
        ("count = 4\ncount += 1", "count = 4\ncount -= 1"),
        "adds to a local, or subtracts from it",
        (ir.Assign, ir.Sum),
        _ACTION,
    ),
    Construct(
        (
            "if s.is_up[r]:\n    s.epoch[r] = 1\nelif s.is_up[p]:\n    s.epoch[r] = 2\nelse:\n    s.epoch[r] = 3",
            "if s.is_up[r]:\n    s.epoch[r] = 1",
        ),
        "executes the statements below the first condition that is true",
        (ir.Branch,),
        _ACTION,
    ),
    Construct(
        ("for e in range(3):\n    s.is_up[e] = True", "for e in range(1, s.replicas):\n    s.is_up[e] = True"),
        "executes the body for each number from 0, or from the first argument, to below the end. Both are evaluated"
        " once, before the loop",
        (ir.Loop,),
        _ACTION,
    ),
    Construct(
        ("for e in Replica:\n    s.is_up[e] = True",),
        "executes the body for each element of a domain, in ascending order",
        (ir.Loop, ir.Size),
        _ACTION,
    ),
    Construct(("fence(s, r)",), "calls a helper that writes to the state", (ir.Do, ir.Call), _ACTION),
    Construct(("return s.epoch[r]",), "ends a helper or a property with its value", (ir.Return,), _HELPER),
    Construct(("pass", '"""A docstring."""'), "does nothing", (), _ACTION),
)

EXPRESSIONS = (
    Construct(("2", "True"), "a whole number, or a truth value: `True` is 1, `False` is 0", (ir.Constant,)),
    Construct(
        ("LIMIT", "NONE", "Role.LEADER"),
        "a number that the module names, or a member of an IntEnum, as it was when the model was loaded",
        (ir.Constant,),
    ),
    Construct(("r",), "a parameter, a local, or the variable of a loop or a generator", (ir.Local,)),
    Construct(("s.leader", "s.epoch[r]"), "a cell of the state", (ir.Cell,), error=_INDEX, wrong="s.epoch[r - 1]"),
    Construct(("s.patience",), "an entry of the configuration", (ir.Setting,)),
    Construct(("len(Replica)",), "the number of elements of a domain", (ir.Size,)),
    Construct(("before.epoch[0] < after.epoch[0]",), "the states before and after a step", (ir.Cell,), _STEP),
    Construct(("taken == replica_restarts",), "whether the step took this action", (ir.IsTaken,), _STEP),
    Construct(("taken != replica_restarts",), "whether the step took another action", (ir.Not, ir.IsTaken), _STEP),
    Construct(("not s.is_up[r]",), "whether a value is 0, that is, not true", (ir.Not,)),
    Construct(
        ("s.is_up[r] and s.is_up[p]",),
        "the first value that is 0, else the last one; the values after it are not evaluated",
        (ir.And,),
    ),
    Construct(
        ("s.is_up[r] or s.is_up[p]",),
        "the first value that is not 0, else the last one; the values after it are not evaluated",
        (ir.Or,),
    ),
    Construct(
        tuple(f"s.epoch[r] {sign} s.epoch[p]" for sign in ("==", "!=", "<", "<=", ">", ">=")),
        "a comparison of two numbers",
        (ir.Compare,),
    ),
    Construct(
        ("0 <= s.epoch[r] < LIMIT",),
        "whether each comparison of a number with the next is true. Each number is evaluated once; those after a false"
        " comparison are not evaluated",
        (ir.Chain,),
    ),
    Construct(("s.leader in (r, p)",), "whether a number is one of several, all of which are evaluated", (ir.Among,)),
    Construct(("s.leader not in (r, p)",), "whether a number equals none of several numbers", (ir.Not, ir.Among)),
    Construct(("s.leader in Replica",), "whether a number is an element of a domain", (ir.InDomain, ir.Chain, ir.Size)),
    Construct(
        ("s.leader not in Replica",),
        "whether a number is no element of a domain",
        (ir.InDomain, ir.Not, ir.Chain, ir.Size),
    ),
    Construct(("-s.epoch[r]",), "the number with the other sign", (ir.Negative,)),
    Construct(("s.epoch[r] + 1 - s.epoch[p]",), "a sum or difference of two or more numbers", (ir.Sum,)),
    Construct(("s.epoch[r] * 2",), "a product of two numbers", (ir.Arithmetic,)),
    Construct(
        ("s.epoch[r] // 2", "s.epoch[r] % 2"),
        "a quotient, rounded down; a remainder, in 0..divisor-1",
        (ir.Arithmetic,),
    ),
    Construct(
        ("1 if s.is_up[r] else 2 if s.is_up[p] else 3",),
        "the value before the first condition that is true, else the last value; the other values are not evaluated",
        (ir.Choose,),
    ),
    Construct(
        ("min(s.epoch[r], LIMIT)", "max(s.epoch[r], s.epoch[p], 1)"),
        "the least or the greatest of two or more numbers",
        (ir.Extremum,),
    ),
    Construct(("abs(s.epoch[r] - s.epoch[p])",), "the number without its sign", (ir.Extremum, ir.Negative)),
    Construct(
        ("all(s.is_up[e] for e in Replica)", "any(s.is_up[e] for e in range(1, 3))"),
        "whether all values are true; whether any is true. The values after the deciding one are not evaluated",
        (ir.Fold,),
    ),
    Construct(
        ("sum(s.epoch[e] for e in Replica if s.is_up[e])",), "the sum of all values; 0 if there is no value", (ir.Fold,)
    ),
    Construct(
        ("min(s.epoch[e] for e in range(3))", "max((s.epoch[e] for e in Replica if s.is_up[e]), default=0)"),
        "the least or the greatest value; the default if there is no value",
        (ir.Fold,),
    ),
    Construct(
        ("any(e < o for e in Replica if s.is_up[e] for o in Replica if s.is_up[o] if o != r)",),
        "the generator of any of these functions may have any number of `for` and `if`",
        (ir.Fold,),
    ),
    Construct(("is_ahead(s, r, p)",), "the value of a helper", (ir.Call,)),
)

SETS = (
    Construct(
        ("r in s.isr",), "whether a set has an element", (ir.IsIn, ir.Cell), error=_DOMAIN, wrong="NONE in s.isr"
    ),
    Construct(
        ("r not in s.isr",),
        "whether a set lacks an element",
        (ir.IsIn, ir.Not, ir.Cell),
        error=_DOMAIN,
        wrong="3 not in s.isr",
    ),
    Construct(
        ("r in chosen", "chosen[r]"),
        "whether a parameter that is a subset has an element",
        (ir.Element,),
        Place.VALUE,
        _DOMAIN,
        "chosen[3]",
    ),
    Construct(("len(s.isr)", "len(chosen)"), "the number of elements of a set", (ir.Length, ir.Fold, ir.Size)),
    Construct(
        ("chosen <= s.isr", "chosen >= s.isr", "chosen == s.isr"),
        "whether a set is a subset or a superset of another set, or has the same elements",
        (ir.SetComparison, ir.Fold),
    ),
    Construct(
        ("chosen < s.isr", "chosen > s.isr"),
        "whether a set is a proper subset or superset of another set",
        (ir.SetComparison, ir.And, ir.Not, ir.Fold),
    ),
    Construct(("chosen != s.isr",), "whether the sets differ", (ir.SetComparison, ir.Not, ir.Fold)),
    Construct(
        ("all(s.is_up[e] for e in s.isr)", "any(s.is_up[e] for e in chosen if e != r)"),
        "a generator over the elements of a set, in ascending order",
        (ir.Fold,),
    ),
    Construct(
        ("for e in s.isr:\n    s.is_up[e] = True", "for e in chosen:\n    s.is_up[e] = True"),
        "a loop over the elements of a set, in ascending order. Each element is tested when the loop reaches it: the"
        " body may change the set",
        (ir.SetLoop, ir.Loop, ir.Branch),
        _ACTION,
    ),
    Construct(
        ("s.isr.add(r)", "s.isr.discard(r)"),
        "adds an element to a set; removes an element",
        (ir.SetChange, ir.Store),
        _ACTION,
        _DOMAIN,
        "s.isr.add(3)",
    ),
    Construct(("s.isr.clear()",), "removes all elements", (ir.Clear, ir.Loop, ir.Store), _ACTION),
    Construct(("s.isr = set()",), "removes all elements", (ir.FillSet, ir.Loop, ir.Store), _ACTION),
    Construct(
        ("s.isr = {r, p}",),
        "replaces all elements of a set by the listed elements",
        (ir.FillSet, ir.Loop, ir.Store),
        _ACTION,
        _DOMAIN,
        "s.isr = {r, 3}",
    ),
    Construct(
        ("s.isr = chosen",),
        "replaces all elements of a set by those of another set",
        (ir.CopySet, ir.Loop, ir.Store),
        _ACTION,
    ),
)

QUEUES = (
    Construct(("len(s.inbox[r])",), "the number of elements of a queue", (ir.Length, ir.Fold)),
    Construct(
        ("p in s.inbox[r]",),
        "whether a queue has an element; false for a value that cannot be an element",
        (ir.IsIn, ir.And, ir.Fold),
    ),
    Construct(("p not in s.inbox[r]",), "whether a queue lacks an element", (ir.IsIn, ir.Not, ir.And, ir.Fold)),
    Construct(
        ("s.inbox[r][0]",),
        "the element at a place of a queue; the oldest is at place 0",
        (ir.QueueElement, ir.Cell, ir.Choose),
        error=_PLACE,
        wrong="s.inbox[r][0]",
    ),
    Construct(
        ("s.inbox[r].append(p)",),
        "adds an element at the end of a queue",
        (ir.Append, ir.Store, ir.Choose),
        _ACTION,
        _FULL,
        "s.inbox[r].append(3)",
    ),
    Construct(
        ("s.inbox[r].popleft()",),
        "removes the first element",
        (ir.TakeFirst, ir.Store, ir.Loop),
        _ACTION,
        _EMPTY,
        "s.inbox[r].popleft()",
    ),
    Construct(
        ("first = s.inbox[r].popleft()",),
        "removes the first element of a queue, and keeps the element in a local",
        (ir.TakeFirst, ir.Assign, ir.Store, ir.Loop),
        _ACTION,
        _EMPTY,
        "first = s.inbox[r].popleft()",
    ),
    Construct(("s.inbox[r].clear()",), "removes all elements", (ir.Clear, ir.Loop, ir.Store), _ACTION),
)

RECORDS = (
    Construct(("s.broker[r].role",), "a part of a record", (ir.Cell,), error=_INDEX, wrong="s.broker[3].role"),
    Construct(
        ("s.broker[r].role = Role.LEADER",),
        "writes a part of a record",
        (ir.Store,),
        _ACTION,
        _RANGE,
        "s.broker[r].role = 2",
    ),
    Construct(("len(s.requests)",), "the length of a queue of records", (ir.Length, ir.Fold)),
    Construct(
        ("s.requests[0].sender",),
        "a part of the record at a place in a queue of records",
        (ir.QueueElement, ir.Cell, ir.Choose),
        Place.VALUE,
        _PLACE,
        "s.requests[0].sender",
    ),
    Construct(
        ("s.requests.append(Request(sender=r, epoch=1))",),
        "adds a record, with all of its parts, at the end of a queue",
        (ir.Append, ir.Store, ir.Choose),
        _ACTION,
        _FULL,
        "s.requests.append(Request(sender=r, epoch=6))",
    ),
    Construct(
        ("s.requests.popleft()",),
        "removes the first record of a queue",
        (ir.TakeFirst, ir.Store, ir.Loop),
        _ACTION,
        _EMPTY,
        "s.requests.popleft()",
    ),
    Construct(("s.requests.clear()",), "removes all elements", (ir.Clear, ir.Loop, ir.Store), _ACTION),
)

CONSTRUCTS = {
    "statements": STATEMENTS,
    "expressions": EXPRESSIONS,
    "sets": SETS,
    "queues": QUEUES,
    "records": RECORDS,
}
"""All constructs, by the table in which they stand."""


@dataclass(frozen=True)
class Refusal:
    """Forms of Python that the language refuses, all with the same advice in the error message (`cure`)."""

    examples: tuple[str, ...]
    """The refused forms as they are written; the error is reported for the first line, or for the last one."""
    cure: str
    """The end of the message: what the author of the model has to write instead."""
    place: Place = Place.ACTION


STATEMENTS_ARE = "use only assignments, if, for, require(...), return, and calls of helpers"
EXPRESSIONS_ARE = (
    "use only numbers, truth values, names, cells, + - * // %, comparisons, and/or/not, if-else, min max abs all any"
    " sum len and helpers"
)

REFUSALS = (
    Refusal(("while s.is_up[r]:\n    s.is_up[r] = False",), STATEMENTS_ARE),
    Refusal(("for e in range(3):\n    break", "for e in range(3):\n    continue"), STATEMENTS_ARE),
    Refusal(("try:\n    pass\nfinally:\n    pass", "try:\n    pass\nexcept* ValueError:\n    pass"), STATEMENTS_ARE),
    Refusal(
        ("raise ValueError", "assert s.is_up[r]", "with s:\n    pass", "global LIMIT", "del s.leader"), STATEMENTS_ARE
    ),
    Refusal(
        ("import math", "from math import pi", "epoch: int = 1", "match r:\n    case _:\n        pass"), STATEMENTS_ARE
    ),
    Refusal(("def inner(a):\n    nonlocal r", "class Inner:\n    pass"), STATEMENTS_ARE),
    Refusal(
        ("async def inner(a):\n    async for b in a:\n        async with b:\n            await b",), STATEMENTS_ARE
    ),
    Refusal(("a = (1, 2)", "a = [1, 2]", "a = {1, 2}", "a = {1: 2}", "a = min(1, *chosen)"), EXPRESSIONS_ARE),
    Refusal(("a = [e for e in Replica]", "a = {e for e in Replica}", "a = {e: e for e in Replica}"), EXPRESSIONS_ARE),
    Refusal(("a = (e for e in Replica)", "a = (yield 1)", "a = (yield from s)"), EXPRESSIONS_ARE),
    Refusal(('a = f"{r}"', "a = lambda: 1", "a = (b := 1)"), EXPRESSIONS_ARE),
    Refusal(("return", "return True"), "guard with require(...), or use if/else"),
    Refusal(("for e in range(3):\n    pass\nelse:\n    pass",), "put the statements of the `else` after the loop"),
    Refusal(
        ("for e in (1, 2):\n    pass", "for e in range(0, 4, 2):\n    pass"),
        "go through range(n), range(m, n), a domain or a set",
    ),
    Refusal(("for e in s.inbox[r]:\n    pass",), "write: for i in range(len(s.inbox[r])), and s.inbox[r][i]"),
    Refusal(("for a, b in range(2):\n    pass",), "use one plain name"),
    Refusal(("a = b = 1",), "write one assignment per line"),
    Refusal(("s.epoch[r] *= 2", "s.epoch[r] //= 2"), "use += or -=, or write the whole sum or product: x = x * 2"),
    Refusal(
        tuple(f"a = s.epoch[r] {sign} 2" for sign in ("/", "**", "&", "|", "^", "<<", ">>", "@")),
        "use + - * // or %",
    ),
    Refusal(("a = ~s.epoch[r]", "a = +s.epoch[r]"), "use `not` or a minus sign"),
    Refusal(("a = r is p", "a = r is not p"), "compare with == != < <= > >= or `in`"),
    Refusal(("a = r in [0, 1]",), "write the values in round brackets, as in: x in (1, 2)"),
    Refusal(("a = 0 <= r in (0, 1)",), "write `in` as a comparison of its own, in brackets"),
    Refusal(('a = "text"', "a = 1.5", "a = None"), "use whole numbers and truth values"),
    Refusal(("a = s.inbox[r][0:1]",), "read one element at a time, in a loop over range(m, n)"),
    Refusal(("a = s.epoch",), "write every index: the language has no slices and no parts of arrays"),
    Refusal(
        ("a = pow(s.epoch[r], 2)", "print(r)"), "of Python's own functions, use only min, max, abs, all, any, sum, len"
    ),
    Refusal(("a = sum([1, 2])",), "write sum(... for x in range(n))"),
    Refusal(
        ("a = s.isr",),
        "a set is read by x in s.isr, x not in s.isr, len(s.isr), for x in s.isr, and <= == != with another set",
    ),
    Refusal(("s.isr.remove(r)",), "write s.isr.discard(x)"),
    Refusal(("a = s.inbox[r]",), "a queue is read by s.inbox[r][i], len(s.inbox[r]), x in s.inbox[r]"),
    Refusal(("a = s.broker[r]",), "read and write its parts: role"),
    Refusal(("s.is_up[r] = True\nrequire(s.is_up[p])",), "put every guard before the first write"),
    Refusal(("require(s.is_up[r])",), "return a truth value, and call require(...) in the action", _HELPER),
    Refusal(("return",), "use if/else in place of `return` in a helper that writes", _HELPER),
    Refusal(("taken", "taken + 1 > 1"), "compare `taken` with an action: taken == name", _STEP),
    Refusal(("taken == 1",), "write `taken == NAME`, with an action's name", _STEP),
    Refusal(("a = later",), "define the name in the module, or assign it on every path to this line"),
    Refusal(("a += 1",), "give the local a value before += or -="),
    Refusal(
        ("a = 4 // s.epoch[r]", "a = 4 % s.epoch[r]"),
        "divide by a number that its declaration keeps at 1 or above: bound(..., least=1), or max(1, ...)",
    ),
    Refusal(
        ("a = s.epoch[r] * 2147483647 * 2147483647",),
        "add less to the number, or bound the number with min(...) and max(...)",
    ),
    Refusal(
        ("a = max(e for e in Replica if s.is_up[e])",),
        "give the value for that case: max((... for x in range(n) if ...), default=0)",
    ),
    Refusal(("require(s.isr == 0)",), "compare the set with another set of the same domain, or use len(...) and `in`"),
    Refusal(("is_ahead(s, r, p)",), "use the value, or call a helper that writes to the state"),
    Refusal(("a = fence(s, r)",), "call the helper as a statement of its own"),
)


@dataclass(frozen=True)
class Limit:
    """A limit on a function: `of` names the limited quantity, such as the terms of a sum, and `most` is the limit."""

    of: str
    most: int
    cure: str


NUMBERS = Limit("a number in the text of a function", (1 << 31) - 1, "write a number in -2147483648..2147483647")
DEPTH = Limit(
    "the nesting of statements and expressions in a function", 60, "move a part of the function into a helper"
)
DEPTH_IN_ALL = Limit(
    "the nesting of a function and of all that it calls", 200, "nest fewer calls of helpers in helpers"
)
PARAMETERS = Limit("the parameters of a function", 60, "give it at most 60")
TERMS = Limit("the terms of a sum", 500, "write at most 500 terms, and move the others into a helper")
CONDITIONS = Limit(
    "the conditions of an `if` with its `elif`, or of one `a if c else b if ...`",
    200,
    "write at most 200 conditions, and move the others into a helper",
)
LIMITS = (NUMBERS, DEPTH, DEPTH_IN_ALL, PARAMETERS, TERMS, CONDITIONS)
"""All limits. `and`, `or`, comparisons, arguments and statements in sequence have no limit."""
