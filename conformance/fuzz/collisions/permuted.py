"""Whether a state and its permutations behave alike, which is why a search may visit one of them only.

In:  an `Instance`, its `Symmetry`, the plain system of the same program, and states.
Out: the first difference between a state and a permutation of it: in a step, or in a judgement.

The claim of checker/reductions/sorts.py is about all states, so it is tested in random ones, too, by plain Python
alone: no kernel is compiled. What leaves a declared range is not compared, because a fold stops at the element that
decides it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from isrcheck.checker.reductions.reduction import Permutation, Symmetry
from isrcheck.conformance.fuzz.plain_search import OutOfRange, PlainSystem, Step
from isrcheck.models.language.model import Instance
from isrcheck.models.run import Cells

MOST_STEPS = 40
"""The limit on the steps that are tried in each state."""

FEW_PERMUTATIONS = 3
"""The permutations of each state that are tried."""


def permuted_differs(
    instance: Instance, system: PlainSystem, symmetry: Symmetry, states: Iterable[Cells], chance: random.Random
) -> str:
    """What a state and one of its permutations do differently; empty if nothing is found."""
    permutations = [images for images in symmetry.permutations if images != symmetry.identity]
    by_number = {step.number: step for step in system.steps}
    numbers = chance.sample(sorted(by_number), min(MOST_STEPS, len(by_number)))
    for cells in states:
        for images in chance.sample(permutations, min(FEW_PERMUTATIONS, len(permutations))):
            other = symmetry.permuted(cells, images)
            steps = [(by_number[one], by_number[symmetry.step(instance, one, images)]) for one in numbers]
            for what, ours, theirs in _answers(system, symmetry, (cells, other), images, steps):
                if None not in (ours, theirs) and ours != theirs:
                    return f"{what} from {cells} and {other}: {ours}, {theirs}"
    return ""


def _answers(
    system: PlainSystem,
    symmetry: Symmetry,
    pair: tuple[Cells, Cells],
    images: Permutation,
    steps: Iterable[tuple[Step, Step]],
) -> Iterator[tuple[str, object, object]]:
    """What both states answer to each question; None where a declared range is left."""
    asked = [one for one in (*system.properties, *system.endless) if one.applies]
    for prop in asked:
        if not prop.of_steps:
            ours, theirs = (_answer(system.ask, prop, [cells], None) for cells in pair)
            yield prop.name, ours, theirs
    for both in steps:
        after = [_answer(_taken, system, cells, step) for cells, step in zip(pair, both, strict=True)]
        name, (ours, theirs) = f"{both[0].action}{both[0].arguments}", after
        mapped = symmetry.permuted(ours, images) if isinstance(ours, tuple) and ours else ours
        yield name, mapped, theirs
        if not all(isinstance(one, tuple) and one for one in after):
            continue
        for prop in asked:
            if prop.of_steps:
                ours, theirs = (
                    _answer(system.ask, prop, [before, then], step.action)
                    for before, then, step in zip(pair, after, both, strict=True)
                )
                yield f"{prop.name} of {name}", ours, theirs


def _taken(system: PlainSystem, cells: Cells, step: Step) -> Cells:
    """The state after a step; empty if the step is not enabled."""
    return system.take(cells, step) or ()


def _answer(question: object, *given: object) -> object:
    """What a call returns; None if it leaves a declared range."""
    assert callable(question)
    try:
        return question(*given)
    except OutOfRange:
        return None
