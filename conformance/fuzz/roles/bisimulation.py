"""Whether two states that differ only in dead cells behave alike, which is why a search may clear these cells.

In:  an `Instance`, and states of it.
Out: the first difference between a state and one with other values in its dead cells: in a step, or in a judgement.

The claim of checker/reductions/find.py is about all states, so it is tested in random ones, too, by plain Python alone:
no kernel is compiled. Whether kernels clear what they should is compared elsewhere (fuzz/compare.py).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from isrcheck.checker.reductions.find import dead_cells
from isrcheck.checker.reductions.reduction import Clearing
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.messages import ModelError
from isrcheck.models.run import Cells

SAMPLE = 12
"""The number of random states."""

MOST_STEPS = 100
"""The limit on the steps that are tried in each state."""


def dead_in(clearings: Sequence[Clearing], cells: Cells) -> set[int]:
    """The positions of the dead cells of a state: also of those whose guard cell is dead itself."""
    dead: set[int] = set()
    before = None
    while before != len(dead):
        before = len(dead)
        for one in clearings:
            if one.guard is None or one.guard in dead or cells[one.guard] in one.values:
                dead.update(position for position, _ in one.cells)
    return dead


def alive(clearings: Sequence[Clearing], cells: Cells) -> Cells:
    """The state with -1000 in its dead cells: equal for states that differ only there."""
    dead = dead_in(clearings, cells)
    return tuple(-1000 if position in dead else value for position, value in enumerate(cells))


def random_states(instance: Instance, chance: random.Random) -> Iterator[Cells]:
    """States with any values in their cells."""
    ranges = [(one.low, one.high) for one in instance.layouts.values() for _ in range(one.count)]
    for _ in range(SAMPLE):
        yield tuple(chance.randint(*one) for one in ranges)


def difference(instance: Instance, states: Iterable[Cells], chance: random.Random) -> str:
    """The first difference between what two states do that differ only in dead cells; empty if they agree."""
    clearings = dead_cells(instance)
    contents = (layout.field.contents for layout in instance.layouts.values())
    if not clearings or any(one is not None and one.filler is not None for one in contents):
        return ""  # plain Python's queues have no gaps, which any values may make
    lows = {position: value for one in clearings for position, value in one.cells}
    highs = {
        layout.offset + number: layout.high for layout in instance.layouts.values() for number in range(layout.count)
    }
    steps = chance.sample(instance.steps, min(MOST_STEPS, len(instance.steps)))
    for cells in states:
        dead = dead_in(clearings, cells)
        other = tuple(
            chance.randint(lows[position], highs[position]) if position in dead else value
            for position, value in enumerate(cells)
        )
        for what, ours, theirs in _answers(instance, clearings, cells, other, steps):
            if ours != theirs:
                return f"{what} from {cells} and {other}: {ours}, {theirs}"
    return ""


def _answers(
    instance: Instance, clearings: Sequence[Clearing], cells: Cells, other: Cells, steps: Sequence[Step]
) -> Iterator[tuple[str, object, object]]:
    """What both states answer to each question."""
    pair = cells, other
    for prop in instance.properties:
        for what, ask in (("", run.holds), (" is permitted", run.is_permitted)):
            if not prop.of_steps or ask is run.is_permitted:
                ours, theirs = (_answer(ask, instance, prop, one) for one in pair)
                yield f"{prop.name}{what}", ours, theirs
    for what, judge in (("the end", run.is_terminal), ("the constraint", run.is_within)):
        yield what, _answer(judge, instance, cells), _answer(judge, instance, other)
    for step in steps:
        after = [_answer(run.take, instance, one, step) for one in pair]
        ours, theirs = (alive(clearings, one) if isinstance(one, tuple) else one for one in after)
        yield instance.spell_step(step), ours, theirs
        if not all(isinstance(one, tuple) for one in after):
            continue
        for prop in instance.properties:
            if prop.of_steps:
                ours, theirs = (
                    _answer(run.holds_step, instance, prop, before, step, then)
                    for before, then in zip(pair, after, strict=True)
                )
                yield f"{prop.name} of {instance.spell_step(step)}", ours, theirs


def _answer(question: Callable[..., object], *arguments: object) -> object:
    """What a call returns, or a word if it leaves a declared range."""
    try:
        return question(*arguments)
    except ModelError:
        return "out of range"
