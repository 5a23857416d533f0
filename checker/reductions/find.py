"""Finds the reduction of a search: which elements can be exchanged, and which cells are dead.

In:  an `Instance`, and what the user asks for.
Out: a `Reduction`; or the reasons why there is none.

Two elements of a sort (checker/reductions/sorts.py) can be exchanged if no constant names one of them, and if that maps
the set of initial states to itself. The first condition makes the reduced search right; the second one makes the count
right: the sizes of the orbits of the states that it visits sum up to the number of states without reduction.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from math import factorial, prod
from pathlib import Path

import numpy as np

from isrcheck.checker.reductions.clearing import Clearing
from isrcheck.checker.reductions.dead import dead_cells
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.checker.reductions.sorts import Sort, Sorts
from isrcheck.checker.reductions.symmetry import Block, Cell, Symmetry, place_in
from isrcheck.checker.resources.cache import cache_folder, can_keep, keep, kept
from isrcheck.checker.resources.engine_digest import engine_digest
from isrcheck.models.language.declarations import WHOLE, Domain, Queue, Subset
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import LanguageError, UsageError

MOST_PERMUTATIONS = 5040
"""The largest group: in a state whose elements look alike, all permutations are tried."""


def reduction_of(
    instance: Instance, *, symmetry: bool = False, dead: bool = True, whole: str = ""
) -> tuple[Reduction | None, str]:
    """The reduction of a search; and if the model declares symmetric domains that it cannot use, why, for a report.

    `symmetry` asks for all symmetric domains; without it, those count that the model declares. Dead cells are cleared
    if `dead`. `whole` says why the search has to visit every state (empty: it need not). Raises LanguageError,
    UsageError.
    """
    permuted, says = _symmetry(instance, symmetry, whole)
    # Liveness tells apart whether a step changes anything; of what stays possible, the stuck states are counted.
    is_graph = any(prop.kind in WHOLE for prop in instance.properties)
    clearings = dead_cells(instance) if dead and not whole and not is_graph else ()
    found = Reduction(permuted, tuple(one for one in clearings if not _is_moved(one, permuted)))
    return found if found != Reduction() else None, says


Found = tuple[Reduction | None, str]
"""A reduction; and if the model declares symmetric domains that it cannot use, why."""


def kept_or_found(instance: Instance, asked: str, find: Callable[[], Found], is_whole: Callable[[], bool]) -> Found:
    """What `find` returns, from the cache if an earlier run has asked for it: to read the whole text of a model takes
    longer than a small search.

    `asked` says in words what is asked for. What was found is kept only if it `is_whole`: not if the time has ended.
    """
    content = hashlib.sha256(f"{instance.digest}\0{asked}\0{engine_digest()}\0{sys.version}".encode())
    # The digest of a model leaves out which domains are symmetric, and where its text stands, which a symmetry names.
    for file, name in sorted(instance.model.sources.items()):
        content.update(f"{name}\0".encode() + Path(file).read_bytes() + b"\0")
    path = cache_folder() / "reductions" / f"{content.hexdigest()[:32]}.pickle"
    known = kept(path)
    if known is not None:
        found: Found = pickle.loads(known)  # noqa: S301 - the cache is private; it holds code that is run
        return found
    found = find()
    if is_whole() and can_keep(path):
        keep(path, pickle.dumps(found))
    return found


def _is_moved(clearing: Clearing, symmetry: Symmetry | None) -> bool:
    """Whether cells are cleared to an element that is then exchanged with others, so that this would make states more
    that are alike."""
    if symmetry is None:
        return False
    moved = {(block.sort, element) for block in symmetry.blocks for element in block.elements}
    sorts = {cell.position: cell.value for cell in symmetry.cells}
    return any((sorts[position], value) in moved for position, value in clearing.cells)


def _symmetry(instance: Instance, is_asked: bool, whole: str) -> tuple[Symmetry | None, str]:
    """The symmetry that a search uses; if it cannot use what there is, why not."""
    if not is_asked and not any(domain.symmetric for domain in _domains(instance)):
        return None, ""
    found = symmetry_of(instance, declared=not is_asked)
    if found is None:
        return None, ""
    possible = [prop.name for prop in instance.properties if prop.kind in WHOLE]
    if possible and not whole:
        whole = f"{', '.join(possible)} is judged on the graph of all states"
    if instance.model.constraints and not whole:
        whole = "a @constraint decides which states are kept"
    return (None, f"no symmetry: {whole}") if whole else (found, "")


def _domains(instance: Instance) -> Iterator[type[Domain]]:
    """The domains of the fields' indices and of the actions' parameters."""
    for field in instance.model.fields.values():
        yield from field.over
    for action in instance.model.actions:
        for parameter in action.parameters:
            assert parameter.domain is not None
            yield parameter.domain.of if issubclass(parameter.domain, Subset) else parameter.domain


def symmetry_of(instance: Instance, *, declared: bool = False) -> Symmetry | None:
    """The symmetry of an instance; None if no two elements can be exchanged.

    With `declared`, only domains that the model declares as symmetric count. Raises LanguageError if such a domain is
    not symmetric, and UsageError, with the reasons, if `declared` is false and no domain is.
    """
    sorts = Sorts(instance)
    for domain, reason in sorts.asymmetric.items():
        if domain.symmetric:
            raise LanguageError(
                f"{reason}; so the elements of {domain.__name__} are not alike: leave symmetric=True out, or compare"
                " them only with == and !="
            )
    chosen = [one for one in sorts.symmetric if not declared or any(domain.symmetric for domain in one.domains)]
    found = Symmetry(
        (), tuple(one.size for one in chosen), tuple(_cells(instance, chosen)), (), frozenset(), frozenset()
    )
    blocks = _small([block for number, one in enumerate(chosen) for block in _blocks(instance, found, number, one)])
    if not blocks:
        if declared:
            return None
        queues = [one.contents.axis for one in instance.model.fields.values() if isinstance(one.contents, Queue)]
        told = {domain: why for domain, why in sorts.asymmetric.items() if domain not in queues}
        reasons = "; ".join(f"{domain.__name__}: {why}" for domain, why in told.items())
        reasons = f" ({reasons})" if reasons else ""
        raise UsageError(f"--symmetry: {instance.model.name} has no two elements that can be exchanged{reasons}")
    arguments, sources = tuple(_arguments(instance, chosen)), instance.model.sources
    several = sorts.unordered, sorts.over_configured_ranges(chosen)
    places = (frozenset(place_in(sources, one) for one in nodes) for nodes in several)
    return Symmetry(tuple(blocks), found.sizes, found.cells, arguments, *places)


def _number(domain: type[Domain], chosen: Sequence[Sort]) -> int | None:
    return next((number for number, one in enumerate(chosen) if domain in one.domains), None)


def _cells(instance: Instance, chosen: Sequence[Sort]) -> Iterator[Cell]:
    for name, layout in instance.layouts.items():
        axes = tuple(_number(domain, chosen) for domain in layout.field.over)
        value = next((number for number, one in enumerate(chosen) if name in one.fields), None)
        for position, indices in enumerate(layout.indices(), layout.offset):
            yield Cell(name, position, indices, axes, value)


def _arguments(instance: Instance, chosen: Sequence[Sort]) -> Iterator[tuple[tuple[int | None, bool], ...]]:
    for action in instance.model.actions:
        found: list[tuple[int | None, bool]] = []
        for parameter in action.parameters:
            assert parameter.domain is not None
            if issubclass(parameter.domain, Subset):
                found.append((_number(parameter.domain.of, chosen), True))
            else:
                found.append((_number(parameter.domain, chosen), False))
        yield tuple(found)


def _blocks(instance: Instance, symmetry: Symmetry, number: int, sort: Sort) -> Iterator[Block]:
    """The blocks of a sort: being exchangeable is an equivalence relation."""
    states = instance.initial_states
    rows = np.array(list(states), np.int64).reshape(len(states), instance.cells)
    known = {row.tobytes() for row in rows}
    left = [element for element in range(sort.size) if element not in sort.fixed]
    while left:
        first, *others = left
        block = [first]
        for other in others:
            images = [list(one) for one in symmetry.identity]
            images[number][first], images[number][other] = other, first
            if known >= {row.tobytes() for row in symmetry.rows_permuted(rows, tuple(map(tuple, images)))}:
                block.append(other)
        left = [element for element in left if element not in block]
        if len(block) > 1:
            yield Block(number, sort.name, tuple(block))


def _small(blocks: list[Block]) -> list[Block]:
    """The blocks without so many elements that the group is too large."""
    while prod(factorial(len(block.elements)) for block in blocks) > MOST_PERMUTATIONS:
        largest = max(range(len(blocks)), key=lambda number: len(blocks[number].elements))
        block = blocks[largest]
        blocks[largest] = Block(block.sort, block.name, block.elements[:-1])
    return blocks
