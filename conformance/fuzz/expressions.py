"""Random expressions of the modelling language, with their ranges.

In:  a source of randomness, a `World`, and a `Scope`: the names available at a point of a function.
Out: texts of numbers, with their smallest and largest values, and texts of truth values.

The ranges keep most programs within their declared ranges. They only guide the choice: nothing relies on them, and a
careless program uses indices and values that may be outside.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from isrcheck.conformance.fuzz.declarations import Cells, Space, World

NAMES = ("x", "y", "total", "count", "i", "j", "k", "p0", "at_1", "word", "low", "results", "state")
"""Names of locals; some of them also occur in the code that the engines generate."""

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Number:
    """A numeric expression, with bounds on its value."""

    text: str
    low: int
    high: int


@dataclass(frozen=True)
class Helper:
    """A function that others can call."""

    name: str
    """Its name."""
    states: int
    """How many states it takes."""
    numbers: tuple[tuple[int, int], ...]
    """The range of each number that it takes."""
    subset: str | None
    """The domain of the subset that it takes; None if it takes none."""
    returns: tuple[int, int] | None
    """The range of its result; None if it writes to the state."""
    is_truth: bool = False
    """Whether its result is a truth value."""


@dataclass
class Scope:
    """The names available at one point of a function."""

    states: tuple[str, ...]
    """The names of states."""
    is_careless: bool
    """Whether indices and values outside their range are allowed."""
    numbers: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The variables that hold numbers, with their ranges."""
    assigned: set[str] = field(default_factory=set)
    """The local variables that an assignment writes."""
    subsets: dict[str, str] = field(default_factory=dict)
    """The parameters that are subsets, with their domains."""
    helpers: list[Helper] = field(default_factory=list)
    """The functions that can be called."""
    constants: dict[str, int] = field(default_factory=dict)
    """The constants that are not hidden, with their values."""
    actions: tuple[str, ...] = ()
    """The actions with which `taken` may be compared."""

    def inner(self, **numbers: tuple[int, int]) -> Scope:
        """A copy of this scope with more number variables, which hide others of the same name."""
        kept = {name: one for name, one in self.constants.items() if name not in numbers}
        return replace(self, numbers={**self.numbers, **numbers}, constants=kept, assigned=self.assigned - set(numbers))


class Writer:
    """Writes expressions at one point of a function."""

    def __init__(self, chance: random.Random, world: World, scope: Scope) -> None:
        self.chance = chance
        self.world = world
        self.scope = scope

    def at(self, scope: Scope) -> Writer:
        """A writer with the same random source for another point of the function."""
        return Writer(self.chance, self.world, scope)

    def pick(self, options: Sequence[tuple[float, Callable[[], object]]]) -> object:
        """Choose one of several (weight, function) by weight; return the result of the function."""
        return self.chance.choices([one for _, one in options], [weight for weight, _ in options])[0]()

    # ---------------------------------------------------------------------------------------------------------- numbers

    def number(self, depth: int) -> Number:
        """A random numeric expression of at most this depth."""
        ends: list[tuple[float, Callable[[], Number]]] = [
            (2, self._constant),
            (4 if self.scope.states and self.world.fields else 0, lambda: self._cell(depth)),
            (5 if self.scope.numbers else 0, self._local),
            (1, self._named),
        ]
        parts: list[tuple[float, Callable[[], Number]]] = [
            (4, lambda: self._sum(depth)),
            (1, lambda: self._negated(depth)),
            (1, lambda: self._magnitude(depth)),
            (1.5, lambda: self._either(depth)),
            (1.5, lambda: self._least_or_most(depth)),
            (1, lambda: self._total(depth)),
            (1.5, lambda: self._called(depth)),
            (0.5, lambda: self._truth_as_number(depth)),
            (0.8, lambda: self._and_or(depth)),
            (1.5, lambda: self._product(depth)),
            (1, lambda: self._extreme(depth)),
        ]
        found = self.pick(ends if depth <= 0 else ends + parts)
        assert isinstance(found, Number)
        return found

    def _constant(self) -> Number:
        value = self.chance.choice((0, 0, 1, 1, 1, 2, 2, 3, 4, -1))
        if self.chance.random() < 0.02:
            value = self.chance.choice((127, 128, 1000, 2**31 - 1, -(2**31) + 1))
        return Number(str(value), value, value)

    def _local(self) -> Number:
        name = self.chance.choice(sorted(self.scope.numbers))
        return Number(name, *self.scope.numbers[name])

    def _named(self) -> Number:
        """The name of a constant, of a member of an enumeration, of a configuration entry, or NONE."""
        found = [Number(name, int(value), int(value)) for name, value in self.scope.constants.items()]
        for kind, members in self.world.enumerations.items():
            found += [Number(f"{kind}.{member}", value, value) for member, value in members.items()]
        if self.scope.states:
            state = self.chance.choice(self.scope.states)
            found += [Number(f"{state}.{one.name}", one.least, one.most) for one in self.world.entries]
        found.append(Number("NONE", -1, -1))
        found += [Number(f"len({space.name})", space.size, space.size) for space in self.world.spaces]
        return self.chance.choice(found)

    def _cell(self, depth: int) -> Number:
        one = self.chance.choice(self.world.fields)
        return Number(self.cell(one, depth=depth), one.low, one.high)

    def cell(self, one: Cells, state: str | None = None, depth: int = 1) -> str:
        """An expression for a cell of a field, at a random index."""
        indices = "".join(f"[{self.index(space.size, depth)}]" for space in one.over)
        return f"{state or self.chance.choice(self.scope.states)}.{one.name}{indices}"

    def index(self, size: int, depth: int = 1) -> str:
        """A random expression for an index of a domain of this size."""
        careless = self.scope.is_careless and self.chance.random() < 0.15
        inside = [name for name, (low, high) in self.scope.numbers.items() if careless or (low >= 0 and high < size)]
        if inside and self.chance.random() < 0.75:
            return self.chance.choice(sorted(inside))
        if depth <= 0 or self.chance.random() < 0.5:
            wrong = self.scope.is_careless and self.chance.random() < 0.1
            return str(self.chance.choice((-1, size)) if wrong else self.chance.randrange(size))
        return self.fitted(self.number(depth - 1), 0, size - 1)

    def fitted(self, number: Number, low: int, high: int) -> str:
        """An expression within a range: the number itself if it fits (or the program is careless), else limited."""
        if number.low >= low and number.high <= high:
            return number.text
        if self.scope.is_careless and self.chance.random() < 0.3:
            return number.text
        if len(number.text) > 20 or self.chance.random() < 0.5:
            return f"min(max({number.text}, {low}), {high})"
        return f"({number.text} if {low} <= {number.text} <= {high} else {self.chance.randint(low, high)})"

    def _sum(self, depth: int) -> Number:
        left, right = self.number(depth - 1), self.number(depth - 1)
        if self.chance.random() < 0.5:
            return Number(f"({left.text} + {right.text})", left.low + right.low, left.high + right.high)
        return Number(f"({left.text} - {right.text})", left.low - right.high, left.high - right.low)

    def _product(self, depth: int) -> Number:
        """A product, a quotient or a remainder; what divides is above 0 for every configuration."""
        left, right = self.number(depth - 1), self.number(depth - 1)
        if max(map(abs, (left.low, left.high, right.low, right.high))) > 10_000:
            return left
        sign = self.chance.choice(("*", "//", "%"))
        if sign == "*":
            ends = [one * other for one in (left.low, left.high) for other in (right.low, right.high)]
            return Number(f"({left.text} * {right.text})", min(ends), max(ends))
        if self.chance.random() < 0.5 or "max" in self.scope.numbers:
            value = self.chance.randint(1, 4)
            right = Number(str(value), value, value)
        else:
            right = Number(f"max(1, {right.text})", 1, max(1, right.high))
        if sign == "%":
            return Number(f"({left.text} % {right.text})", 0, right.high - 1)
        return Number(f"({left.text} // {right.text})", min(left.low, 0), max(left.high, 0))

    def _extreme(self, depth: int) -> Number:
        """The least or the greatest element of a generator; without a default, it has an element."""
        name = self.chance.choice(("min", "max"))
        if name in self.scope.numbers:
            return self._constant()
        if self.chance.random() < 0.3:
            variable, last = self.chance.choice(NAMES), self.chance.randint(1, 2)
            if variable in self.scope.subsets:
                return self._constant()
            inside = self.at(self.scope.inner(**{variable: (0, last)}))
            one = inside.number(depth - 1)
            return Number(f"{name}({one.text} for {variable} in range({last + 1}))", one.low, one.high)
        head, inside, _ = self.generator(depth - 1)
        one, other = inside.number(min(depth - 1, 1)), self.number(depth - 1)
        text = f"{name}(({one.text} {head}), default={other.text})"
        return Number(text, min(one.low, other.low), max(one.high, other.high))

    def _negated(self, depth: int) -> Number:
        one = self.number(depth - 1)
        return Number(f"(-{one.text})", -one.high, -one.low)

    def _magnitude(self, depth: int) -> Number:
        number = self.number(depth - 1)
        least = 0 if number.low <= 0 <= number.high else min(abs(number.low), abs(number.high))
        return Number(f"abs({number.text})", least, max(abs(number.low), abs(number.high)))

    def _either(self, depth: int) -> Number:
        one, other = self.number(depth - 1), self.number(depth - 1)
        text = f"({one.text} if {self.truth(depth - 1)} else {other.text})"
        return Number(text, min(one.low, other.low), max(one.high, other.high))

    def _least_or_most(self, depth: int) -> Number:
        name = self.chance.choice(("min", "max"))
        if name in self.scope.numbers:
            return self._constant()
        numbers = [self.number(depth - 1) for _ in range(self.chance.choice((2, 2, 3)))]
        choose = min if name == "min" else max
        text = f"{name}({', '.join(one.text for one in numbers)})"
        return Number(text, choose(one.low for one in numbers), choose(one.high for one in numbers))

    def _truth_as_number(self, depth: int) -> Number:
        return Number(f"({self.truth(depth - 1)})", 0, 1)

    def _and_or(self, depth: int) -> Number:
        one, other = self.number(depth - 1), self.number(depth - 1)
        text = f"({one.text} {self.chance.choice(('and', 'or'))} {other.text})"
        return Number(text, min(one.low, other.low), max(one.high, other.high))

    def _total(self, depth: int) -> Number:
        head, inside, rounds = self.generator(depth - 1)
        one = inside.number(min(depth - 1, 1)) if self.chance.random() < 0.6 else Number(inside.truth(depth - 1), 0, 1)
        return Number(f"sum({one.text} {head})", min(0, rounds * one.low), max(0, rounds * one.high))

    def _called(self, depth: int) -> Number:
        found = [one for one in self.scope.helpers if one.returns is not None and self.can_call(one)]
        if not found:
            return self._constant()
        helper = self.chance.choice(found)
        assert helper.returns is not None
        return Number(self.call(helper, depth - 1), *helper.returns)

    def can_call(self, helper: Helper) -> bool:
        """Whether the states and the subset that a helper takes are available here."""
        enough = helper.states <= len(self.scope.states)
        return enough and (helper.subset is None or helper.subset in self.scope.subsets.values())

    def call(self, helper: Helper, depth: int) -> str:
        """The text of a call of a helper with random arguments."""
        if helper.states == 1:
            arguments = [self.chance.choice(self.scope.states)]
        else:
            arguments = list(self.scope.states[: helper.states])
        arguments += [self.fitted(self.number(min(depth, 1)), low, high) for low, high in helper.numbers]
        if helper.subset is not None:
            arguments.append(next(name for name, kind in self.scope.subsets.items() if kind == helper.subset))
        return f"{helper.name}({', '.join(arguments)})"

    # ------------------------------------------------------------------------------------------------- ranges and folds

    def range(self) -> tuple[str, int, int]:
        """The text of a random range, with its first and last number; if the last is below the first, it is empty."""
        form = self.chance.random()
        spaces = [space for space in self.world.spaces if space.size]
        if form < 0.3 and spaces:
            space = self.chance.choice(spaces)
            return space.name, 0, space.size - 1
        few = [name for name, (low, high) in self.scope.numbers.items() if low >= -2 and high <= 4]
        if form < 0.5 and few:
            name = self.chance.choice(sorted(few))
            low, high = self.scope.numbers[name]
            if self.chance.random() < 0.5:
                return f"range({name})", 0, high - 1
            return f"range({name}, {high})", low, high - 1
        if form < 0.6:
            one = self.number(1)
            if one.low >= -2 and one.high <= 4:
                return f"range({one.text})", 0, one.high - 1
        if form < 0.7 and spaces:
            space = self.chance.choice(spaces)
            return f"range({self.size(space)})", 0, space.size - 1
        if form < 0.8 and "LIMIT" in self.scope.constants:
            limit = self.scope.constants["LIMIT"]
            return "range(LIMIT)", 0, limit - 1
        first = self.chance.choice((0, 1, 1, -1, 2))
        last = max(0, first + self.chance.choice((-1, 0, 1, 2, 2)))
        written = "0 - 1" if first < 0 else str(first)  # a range takes no minus sign before a number
        text = f"range({written}, {last})"
        entries = [one for one in self.world.entries if one.shapes]
        if entries and self.scope.states and self.chance.random() < 0.4:
            entry = self.chance.choice(entries)
            text, last = f"range({written}, {self.scope.states[0]}.{entry.name} + 1)", entry.default + 1
        return text, first, last - 1

    def size(self, space: Space) -> str:
        """The text of the size of a domain, as an argument of `range`."""
        if not self.scope.states:
            return str(space.size)
        return space.range.replace("s.", f"{self.scope.states[0]}.")

    def generator(self, depth: int) -> tuple[str, Writer, int]:
        """The text of one or two `for ... in ... if ...`, a writer for the element, and the largest number of
        iterations.
        """
        free = [one for one in NAMES if one not in self.scope.subsets]
        names = [self.chance.choice(free) for _ in range(self.chance.choice((1, 1, 1, 2)))]
        if self.scope.constants and self.chance.random() < 0.15:
            names[-1] = self.chance.choice(sorted(self.scope.constants))
        # The variables hide other names in the whole generator, even before they have a value.
        visible = {name: ends for name, ends in self.scope.numbers.items() if name not in names}
        constants = {name: value for name, value in self.scope.constants.items() if name not in names}
        inside, text, rounds = self.at(replace(self.scope, numbers=visible, constants=constants)), "", 1
        for name in names:
            span, first, last = inside.range()
            text += f" for {name} in {span}"
            # An empty range is never evaluated; its element is written as if the range had its first number.
            inside = inside.at(inside.scope.inner(**{name: (first, max(first, last))}))
            rounds *= max(0, last - first + 1)
            if self.chance.random() < 0.25:
                text += f" if {inside.truth(min(depth, 1))}"
        return text.strip(), inside, rounds

    # ----------------------------------------------------------------------------------------------------- truth values

    def truth(self, depth: int) -> str:
        """The text of a random truth value, or of a number used as one, of at most this depth."""
        ends: list[tuple[float, Callable[[], str]]] = [
            (3 if self.scope.states else 0.1, self._comparison_with_constant),
            (2, self._flag),
            (0.15, lambda: self.chance.choice(("True", "False"))),
            (2 if self.scope.subsets else 0, self._membership),
            (0.6, self._in_values),
            (3 if self.scope.actions else 0, self._taken),
        ]
        parts: list[tuple[float, Callable[[], str]]] = [
            (4, lambda: self._comparison(depth)),
            (2, lambda: f"(not {self.truth(depth - 1)})"),
            (3, lambda: self._connected(depth)),
            (3, lambda: self._fold(depth)),
            (1, lambda: self._called_truth(depth)),
            (0.3, lambda: self.number(depth - 1).text),
            (0.3, lambda: f"({self.truth(depth - 1)} if {self.truth(depth - 1)} else {self.truth(depth - 1)})"),
        ]
        return str(self.pick(ends if depth <= 0 else ends + parts))

    def _comparison_with_constant(self) -> str:
        """A comparison that is true in some states only: of a cell with a value, or of an entry with its default."""
        if not self.scope.states:
            return self._flag()
        entries = [one for one in self.world.entries if not one.shapes]
        if entries and self.chance.random() < 0.12:
            entry, state = self.chance.choice(entries), self.chance.choice(self.scope.states)
            return f"{state}.{entry.name} {self.chance.choice(COMPARISONS)} {entry.default}"
        one = self.chance.choice(self.world.fields)
        value = str(self.chance.randint(one.low, min(one.high, one.low + 4)))
        if one.names and self.chance.random() < 0.7:
            value = self.chance.choice(one.names)
        if one.is_truth and self.chance.random() < 0.5:
            value = self.chance.choice(("True", "False"))
        return f"{self.cell(one, depth=0)} {self.chance.choice(COMPARISONS)} {value}"

    def _flag(self) -> str:
        flags = [one for one in self.world.fields if one.is_truth]
        if not flags or not self.scope.states:
            return f"{self.number(0).text} {self.chance.choice(COMPARISONS)} {self.number(0).text}"
        text = self.cell(self.chance.choice(flags), depth=0)
        return text if self.chance.random() < 0.6 else f"(not {text})"

    def _membership(self) -> str:
        name = self.chance.choice(sorted(self.scope.subsets))
        return f"{name}[{self.index(self.world.subsets[self.scope.subsets[name]].size, 0)}]"

    def _in_values(self) -> str:
        """Whether a number is one of several, or an element of a domain."""
        word = self.chance.choice(("in", "not in"))
        if self.world.spaces and self.chance.random() < 0.4:
            return f"({self.number(0).text} {word} {self.chance.choice(self.world.spaces).name})"
        values = [self.number(0).text for _ in range(self.chance.choice((0, 1, 2, 2, 3)))]
        return f"({self.number(0).text} {word} ({''.join(f'{value}, ' for value in values)}))"

    def _taken(self) -> str:
        return f"taken {self.chance.choice(('==', '!='))} {self.chance.choice(self.scope.actions)}"

    def _comparison(self, depth: int) -> str:
        sides = [self.number(depth - 1).text for _ in range(self.chance.choice((2, 2, 2, 3, 4)))]
        if self.chance.random() < 0.1:
            sides[-1] = f"({self.truth(depth - 1)})"
        text = sides[0]
        for side in sides[1:]:
            text += f" {self.chance.choice(COMPARISONS)} {side}"
        return f"({text})"

    def _connected(self, depth: int) -> str:
        word = self.chance.choice((" and ", " or "))
        return f"({word.join(self.truth(depth - 1) for _ in range(self.chance.choice((2, 2, 3))))})"

    def _fold(self, depth: int) -> str:
        name = self.chance.choice(("all", "any"))
        head, inside, _ = self.generator(depth - 1)
        return f"{name}({inside.truth(depth - 1)} {head})"

    def _called_truth(self, depth: int) -> str:
        found = [one for one in self.scope.helpers if one.is_truth and self.can_call(one)]
        return self.call(self.chance.choice(found), depth - 1) if found else self._flag()
