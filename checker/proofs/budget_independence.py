"""Budget independence: finds the budgets (limits of the number of faults) on which a proof does not depend.

A proof that does not depend on a budget holds for any number of the budget's faults. A proof is independent of a budget
if the budget determines only the initial value and the range of its own counter, no claim (property or lemma) reads
this counter, and actions only require that the counter is above 0 and decrement it. A lemma may be declared for some
budgets only (`applies=`); this does not matter, because the proof shows that the lemma is true.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from functools import cache

from isrcheck.checker.resources.cache import cache_folder, engine_digest, kept_or_made
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import increase, routines, visit
from isrcheck.models.language.model import Instance, Property
from isrcheck.models.messages import UsageError

MOST_STARTS = 10_000
"""The most initial states for which the effect of a budget on them is examined; with more, every proof counts as
dependent on the budget."""


def independent_budgets(instance: Instance, claims: Sequence[Property]) -> list[str]:
    """The names of the budgets above 0 on which a proof of `claims` does not depend; none if there is a @constraint."""
    if instance.model.constraints:
        return []
    actions = [instance.function(slot) for slot in range(len(instance.model.actions))]
    of_actions = list(routines(function.routine for function in actions if function is not None))
    of_claims = list(routines(claim.function.routine for claim in claims))
    settings = frozenset[str]().union(*map(_settings, (*of_actions, *of_claims)))
    read = frozenset(name for claim in claims for name in claim.function.routine.reads)

    def is_independent(name: str) -> bool:
        fields = _started_by(instance, name) if getattr(instance.configuration, name) else None
        if fields is None or name in settings or fields & read:
            return False
        return all(_only_counts_down(routine, field) for routine in of_actions for field in fields)

    entries = instance.model.entries.items()
    return [name for name, entry in entries if entry.is_budget and not entry.is_bound and is_independent(name)]


@cache
def _settings(routine: ir.Routine) -> frozenset[str]:
    return frozenset(node.entry for node in visit(routine.body) if isinstance(node, ir.Setting))


@cache
def _started_by(instance: Instance, name: str) -> frozenset[str] | None:
    """Return what `_compare_starts` returns, from the cache if possible: that function makes many instances."""
    key = hashlib.sha256(f"{name} {instance.digest} {engine_digest()} {sys.version}".encode()).hexdigest()[:32]
    path = cache_folder() / "budgets" / f"{key}.json"

    def compared() -> bytes:
        fields = _compare_starts(instance, name)
        return json.dumps(None if fields is None else sorted(fields)).encode()

    stored = json.loads(kept_or_made(path, compared))
    return None if stored is None else frozenset(stored)


def _compare_starts(instance: Instance, name: str) -> frozenset[str] | None:
    """The fields whose initial value or range depends on a budget; None if the budget may change anything else."""
    values = dict(instance.configuration.items())
    sizes = {field: place.sizes for field, place in instance.layouts.items()}
    dependent: set[str] = set()
    entry = instance.model.entries[name]
    assert entry.most is not None, "a budget whose size is no bound needs a greatest value"
    if len(instance.initial_states) > MOST_STARTS:
        return None
    # The widest ranges first, so that the analysis of narrower ones is reused (models/language/intervals.py).
    for budget in reversed(range(entry.least, entry.most + 1)):
        try:
            other = instance.model.instance(instance.protocol.name or None, {**values, name: budget}, instance.swaps)
            states = list(zip(instance.initial_states, other.initial_states, strict=True))
        except (UsageError, ValueError):
            return None
        other_sizes = {field: place.sizes for field, place in other.layouts.items()}
        if (sizes, instance.first_steps, instance.sizes) != (other_sizes, other.first_steps, other.sizes):
            return None
        for place in instance.layouts.values():
            cells = slice(place.offset, place.offset + place.count)
            ends, other_ends = ((each.low, each.high) for each in (place, other.layouts[place.name]))
            if ends != other_ends or any(one[cells] != two[cells] for one, two in states):
                dependent.add(place.name)
    return frozenset(dependent)


def _only_counts_down(routine: ir.Routine, field: str) -> bool:
    """Whether a function uses a field only in `require(... s.field > 0 ...)` and in at most one `s.field -= 1`. Then a
    step has the same effect for every value of the field above 0, because guards precede writes."""
    is_action = routine.mark is not None and routine.mark.kind is Kind.ACTION
    allowed: set[ir.Node] = set()
    for statement in routine.body:
        match statement:
            case ir.Require():
                for node in visit([statement]):
                    match node:
                        case ir.Compare(ir.Cell(indices=()) as cell, ir.Sign.GREATER, ir.Constant(0)):
                            allowed.add(cell)
            case ir.Store(ir.Cell(indices=()) as cell) if is_action and (total := increase(statement)) is not None:
                match total.terms:
                    case (ir.Term(old), ir.Term(ir.Constant(1), True)):
                        allowed.update((cell, old))
    uses = [node for node in visit(routine.body) if isinstance(node, ir.Cell) and node.field == field]
    stores = [node for node in visit(routine.body) if isinstance(node, ir.Store) and node.cell.field == field]
    return len(stores) <= 1 and allowed.issuperset(uses)
