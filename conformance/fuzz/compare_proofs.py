"""Compares proofs with exhaustive searches: a proved property and its premises have to hold in every reachable state.

In:  an instance of which the plain search has found all reachable states.
Out: a difference, or None; and the number of proofs.
"""

from __future__ import annotations

from collections.abc import Sequence

from isrcheck.checker.proofs.budget_independence import independent_budgets
from isrcheck.checker.proofs.prove import prove
from isrcheck.checker.results.proofs import Phase, Proof, Proofs
from isrcheck.conformance.fuzz.plain_search import ERROR, PlainFinding, PlainProperty, PlainSearch, PlainSystem, search
from isrcheck.conformance.fuzz.program import Program
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance, Model
from isrcheck.models.messages import UsageError

SECONDS = 1.0
"""The time limit of each phase of the prover; proofs that take longer are not compared."""

MOST_VALUES = 30
"""The limit on the values of all cells of a state together, above which k-induction is not tried."""

OTHER_SIZES = 4
"""The number of other configurations on which a proof for every length is tested."""

MOST_STATES = 400

Result = tuple[tuple[str, str] | None, int]


def proofs_differ(
    program: Program, model: Model, instance: Instance, system: PlainSystem, plain: PlainSearch
) -> Result:
    """The first false proof as (kind, details), or None; and the number of proofs."""
    claims = [*system.properties, *system.lemmas]
    full = search(system, 1 << 30, 1 << 30, [one for one in claims if one.kind != "sometimes"])
    false = _failing(full)
    properties = [prop for prop in instance.properties if prop.kind is not Kind.SOMETIMES]
    sample = sorted(plain.paths)[:50]
    # The prover is not given the failures: it has to find them.
    known = Proofs()
    count = 0
    is_small = sum(layout.count * (layout.high - layout.low + 1) for layout in instance.layouts.values()) <= MOST_VALUES
    for phase in Phase if is_small else (Phase.EVERY_LENGTH, Phase.WITHIN_BOUNDS):
        found = prove(instance, properties, phase, known=known, sample=sample, seconds=SECONDS)
        for proof in found.proofs.values():
            count += 1
            difference = _differs(program, model, instance, full, false, proof)
            if difference is not None:
                return difference, count
        known = known.joined(found)
    return None, count


def _failing(result: PlainSearch) -> dict[str, PlainFinding]:
    found = {}
    for name, one in result.found.items():
        broken = [each for each in (one, result.permitted[name]) if each.count]
        if broken:
            found[name] = broken[0]
    return found


def _differs(
    program: Program,
    model: Model,
    instance: Instance,
    full: PlainSearch,
    false: dict[str, PlainFinding],
    proof: Proof,
) -> tuple[str, str] | None:
    if proof.prop.name == ERROR:
        return _leaves_declaration(instance, full)
    names = [proof.prop.name, *(name for name in proof.lemmas if name != ERROR)]
    how = "for every length" if proof.every_length else f"by {proof.steps}-induction"
    for name in names:
        if name in false:
            what = "is proved" if name == proof.prop.name else f"is a premise of {proof.prop.name}"
            return f"a false claim is proved {how}", f"{name} {what}, and fails at {false[name].path}"
    free = _free(model, instance, proof)
    for values in _other_values(model, instance, free):
        difference = _at_other_values(program, model, instance, values, proof, names, how)
        if difference is not None:
            return difference
    return None


def _leaves_declaration(instance: Instance, full: PlainSearch) -> tuple[str, str] | None:
    """The difference if the prover excludes range errors, but the search found one, other than in a lemma."""
    erring = [full.erring, *(full.unjudged[prop.name] for prop in instance.properties if prop.name in full.unjudged)]
    found = [one.path for one in erring if one.count]
    return ("proofs: no declared range is left", f"it is, at {found[0]}") if found else None


def _free(model: Model, instance: Instance, proof: Proof) -> list[str]:
    """The configuration entries whose values do not matter to a proof, as the prover claims."""
    if proof.every_length:
        return [name for name, entry in model.entries.items() if entry.is_open]
    by_name = {claim.name: claim for claim in (*instance.properties, *instance.lemmas)}
    declared = [by_name[name] for name in proof.lemmas if name in by_name]
    is_known = len(declared) == len(proof.lemmas) and proof.steps == 1
    return independent_budgets(instance, [proof.prop, *declared]) if is_known else []


def _other_values(model: Model, instance: Instance, free: Sequence[str]) -> list[dict[str, int]]:
    """Configurations that differ from that of the instance in these entries only."""
    found = []
    for shift in range(1, OTHER_SIZES + 1) if free else ():
        values = dict(instance.configuration.items())
        for position, name in enumerate(free):
            entry = model.entries[name]
            most = 4 if entry.most is None else min(entry.most, max(4, entry.default))
            least = max(entry.least, 1 if entry.is_bound else entry.least)
            values[name] = (
                least + (values[name] - least + shift + position) % (most - least + 1) if most >= least else least
            )
        if values not in found:
            found.append(values)
    return found


def _at_other_values(
    program: Program,
    model: Model,
    instance: Instance,
    values: dict[str, int],
    proof: Proof,
    names: Sequence[str],
    how: str,
) -> tuple[str, str] | None:
    """The difference if a proof is wrong for other values of the configuration; otherwise None.

    It is wrong if the proved property and its premises are true initially, but one of them does not stay true.
    """
    try:
        other = model.instance(instance.protocol.name or None, values, instance.swaps)
        assert other.initial_states
    except UsageError:
        return None  # impossible with these values
    system = PlainSystem(program, values, instance.protocol.name or None, instance.swaps)
    claims = [_always(one) for one in (*system.properties, *system.lemmas) if one.name in names]
    if any(_failing(search(system, 0, 0, [one])) for one in claims):
        return None
    result = search(system, 8, MOST_STATES, claims)
    false = _failing(result)
    for name in names:
        if name in false:
            return f"a false claim is proved {how}, elsewhere", f"{name} fails with {values} at {false[name].path}"
    return None


def _always(asked: PlainProperty) -> PlainProperty:
    """The same property, but checked under every configuration."""
    return PlainProperty(asked.name, asked.kind, asked.python, None, True, asked.parameters)
