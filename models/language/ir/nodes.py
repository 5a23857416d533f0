"""The nodes of the representation: a closed list of expressions and statements.

models/language/reading builds a `Routine`, the representation of one function, from these nodes. Names are resolved: a
variable is an object, and two variables of the same name are two objects. Fields and configuration entries are named by
text, because a model has one state and one configuration. Nodes are compared by identity, so an analysis can use them
as keys. A node means what its Python text means (models/language/interpreter.py defines the meaning in a few lines).
Evaluating an expression changes nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from typing import Any, TypeVar, cast, dataclass_transform

from isrcheck.models.language.declarations import Domain, Mark, Subset, shortened


class Source(ABC):
    """The text of which nodes are made: a file, or an expression that a user typed."""

    path: str

    @abstractmethod
    def spelled(self, span: Span) -> str:
        """Return the expression or the statement at `span`, in one line and without comments."""


@dataclass(frozen=True, slots=True)
class Span:
    """The place of a node in its source. As in Python's parser, lines are counted from 1, and columns in bytes of UTF-8
    from 0."""

    source: Source = field(repr=False)
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def place(self) -> str:
        """The place as FILE:LINE."""
        return f"{self.source.path}:{self.line}"

    @property
    def text(self) -> str:
        """The node's text, in one line and without comments."""
        return self.source.spelled(self)

    @property
    def shown(self) -> str:
        """The node's text, shortened for a message."""
        return shortened(self.text)


class Role(Enum):
    """The kinds of values that a variable can hold."""

    STATE = "a state: `s`, `before` or `after`"
    SUBSET = "a subset of a domain, which can only be asked for its elements"
    TAKEN = "the action that was taken"
    NUMBER = "a number or a truth value"


@dataclass(frozen=True, eq=False)
class Variable:
    """A parameter, a local, or the variable of a loop or a generator. As in Python, a name that a function assigns is
    one variable in the whole function, but the variable of a generator exists only in the generator."""

    name: str
    role: Role = Role.NUMBER
    domain: type[Domain] | type[Subset] | None = None
    """The domain that annotates a parameter of an action; for a subset, the Subset class. None without an
    annotation."""

    def __repr__(self) -> str:
        return f"<{self.name}>"


@dataclass_transform(eq_default=False, frozen_default=True)
@dataclass(frozen=True, eq=False, kw_only=True)
class Node:
    """A part of a function. Every subclass is a frozen dataclass, whose objects are compared by identity."""

    span: Span

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False)(cls)


# ------------------------------------------------------------------------------------------------------- expressions


class Constant(Node):
    """A number or a truth value: a literal, a member of an enumeration, or the name of a constant of the module."""

    value: int
    enumeration: type[IntEnum] | None = None


class Local(Node):
    """The value of a variable. As an argument of a call it can be a state, a subset, or the action that was taken."""

    variable: Variable


class Setting(Node):
    """The value of an entry of the configuration."""

    entry: str


class Size(Node):
    """The number of elements of a domain."""

    domain: type[Domain]


class Cell(Node):
    """A cell of a field of a state. An index outside the field's domain is an error."""

    state: Variable
    field: str
    indices: tuple[Expression, ...]


class Element(Node):
    """Whether a subset has the element `index`. An element outside the subset's domain is an error."""

    subset: Variable
    index: Expression


class IsTaken(Node):
    """Whether the step of a transition (`taken`) is a step of the action `action`."""

    taken: Variable
    action: str


class Not(Node):
    """Whether an expression is 0."""

    operand: Expression


class And(Node):
    """The value of the first part that is 0 (false), else of the last part. The parts after the first 0 are not
    evaluated."""

    parts: tuple[Expression, ...]


class Or(Node):
    """The value of the first part that is not 0 (true), else of the last part. The parts after the first true part are
    not evaluated."""

    parts: tuple[Expression, ...]


class Sign(Enum):
    """The sign of a comparison."""

    EQUAL = "=="
    NOT_EQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="


class Compare(Node):
    """A comparison of two numbers."""

    left: Expression
    sign: Sign
    right: Expression


class Link(Node):
    """One comparison of a `Chain`: its sign, and the number at the right of the sign."""

    sign: Sign
    right: Expression


class Chain(Node):
    """Whether all comparisons of a chain are true: `a < b < c`. Each number is evaluated once; the numbers after a
    false comparison are not evaluated."""

    first: Expression
    links: tuple[Link, ...]


class Among(Node):
    """Whether a number equals one of the listed numbers, all of which are evaluated: `x in (a, b)`."""

    element: Expression
    choices: tuple[Expression, ...]


class Negative(Node):
    """A number with the opposite sign: `-x`."""

    operand: Expression


class Term(Node):
    """A term of a sum: its value is subtracted if `is_subtracted` is true, and otherwise added."""

    value: Expression
    is_subtracted: bool


class Sum(Node):
    """A sum of two or more terms."""

    terms: tuple[Term, ...]


class Operation(Enum):
    """Multiplication, division and remainder of two numbers. Division rounds down, and the divisor is at least 1."""

    TIMES = "*"
    DIVIDED_BY = "//"
    MODULO = "%"


class Arithmetic(Node):
    """A product, a quotient or a remainder."""

    left: Expression
    operation: Operation
    right: Expression


class Option(Node):
    """One alternative of a `Choose`: a condition, and the value that is chosen if the condition is true."""

    condition: Expression
    value: Expression


class Choose(Node):
    """The value of the first option whose condition is true, else the last value: `a if x else b if y else c`."""

    options: tuple[Option, ...]
    otherwise: Expression


class Extreme(Enum):
    """Which of several numbers an `Extremum` chooses."""

    LEAST = "min"
    GREATEST = "max"


class Extremum(Node):
    """The least or the greatest of two or more numbers."""

    extreme: Extreme
    parts: tuple[Expression, ...]


class Range(Node):
    """The numbers from `first` to `end` - 1, in ascending order."""

    first: Expression
    end: Expression


class Generator(Node):
    """The part `for x in range(n) if condition` of a fold: `x` takes each number for which all conditions are true. The
    range can use the variables of earlier generators; the conditions can also use `x`."""

    variable: Variable
    range: Range
    conditions: tuple[Expression, ...]


class Gathering(Enum):
    """How a fold combines its values."""

    ALL = "all"
    ANY = "any"
    SUM = "sum"
    LEAST = "min"
    GREATEST = "max"


class Fold(Node):
    """The values of `body` for all values of the generators' variables, combined into one: all, any, sum, min or max.
    ALL and ANY stop at the first value that decides the result. If there is no value, LEAST and GREATEST return the
    `default`, which can be left out only if the generators always have a value."""

    gathering: Gathering
    generators: tuple[Generator, ...]
    body: Expression
    default: Expression | None = None


class Call(Node):
    """A call of a helper: an expression whose value is the helper's result, or the content of a `Do` statement."""

    routine: Routine
    arguments: tuple[Expression, ...]


# --------------------------------------------------------------------------- sets and queues, as they are written

# These are only in `Routine.written`; models/language/ir/lowering.py puts reads and writes of cells in their place.


class NotInTheCoreError(Exception):
    """Raised if an engine reads an operation on a set or a queue: engines must read the core (`Routine.body`)."""


class Collection(Node):
    """A set or a queue of a state, or a subset that is a parameter."""

    holder: Variable
    field: str
    """The field that holds the set or queue; empty for a subset."""
    indices: tuple[Expression, ...]
    domain: type[Domain]
    """The domain of a set's elements, or of the places of a queue."""
    filler: int | None = None
    """For a queue, the number in the places after its last element; None for a set."""


class CollectiveExpression(Node):
    """An expression about sets, queues or domains as a whole."""


class IsIn(CollectiveExpression):
    """Whether a number is an element of a set or a queue: `x in s.isr`."""

    element: Expression
    collection: Collection


class InDomain(CollectiveExpression):
    """Whether a number is an element of a domain: `x in Replica`."""

    element: Expression
    domain: type[Domain]


class Length(CollectiveExpression):
    """The number of elements of a set or a queue."""

    collection: Collection


class SetComparison(CollectiveExpression):
    """A comparison of two sets of one domain; AT_MOST is "is a subset of"."""

    left: Collection
    sign: Sign
    right: Collection


class QueueElement(CollectiveExpression):
    """The element at a place of a queue, the oldest at 0. A place without an element is an error."""

    queue: Collection
    place: Expression


Expression = (
    CollectiveExpression
    | Constant
    | Local
    | Setting
    | Size
    | Cell
    | Element
    | IsTaken
    | Not
    | And
    | Or
    | Compare
    | Chain
    | Among
    | Negative
    | Sum
    | Arithmetic
    | Choose
    | Extremum
    | Fold
    | Call
)


# -------------------------------------------------------------------------------------------------------- statements


class Assign(Node):
    """A local gets a value."""

    variable: Variable
    value: Expression


class Store(Node):
    """A cell of the state gets a value. A value outside the range of the field is an error."""

    cell: Cell
    value: Expression


class Case(Node):
    """One case of a `Branch`: a condition, and the statements that are executed if the condition is true."""

    condition: Expression
    body: tuple[Statement, ...]


class Branch(Node):
    """Executes the statements of the first case whose condition is true, else `otherwise`: `if`, `elif`, `else`."""

    cases: tuple[Case, ...]
    otherwise: tuple[Statement, ...]


class Loop(Node):
    """Executes the body for each number of the range. The range is evaluated once, before the first number."""

    variable: Variable
    range: Range
    body: tuple[Statement, ...]


class Require(Node):
    """A guard: if the condition is false, the action is not enabled."""

    condition: Expression


class Return(Node):
    """Returns the value of a helper or a property."""

    value: Expression


class Do(Node):
    """The call of a helper that writes to the state."""

    call: Call


class CollectiveStatement(Node):
    """A statement about sets or queues as a whole."""


class SetLoop(CollectiveStatement):
    """Executes the body for each element of a set, in ascending order. Whether the set contains an element is tested
    when the loop comes to the element. The indices of the set are evaluated once."""

    variable: Variable
    collection: Collection
    body: tuple[Statement, ...]


class SetChange(CollectiveStatement):
    """An element is added to a set, or removed from it: `s.isr.add(x)`, `s.isr.discard(x)`."""

    collection: Collection
    element: Expression
    is_added: bool


class CopySet(CollectiveStatement):
    """A set gets the elements of another set: `s.isr = s.live`."""

    collection: Collection
    source: Collection


class FillSet(CollectiveStatement):
    """The listed elements become the only elements of a set: `s.isr = {x, y}`, `s.isr = set()`."""

    collection: Collection
    elements: tuple[Expression, ...]


class Clear(CollectiveStatement):
    """A set or a queue becomes empty. For a queue of records, the queue of each part of the record becomes empty."""

    collections: tuple[Collection, ...]


class Append(CollectiveStatement):
    """Appends an element to a queue. For a record, one value is appended to the queue of each part of the record. A
    full queue is an error."""

    queues: tuple[Collection, ...]
    values: tuple[Expression, ...]


class TakeFirst(CollectiveStatement):
    """Removes the first element of a queue. If `variable` is not None, the element is assigned to this local. An empty
    queue is an error."""

    queues: tuple[Collection, ...]
    variable: Variable | None


Statement = Assign | Store | Branch | Loop | Require | Return | Do | CollectiveStatement


@dataclass(eq=False, repr=False)
class Routine:
    """The representation of one function: an action, a property or a helper."""

    name: str
    span: Span
    documentation: str
    parameters: tuple[Variable, ...]
    written: tuple[Statement, ...] = ()
    """The statements as they are written, with sets and queues; for explanations, and for mutants."""
    body: tuple[Statement, ...] = ()
    """The statements in the core, without sets and queues; the same as `written` if that has neither."""
    returns_value: bool = False
    writes: frozenset[str] = frozenset()
    """The fields that the function, or a function that it calls, writes; `reads` likewise."""
    reads: frozenset[str] = frozenset()
    mark: Mark | None = field(default=None, repr=False)
    assignments: Mapping[Variable, int] = field(default_factory=dict, repr=False)
    """How often each variable is assigned in the text, also as the variable of a loop."""

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def arguments(self) -> tuple[Variable, ...]:
        """The parameters that are not states."""
        return tuple(parameter for parameter in self.parameters if parameter.role is not Role.STATE)

    @property
    def states(self) -> tuple[Variable, ...]:
        """The parameters that are states."""
        return tuple(parameter for parameter in self.parameters if parameter.role is Role.STATE)

    @property
    def guards(self) -> list[Require]:
        """The guards at the beginning of an action."""
        guards: list[Require] = []
        for statement in self.body:
            if not isinstance(statement, Require):
                break
            guards.append(statement)
        return guards


# ---------------------------- ways through the representation, so that no engine has a recursion of its own over nodes


Value = TypeVar("Value")
Rewritten = TypeVar("Rewritten", bound=Node)


def parts(node: Node) -> Iterator[Node]:
    """Yield the nodes that are direct parts of a node, in the order of the text."""
    for value in vars(node).values():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Node):
                yield part


def operands(node: Node) -> Iterator[Expression]:
    """Yield the direct operands of an expression or a range, in the order of the text."""
    for part in parts(node):
        if isinstance(part, Expression):
            yield part
        else:  # a term, an option, a generator
            yield from operands(part)


def visit(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the given nodes and all nodes in them, each before its parts, without the nodes of called functions."""
    waiting = list(nodes)[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += list(parts(node))[::-1]


def statements_in(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yield the given statements and all statements in them, each before its parts."""
    for statement in statements:
        yield statement
        match statement:
            case Branch(cases, otherwise):
                for case in cases:
                    yield from statements_in(case.body)
                yield from statements_in(otherwise)
            case Loop(body=body) | SetLoop(body=body):
                yield from statements_in(body)


def with_depth(nodes: Iterable[Node]) -> Iterator[tuple[Node, int]]:
    """Yield the given nodes, with depth 1, and all nodes in them, each with its depth."""
    waiting = [(node, 1) for node in nodes]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting += ((part, depth + 1) for part in parts(node))


def fold(node: Node, value: Callable[[Node, Sequence[Value]], Value]) -> Value:
    """Compute a value for a node from the leaves up: `value` gets a node and the values of the node's parts."""
    return value(node, [fold(part, value) for part in parts(node)])


def rewrite(node: Rewritten, change: Callable[[Node], Node]) -> Rewritten:
    """Return the node after `change` has replaced every node in it and then the node itself. A node in which nothing
    changes stays the same object. `change` must return the same kind of node: an expression for an expression."""
    rewritten = {name: _rewritten(value, change) for name, value in vars(node).items()}
    changes = {name: value for name, value in rewritten.items() if value is not getattr(node, name)}
    return cast(Rewritten, change(replace(node, **changes) if changes else node))


def _rewritten(value: Any, change: Callable[[Node], Node]) -> Any:
    if isinstance(value, Node):
        return rewrite(value, change)
    if isinstance(value, tuple):
        changed = tuple(_rewritten(part, change) for part in value)
        return value if all(part is other for part, other in zip(changed, value, strict=True)) else changed
    return value


def routines(roots: Iterable[Routine]) -> Iterator[Routine]:
    """Yield the given functions and all functions that they call, directly or not, each once."""
    reached: set[Routine] = set()
    waiting = list(roots)
    while waiting:
        routine = waiting.pop()
        if routine not in reached:
            reached.add(routine)
            waiting += [node.routine for node in visit(routine.body) if isinstance(node, Call)]
            yield routine


def assigned(statements: Iterable[Statement]) -> set[Variable]:
    """Return the variables that the statements assign, including the variables of loops."""
    return set(assignments(statements))


def assignments(statements: Iterable[Statement]) -> Counter[Variable]:
    """Return how many statements of the text assign each variable; a loop and a `TakeFirst` assign their variable."""
    assigning = (Assign, Loop, SetLoop, TakeFirst)
    nodes = (statement for statement in statements_in(statements) if isinstance(statement, assigning))
    return Counter(node.variable for node in nodes if node.variable is not None)


def variables(node: Node) -> set[Variable]:
    """Return the variables that occur in a node, including states, without the variables of generators in the node."""
    used: set[Variable] = set()
    own: set[Variable] = set()
    for part in visit([node]):
        used |= {value for value in vars(part).values() if isinstance(value, Variable)}
        if isinstance(part, Generator):
            own.add(part.variable)
    return used - own


def is_same(left: object, right: object) -> bool:
    """Whether two nodes, or two parts of nodes, are equal if their places in the text are ignored."""
    if isinstance(left, Node) and isinstance(right, Node):
        same_kind = type(left) is type(right)
        return same_kind and all(is_same(vars(left)[name], vars(right)[name]) for name in vars(left) if name != "span")
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(is_same, left, right))
    return left == right


def increase(store: Store) -> Sum | None:
    """Return the sum `s.x + 1` that a statement such as `s.x += 1` stores in `s.x`; None for other stores."""
    match store.value:
        case Sum((Term(Cell() as cell, False), *_)) as total if is_same(cell, store.cell):
            return total
    return None
