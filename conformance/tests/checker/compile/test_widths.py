"""Cells and settings of 8, 16 and 32 bits: ranges at the edges mean the same to every engine, and cost only what they
need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from conformance.tests.support.small_models import (
    action,
    claim,
    domain,
    entries,
    in_the_language,
    model,
    state,
    write_model,
)
from isrcheck.checker.compile.kernel_code import KernelCode
from isrcheck.checker.compile.layout import layout_of
from isrcheck.checker.compile.staging import new_module
from isrcheck.checker.explicit.carrier import Starts
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Finding, StepPath
from isrcheck.checker.symbolic.bounded_model_checking import ask_to_depth
from isrcheck.conformance.fuzz.compare import compare
from isrcheck.conformance.fuzz.program import Program
from isrcheck.models.language.declarations import CELL_HIGH, CELL_LOW, bytes_of
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import UsageError
from isrcheck.models.registry import load, load_file

EDGES = {
    (-128, 127): 1,
    (-129, 0): 2,
    (0, 128): 2,
    (-1, 255): 2,
    (0, 256): 2,
    (-32768, 32767): 2,
    (-32769, 1): 4,
    (0, 32768): 4,
    (0, 65535): 4,
    (-2, 65536): 4,
    (CELL_LOW, CELL_HIGH): 4,
    (CELL_HIGH - 1, CELL_HIGH): 4,
    (CELL_LOW, CELL_LOW + 1): 4,
}
"""Ranges, and the bytes of each of their cells."""

EDGE = model(
    '"""A counter goes up or down to the ends of its range, and beyond them."""\n',
    "LOW = {low}\nHIGH = {high}\nFIRST = {first}\n",
    entries('limit = setting({first}, "where the counter turns", least={low}, most={high})'),
    domain("Place", 2),
    state(
        "is_odd: Flag",
        "at[Place]: between({low}, {high}), initially={first}",
        "narrow[Place]: between(0, 2)",
        "other: between({low}, {high}), initially={first}",
    ),
    action("goes_up(s, one: Place)", "s.at[one] += 1", "s.is_odd = not s.is_odd", "s.narrow[one] = 1"),
    action(
        "goes_down(s, one: Place)", "require(s.at[one] == s.limit or s.is_odd)", "s.at[one] -= 1", "s.narrow[one] = 2"
    ),
    action(
        "the_other_follows(s, one: Place)",
        "require(s.other != s.at[one])",
        "s.other = min(max(s.at[0], s.other), HIGH)",
        "s.narrow[0] = s.at[one] - s.at[one] + 1",
    ),
    claim("always", "stays_below_the_end(s)", "s.at[0] < HIGH or s.at[1] > LOW"),
    claim(
        "always_step",
        "moves_by_one(before, after)",
        "all(-1 <= after.at[one] - before.at[one] <= 1 for one in range(2)) and after.other - before.other < 2",
    ),
    claim("sometimes", "both_at_the_end(s)", "s.at[0] == s.at[1] == HIGH or s.at[0] == LOW"),
)


def edge(low: int, high: int, first: int) -> str:
    return EDGE.format(low=low, high=high, first=first)


@pytest.fixture
def instance_of(tmp_path: Path) -> Callable[[str], Instance]:
    def build(text: str) -> Instance:
        return load_file(write_model(tmp_path / "edge.py", text)).instance()

    return build


OFTEN = [(-129, 0), (0, 65535), (CELL_LOW, CELL_HIGH)]
"""The ranges that every test run compares."""


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("ends", "size"),
    [
        pytest.param(ends, size, marks=[] if ends in OFTEN else pytest.mark.exhaustive, id=f"{ends[0]}..{ends[1]}")
        for ends, size in EDGES.items()
    ],
)
def test_every_engine_agrees_at_the_ends_of_a_range(ends: tuple[int, int], size: int) -> None:
    """Kernel, careful kernel, threads, formulas, Z3 and proofs against a plain search that shares no code with them."""
    assert bytes_of(*ends) == size
    low, high = ends
    for first in (low, max(low, high - 1)):
        comparison = compare(Program("edge", in_the_language(edge(low, high, first))))
        assert list(map(str, comparison.differences)) == []
        assert comparison.has_errors and comparison.states > 30


def test_values_never_wrap(instance_of: Callable[[str], Instance]) -> None:
    """One step beyond the greatest number of 32 bits is an error of the step, in the explorer and in Z3."""
    instance = instance_of(edge(CELL_LOW, CELL_HIGH, CELL_HIGH))
    limits = Limits(1, 64 << 20)
    assert explore(instance, limits).findings["in_range"].found == Finding(2, StepPath(0, (0,)))
    assert ask_to_depth(instance, limits).findings["in_range"].found.path == StepPath(0, (0,))


@pytest.mark.parametrize(("ends", "size"), EDGES.items(), ids=str)
def test_states_are_packed_without_loss(
    ends: tuple[int, int], size: int, instance_of: Callable[[str], Instance]
) -> None:
    instance = instance_of(edge(*ends, ends[0]))
    layout = layout_of(instance)
    assert [bits.bytes for bits in layout.bits] == [1, size, size, 1, 1, size]
    assert all(bits.byte % bits.bytes == 0 for bits in layout.bits)
    assert layout.setting("limit").bytes == size
    low, high = ends
    for cells in ((0, low, high, 2, 0, low), (1, high, low, 0, 2, high)):
        assert layout.unpack(layout.pack(cells).tolist()) == cells
        assert layout.pack_rows(np.array([cells], layout.kind)).tolist() == [layout.pack(cells).tolist()]
    assert Starts.initial(instance).cells.tolist() == [[0, ends[0], ends[0], 0, 0, ends[0]]]


def test_a_range_needs_only_its_bits(instance_of: Callable[[str], Instance]) -> None:
    """70,000 to 70,003 takes two bits of a packed state, as 0 to 3 does."""
    widths = [bits.width for bits in layout_of(instance_of(edge(70_000, 70_003, 70_000))).bits]
    assert widths == [1, 2, 2, 2, 2, 2]


def narrow_layout(instance: Instance) -> Sequence[tuple[int, int, int, int, int]]:
    """The places of cells of one byte, as they were before there were wider ones."""
    settings = sum(not entry.is_bound for entry in instance.model.entries.values())
    first = -(-(8 + settings + len(instance.model.actions)) // 8) * 8
    places, word, used = [], 0, 0
    for place in instance.layouts.values():
        for _ in range(place.count):
            width = (place.high - place.low).bit_length()
            if used + width > 64:
                word, used = word + 1, 0
            places.append((word, used, width, place.low, first + len(places)))
            used += width
    return places


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["kafka/2.1", "kafka/4.1", "published/kip_320", "transactions", "exactly_once"])
def test_narrow_models_pay_nothing_for_wide_cells(name: str) -> None:
    model, protocol = load(name)
    instance = model.instance(protocol or next(iter(model.protocols)))
    layout = layout_of(instance)
    places = [(bits.word, bits.shift, bits.width, bits.low, bits.byte) for bits in layout.bits]
    assert places == narrow_layout(instance)
    assert layout.size == layout.first_cell + -(-(instance.cells + 7) // 8) * 8
    with new_module() as built:
        KernelCode(built, instance, layout).build()
        assembly = built.assembly()
    assert "sext i8 " in assembly and not any(f"sext {wide} " in assembly for wide in ("i16", "i32"))
    assert " to i8\n" in assembly and " to i16\n" not in assembly


@pytest.mark.parametrize(("low", "high"), [(CELL_LOW - 1, 0), (0, CELL_HIGH + 1)])
def test_wider_ranges_are_refused(low: int, high: int, instance_of: Callable[[str], Instance]) -> None:
    where = f"-{2**31}..{2**31 - 1}"
    text = edge(0, 3, 0).replace("values=between(0, 3), initially=0)\n\n", f"values=between({low}, {high}))\n\n")
    with pytest.raises(UsageError) as refusal:
        assert instance_of(text).layouts
    assert str(refusal.value) == f"field other would hold {low}..{high}: a cell holds {where}; use smaller bounds"
    with pytest.raises(UsageError) as refusal:
        instance_of(edge(0, 3, 0).replace("least=0, most=3", f"least={min(low, 0)}, most={high}"))
    says = f"{min(low, 0)}..{high} is too wide for a setting; give a range within {where}"
    assert says in str(refusal.value)


COUNTER = model(
    '"""A counter of so many numbers that a formula with a literal for each would be hopeless."""\n',
    entries('leaps = budget(300, "long steps", most=1000)'),
    state("count: between(0, 2000000000)", "leaps_left: between(0, 1000), initially=1000"),
    action("leaps_far(s)", "require(1000 - s.leaps_left < s.leaps)", "s.count += 299999999", "s.leaps_left -= 1"),
    action("goes_on(s)", "require(s.count > 0)", "s.count += 1"),
    claim("always", "is_never_there(s)", "s.count != 600000001"),
)


FEW_NODES = 10_000
"""With a literal for each number, a formula would have two billion nodes."""


def test_wide_numbers_are_no_obstacle_to_z3(instance_of: Callable[[str], Instance]) -> None:
    instance, limits = instance_of(COUNTER), Limits(6, 64 << 20)
    answer = ask_to_depth(instance, limits)
    for result in (answer, explore(instance, limits)):
        assert result.findings["is_never_there"].found.path == StepPath(0, (0, 0, 1, 1, 1))
    assert answer.nodes < FEW_NODES
