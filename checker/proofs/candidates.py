"""Proposes lemmas: relations between fields that hold in all sampled reachable states.

In:  a `BoundedSystem`, and states that the explorer has reached.
Out: candidate lemmas, each with its literal, that hold in all these states. checker/proofs/prove.py finds out which of
     them are inductive.

A candidate relates two fields with the same indices, or a field and a single cell: `a == x implies b == y`, `not both a
== x and b == y`, or `a <= b`. Further candidates are `always a == x` and `never a == x`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.proofs.induction import BoundedSystem
from isrcheck.checker.symbolic.and_inverter_graph import AndInverterGraph
from isrcheck.checker.symbolic.symbolic_state import Value
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.run import Cells

MOST_VALUES = 5
"""Fields with more values than this are compared only by `<=`."""

MOST_CANDIDATES = 6000
"""With more candidates than this, none is proposed: such a large model needs declared lemmas."""

Truths = NDArray[np.bool_]
"""For each sampled state and each index, whether an atom (`_Atom`) is true."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A lemma that may hold: its text, and the literal that it holds before a step."""

    name: str
    literal: int


@dataclass(frozen=True, eq=False)
class _Atom:
    """`field == value` at every index of a field: its text, its literals, and where it is true in the sample."""

    text: str
    place: FieldLayout
    literals: Sequence[int]
    truths: Truths


def candidates(system: BoundedSystem, sample: Sequence[Cells]) -> list[Candidate]:
    """All candidates that are true in every state of the sample; none if there are more than MOST_CANDIDATES."""
    if not sample:
        return []
    states = np.array(sample, np.int64)
    atoms = list(_atoms(system, states))
    found = [*_constants(system, atoms)]
    for one, other in itertools.permutations(atoms, 2):
        over, others = one.place.field.over, other.place.field.over
        if one.place is other.place or not (over == others or over == () or others == ()):
            continue
        found += _implications(system.circuit, one, other)
        if len(found) > MOST_CANDIDATES:
            return []
    found += _orders(system, states)
    return found if len(found) <= MOST_CANDIDATES else []


def _atoms(system: BoundedSystem, states: NDArray[np.int64]) -> Iterator[_Atom]:
    arithmetic, evaluator = system.relation.arithmetic, system.relation.evaluator
    for place in system.instance.layouts.values():
        if place.high - place.low >= MOST_VALUES or not place.count:
            continue
        values = [1] if place.field.values.is_flag else range(place.low, place.high + 1)
        cells = range(place.offset, place.offset + place.count)
        for value in values:
            befores: list[Value] = [system.relation.before[cell] for cell in cells]
            if place.field.values.is_flag:
                literals = [evaluator.truth(before) for before in befores]
            else:
                literals = [arithmetic.is_element(before, value) for before in befores]
            text = place.name if place.field.values.is_flag else f"{place.name} == {place.spell(value)}"
            yield _Atom(text, place, literals, states[:, place.offset : place.offset + place.count] == value)


def _constants(system: BoundedSystem, atoms: Sequence[_Atom]) -> Iterator[Candidate]:
    for atom in atoms:
        if atom.truths.all():
            yield Candidate(f"always {atom.text}", system.circuit.all(atom.literals))
        elif not atom.truths.any():
            yield Candidate(f"never {atom.text}", system.circuit.all(-literal for literal in atom.literals))


def _implications(circuit: AndInverterGraph, one: _Atom, other: _Atom) -> Iterator[Candidate]:
    if one.truths.all() or not one.truths.any() or other.truths.all() or not other.truths.any():
        return  # constants are candidates already
    # A single cell is paired with every cell of the other field.
    count = max(one.place.count, other.place.count)
    mine, theirs = (list(atom.literals) * (count // atom.place.count) for atom in (one, other))
    pairs = list(zip(mine, theirs, strict=True))
    if not (one.truths & ~other.truths).any():
        text = f"{one.text} implies {other.text}"
        yield Candidate(text, circuit.all(circuit.either(-a, b) for a, b in pairs))
    if not (one.truths & other.truths).any() and (one.place.name, one.text) < (other.place.name, other.text):
        yield Candidate(f"not both {one.text} and {other.text}", circuit.all(circuit.either(-a, -b) for a, b in pairs))


def _orders(system: BoundedSystem, states: NDArray[np.int64]) -> Iterator[Candidate]:
    places = [p for p in system.instance.layouts.values() if not p.field.values.is_flag and not p.field.values.names]
    for one, other in itertools.permutations(places, 2):
        if one.field.over != other.field.over or not one.count:
            continue
        mine, theirs = (states[:, p.offset : p.offset + p.count] for p in (one, other))
        if (mine <= theirs).all():
            literals = [
                system.relation.evaluator.compare(
                    "<=", system.relation.before[one.offset + at], system.relation.before[other.offset + at]
                )
                for at in range(one.count)
            ]
            yield Candidate(f"{one.name} <= {other.name}", system.circuit.all(literals))
