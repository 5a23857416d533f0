"""The declarations of a random program: its configuration, domains, enumerations, constants and fields.

In:  a source of randomness.
Out: a `World`: the declarations with their ranges under the default configuration, and their text.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """An entry of the configuration."""

    name: str
    """Its name."""
    kind: str
    """The function that declares it: `bound` or `setting`, for instance."""
    default: int
    """Its value unless another is chosen."""
    least: int
    """Its least value."""
    most: int
    """Its greatest value."""
    is_truth: bool
    """Whether its values are truth values."""
    text: str
    """Its declaration."""

    @property
    def shapes(self) -> bool:
        """Whether the ranges of domains and fields may depend on this configuration entry."""
        return self.kind == "bound"


@dataclass(frozen=True)
class Space:
    """A domain, its number of elements, and two texts: its declared size, and its size as an argument of `range`."""

    name: str
    size: int
    declared: str
    range: str
    letters: bool


@dataclass(frozen=True)
class Cells:
    """A field of numbers or truth values."""

    name: str
    """Its name."""
    over: tuple[Space, ...]
    """Its domains, one for each index."""
    low: int
    """Its least value."""
    high: int
    """Its greatest value."""
    is_truth: bool
    """Whether its values are truth values."""
    names: tuple[str, ...]
    """The names that stand for some of its values."""
    values: str
    """The text of its range."""
    initially: str
    """The text of its initial value."""


@dataclass(frozen=True)
class Sets:
    """A field whose elements are sets: its domains, the number of elements of the sets' domain, and its declaration."""

    name: str
    over: tuple[Space, ...]
    size: int
    of: str
    initially: str

    @property
    def text(self) -> str:
        """The declaration."""
        over = "".join(f"{space.name}, " for space in self.over)
        start = f", initially={self.initially}" if self.initially else ""
        return f"field({over}values=Set(of={self.of}){start})"


@dataclass(frozen=True)
class Queues:
    """A field whose elements are queues."""

    name: str
    """Its name."""
    over: tuple[Space, ...]
    """Its domains, one for each index."""
    low: int
    """The least element of a queue."""
    high: int
    """The greatest element of a queue."""
    most: int
    """The most elements of a queue."""
    of: str
    """The text of the range of the elements."""

    @property
    def text(self) -> str:
        """The declaration."""
        over = "".join(f"{space.name}, " for space in self.over)
        return f"field({over}values=Queue(of={self.of}, most={self.most}))"


@dataclass
class World:
    """Everything that a program declares, without its functions."""

    careless: float = 0.0
    """The probability that a function may use indices and values outside their range."""
    constants: dict[str, int] = field(default_factory=dict)
    """Names of numbers."""
    enumerations: dict[str, dict[str, int]] = field(default_factory=dict)
    """The members of each enumeration, with their numbers."""
    entries: list[Entry] = field(default_factory=list)
    """The entries of the configuration."""
    spaces: list[Space] = field(default_factory=list)
    """The domains."""
    subsets: dict[str, Space] = field(default_factory=dict)
    """The domain of each kind of parameter that is a subset."""
    fields: list[Cells] = field(default_factory=list)
    """The fields of numbers and truth values."""
    sets: list[Sets] = field(default_factory=list)
    """The fields of sets."""
    queues: list[Queues] = field(default_factory=list)
    """The fields of queues."""
    pairs: int = 0
    """The most elements of a queue of records; 0 if there is no such queue."""

    def text(self) -> str:
        """The declarations in the form of a model file."""
        lines = [f"{name} = {value!r}" for name, value in self.constants.items()]
        for name, members in self.enumerations.items():
            lines += [f"class {name}(IntEnum):", *(f"    {member} = {value}" for member, value in members.items())]
        if self.entries:
            lines += ["class Configuration:", *(f"    {one.name} = {one.text}" for one in self.entries)]
        for space in self.spaces:
            letters = ", letters=True" if space.letters else ""
            lines += [f"class {space.name}(Domain, size={space.declared}{letters}):", "    pass"]
        for name, space in self.subsets.items():
            lines += [f"class {name}(Subset, of={space.name}):", "    pass"]
        if self.pairs:
            lines += ["class Pair(Record):", "    left = field(values=between(0, 2))", "    right = field(values=Flag)"]
        lines.append("class State:")
        for one in self.fields:
            over = "".join(f"{space.name}, " for space in one.over)
            start = f", initially={one.initially}" if one.initially else ""
            lines.append(f"    {one.name} = field({over}values={one.values}{start})")
        held: list[Sets | Queues] = [*self.sets, *self.queues]
        lines += [f"    {one.name} = {one.text}" for one in held]
        lines += [f"    pairs = field(values=Queue(of=Pair, most={self.pairs}))"] if self.pairs else []
        return "\n".join(lines)


WIDE_RANGES = (
    *((-128, 127), (-128, -126), (120, 127), (-129, 1), (0, 128), (-3, 255), (0, 256), (-32768, 32767)),
    *((-32769, 0), (32764, 32768), (0, 65535), (-2, 65536), (-(2**31), 2**31 - 1), (2**31 - 3, 2**31 - 1)),
)
"""Ranges at the ends of numbers of 8, 16 and 32 bits."""


def random_world(chance: random.Random) -> World:
    """Random declarations, with few and small fields."""
    world = World(careless=0.7 if chance.random() < 0.4 else 0.02)
    for name, value in (("LIMIT", chance.randint(-1, 4)), ("WIDE", chance.choice([127, 2**31 - 1, -(2**31)]))):
        if chance.random() < 0.4:
            world.constants[name] = value
    if chance.random() < 0.2:
        world.constants["ALLOWED"] = chance.random() < 0.5
    for name in ("Phase", "Colour")[: chance.choice((0, 1, 1, 2))]:
        first = chance.choice((0, 0, 0, 1, -1))
        members = ("WORKING", "WAITING", "DONE") if name == "Phase" else ("RED", "GREEN", "BLUE")
        world.enumerations[name] = {one: first + at for at, one in enumerate(members[: chance.randint(1, 3)])}
    _entries(chance, world)
    _spaces(chance, world)
    for number in range(chance.choice((2, 3, 3, 4, 4, 5))):
        world.fields.append(_cells(chance, world, f"f{number}" if chance.random() < 0.8 else f"total{number}"))
    return world


def _entries(chance: random.Random, world: World) -> None:
    """Add a few random entries of each kind."""
    more = ['option="--own-{name}"', "is_open=True", "least={least}", "most={most}"]
    for name in ("size", "most", "width")[: chance.choice((1, 1, 2, 3))]:
        default = chance.choice((1, 2, 2, 3))
        chosen = [one for one in more if chance.random() < 0.5]
        options = "".join(f", {one.format(name=name, least=chance.randint(0, 1), most=default + 2)}" for one in chosen)
        text = f'bound({default}, "{name} of something"{options})'
        world.entries.append(Entry(name, "bound", default, default, default, False, text))
    for name in ("crashes", "losses")[: chance.choice((0, 1, 1, 2))]:
        default = chance.randint(0, 2)
        shapes = chance.random() < 0.3
        text = f'budget({default}, "{name} of something"{", shapes=True" if shapes else ""})'
        least, most = (default, default) if shapes else (0, 127)
        world.entries.append(Entry(name, "bound" if shapes else "budget", default, least, most, False, text))
    if chance.random() < 0.5:
        least, most = chance.choice(((0, 3), (-1, 2), (0, 127), (-128, 1), (0, 128), (-32769, 2), (0, 2**31 - 1)))
        default = chance.randint(max(least, -2), min(most, 3))
        text = f'setting({default}, "a setting", least={least}, most={most})'
        world.entries.append(Entry("pace", "setting", default, least, most, False, text))
    for name, members in world.enumerations.items():
        if chance.random() < 0.4:
            kind = chance.choice(("setting", "switch"))
            member, default = chance.choice(list(members.items()))
            values = f", values={name}" if kind == "setting" else ""
            text = f'{kind}({name}.{member}, "a choice"{values})'
            ends = min(members.values()), max(members.values())
            world.entries.append(Entry(f"kind_of_{name.lower()}", kind, default, *ends, False, text))
    if chance.random() < 0.5:
        default = chance.random() < 0.5
        world.entries.append(Entry("strict", "switch", default, 0, 1, True, f'switch({default}, "on or off")'))


def _spaces(chance: random.Random, world: World) -> None:
    """Add one to three random domains, and sometimes the subsets of one."""
    sizes = [one for one in world.entries if one.shapes and one.default > 0]
    for name in ("Node", "Slot", "Item")[: chance.choice((1, 1, 2, 2, 3))]:
        letters = chance.random() < 0.3
        form = chance.choice(("number", "name", "name", "name", "function", "one"))
        if form in ("number", "one") or not sizes:
            size = 1 if form == "one" else chance.choice((2, 2, 3))
            world.spaces.append(Space(name, size, str(size), str(size), letters))
        else:
            entry = chance.choice(sizes)
            if form == "name":
                space = Space(name, entry.default, f'"{entry.name}"', f"s.{entry.name}", letters)
            else:
                declared = f"lambda configuration: configuration.{entry.name} + 1"
                space = Space(name, entry.default + 1, declared, f"s.{entry.name} + 1", letters)
            world.spaces.append(space)
    if chance.random() < 0.05:
        world.spaces.append(Space("Nothing", 0, "0", "0", False))
    small = [space for space in world.spaces if 0 < space.size <= 3]
    if chance.random() < 0.4 and small:
        world.subsets["Some"] = chance.choice(small)


def _cells(chance: random.Random, world: World, name: str) -> Cells:
    """A random field with this name."""
    spaces = [space for space in world.spaces if space.size > 0]
    over = tuple(chance.choice(spaces) for _ in range(chance.choice((0, 0, 0, 1, 1, 1, 2))))
    while _count(over) > 6:
        over = over[1:]
    form = chance.choice(("flag", "flag", "between", "between", "between", "entry", "domain", "optional", "names"))
    bounds = [one for one in world.entries if one.shapes]
    names: tuple[str, ...] = ()
    if form == "names" and world.enumerations:
        kind = chance.choice(list(world.enumerations))
        members = world.enumerations[kind]
        low, high, values = min(members.values()), max(members.values()), kind
        names = tuple(f"{kind}.{member}" for member in members)
    elif form == "entry" and bounds:
        entry = chance.choice(bounds)
        low, high, values = 0, entry.default, f'between(0, "{entry.name}")'
        if chance.random() < 0.3:
            low, high, values = -1, high + 1, f"between(-1, lambda configuration: configuration.{entry.name} + 1)"
    elif form == "domain":
        space = chance.choice(spaces)
        low, high, values = 0, space.size - 1, space.name
    elif form == "optional":
        space = chance.choice(spaces)
        low, high, values = -1, space.size - 1, f"optional({space.name})"
        if chance.random() < 0.4:
            high = chance.randint(0, 2)
            values = f"optional(between(0, {high}))"
    elif form == "flag":
        low, high, values = 0, 1, "Flag"
    else:
        low = chance.choice((0, 0, 0, 0, 1, -1, -2))
        high = low + chance.choice((0, 1, 2, 2, 3, 3, 4))
        if chance.random() < 0.06:
            low, high = chance.choice(WIDE_RANGES)
        values = f"between({low}, {high})"
    first = chance.randint(low, min(high, low + 3)) if chance.random() < 0.4 or low > 0 or high < 0 else 0
    initially = "" if first == 0 else str(first)
    if values == "Flag" and chance.random() < 0.3:
        initially = chance.choice(("True", "False"))
    if values.startswith("optional") and chance.random() < 0.5:
        initially = "NONE"
    if names and first in range(low, high + 1) and chance.random() < 0.5:
        initially = names[first - low]
    return Cells(name, over, low, high, values == "Flag", names, values, initially)


def _count(over: tuple[Space, ...]) -> int:
    count = 1
    for space in over:
        count *= space.size
    return count
