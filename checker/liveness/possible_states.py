"""Finds the stuck states of an `always_possible` property: no path leads from them to one in which it is true.

In:  every reachable state.
Out: the stuck states.

A state is possible if the property is true in it, or if a step leads from it to a possible state. The search stores no
transitions. So the states that are not known to be possible are expanded again, the last ones first: then most of them
have a successor that is known to be possible. The transitions of the others are kept, and followed backward.

A property that cannot be evaluated in a state counts as true there, so that no state is called stuck by mistake.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.liveness.reachable import Marks, Numbers, Reachable
from isrcheck.checker.results.kernel_results import EntryKind, judgement

CHUNK = 1 << 14
"""The most states that are expanded before it is looked which of the others became possible."""

BYTES_OF_TRANSITION = 32
"""The memory that a kept transition needs while transitions are sorted."""

JUDGED_KINDS = (EntryKind.FOUND, EntryKind.PERMITTED)


def stuck_states(reachable: Reachable, number: int) -> dict[EntryKind, Numbers]:
    """The stuck states for property `number`: those that violate it, and those where this is permitted. Raises
    LimitError."""
    judged = reachable.judged(number)
    possible = (judged == 0) | (judged == judgement(EntryKind.ERRED))
    _spread(reachable, possible)
    return {kind: np.flatnonzero(~possible & (judged == judgement(kind))) for kind in JUDGED_KINDS}


def _spread(reachable: Reachable, possible: Marks) -> None:
    """Mark every state from which a path leads to a marked state. Raises LimitError."""
    sources: list[NDArray[np.uint32]] = []
    targets: list[NDArray[np.uint32]] = []
    kept = 0
    for low in reversed(range(0, reachable.count, CHUNK)):
        reachable.look_at_the_clock()
        waiting = low + np.flatnonzero(~possible[low : low + CHUNK])
        for source, _, target in reachable.transitions(waiting):
            possible[source[possible[target]]] = True
            is_open = ~possible[source]
            sources.append(source[is_open].astype(np.uint32))
            targets.append(target[is_open].astype(np.uint32))
            kept += len(sources[-1])
        reachable.refuse_memory(2 * reachable.count + BYTES_OF_TRANSITION * kept)
    if kept:
        spread_backward(possible, np.concatenate(sources), np.concatenate(targets))


def spread_backward(possible: Marks, sources: NDArray[np.uint32], targets: NDArray[np.uint32]) -> None:
    """Mark every state from which these transitions lead to a marked state: a breadth-first search against them."""
    order = np.argsort(targets, kind="stable")
    sources, targets = sources[order], targets[order]
    reached = np.unique(targets[possible[targets]])
    while len(reached):
        firsts, lasts = (np.searchsorted(targets, reached, side) for side in ("left", "right"))
        sizes = lasts - firsts
        # The places firsts[k], ..., lasts[k] - 1 for every k, one after the other.
        places = np.arange(sizes.sum()) + np.repeat(firsts - (np.cumsum(sizes) - sizes), sizes)
        before = sources[places]
        reached = np.unique(before[~possible[before]])
        possible[reached] = True
