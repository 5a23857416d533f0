"""Proofs and results of bounded model checking as text and as objects.

In:  a `BmcResult`; `Proofs`, with the paths by which the explorer reaches their counterexamples to induction (CTIs).
Out: lines of text, objects for `--json`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from isrcheck.checker.outcome.bmc_result import BmcResult
from isrcheck.checker.outcome.exploration import Exploration, StepPath
from isrcheck.checker.outcome.proof_results import FALSE_INITIALLY, Attempt, CounterexampleToInduction, Proof, Proofs
from isrcheck.checker.proofs.budget_independence import independent_budgets
from isrcheck.checker.proofs.premises import premises, using
from isrcheck.checker.proofs.proof_cache import solver_version
from isrcheck.models.language.declarations import WHOLE
from isrcheck.models.language.model import IN_RANGE, Instance, spell

WIDTH = 120
"""The width of the text about proofs, in characters."""


@dataclass(frozen=True)
class Proving:
    """Proofs and failed attempts, with facts about the counterexample to induction (CTI) of each failed attempt.

    These map the key of an attempt (`key_of`): `reached` to the explorer's path to the state of the CTI, `files` to its
    trace file, `commands` to the command that shows the trace, `outside` to how the step leaves a declared range.
    `false` maps a lemma to a path to a state in which it is false, `failing` a property to its verdict if the explorer
    violates it.
    """

    proofs: Proofs
    exploration: Exploration
    reached: Mapping[str, StepPath] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    outside: Mapping[str, str] = field(default_factory=dict)
    false: Mapping[str, StepPath] = field(default_factory=dict)
    failing: Mapping[str, str] = field(default_factory=dict)

    @property
    def instance(self) -> Instance:
        """The instance of the proofs."""
        return self.exploration.instance


def counted_names(names: list[str]) -> str:
    """Return the names of configuration entries as words, separated by commas."""
    return ", ".join(name.replace("_", " ") for name in names)


def scope(instance: Instance, proof: Proof) -> str:
    """Return, in words, the configurations for which a proof holds."""
    entries = instance.model.entries
    values = dict(instance.configuration.items())
    if proof.every_length:
        open_bounds = [name for name, entry in entries.items() if entry.is_bound and entry.is_open]
        kept = [
            f"{name}={spell(entries[name], values[name])}"
            for name, entry in entries.items()
            if entry.is_bound and not entry.is_open
        ]
        open_sizes = f"any {counted_names(open_bounds)}, " if open_bounds else ""
        text = f"{open_sizes}any faults and settings, from the initial states of this configuration"
        text += f"; with {', '.join(kept)}" if kept else ""
        return f"{text}; as long as every index into an unbounded array stays within it" if open_bounds else text
    by_name = {claim.name: claim for claim in (*instance.properties, *instance.lemmas)}
    # The fields that a proposed lemma reads are unknown, and an exhaustive search depends on its budgets.
    premise = proof.premise
    names = dict.fromkeys([*proof.lemmas, *([] if premise is None else premise.lemmas)])
    declared = [by_name[name] for name in names if name in by_name]
    is_known = len(declared) == len(names) and proof.steps == 1 and premise is not None and premise.steps == 1
    free = independent_budgets(instance, [*instance.properties, *declared]) if is_known else []
    fixed = [
        f"{name}={spell(entries[name], values[name])}"
        for name, entry in entries.items()
        if entry.is_bound or (entry.is_budget and values[name] and name not in free)
    ]
    text = f"at any depth, with {', '.join(fixed) or 'no bounds'}"
    text += f"; any number of {counted_names(free)}" if free else ""
    # A budget of 0 is an assumption as well: with one such fault, the same property may fail.
    none = [name for name, entry in entries.items() if entry.is_budget and not entry.is_bound and not values[name]]
    return f"{text}; no {counted_names(none)}" if none else text


def rests_on(proof: Proof) -> str:
    """Return, in words, the kind of a proof and its lemmas, without its premises."""
    how = "induction" if proof.steps == 1 else f"{proof.steps}-induction over simple paths"
    base = "true in every initial state, preserved by every step"
    if proof.steps > 1:
        base = f"true in the first {proof.steps} states, preserved by every step after {proof.steps} such states"
    return f"{how}{using(proof)} ({base})"


def lines(proving: Proving) -> list[str]:
    """Return the section of the results about proofs, as lines of text."""
    instance, proofs = proving.instance, proving.proofs
    when = ", found by an earlier run" if proofs.is_kept else ""
    found = [f"proofs (Z3 {solver_version()}, {proofs.seconds:.2f} s{when})"]
    for (where, basis), names in _together(instance, proofs).items():
        found += _wrapped(f"{', '.join(names)}: PROVED{where}", "  ")
        found += _wrapped(basis, "    ")
    for premise in premises(instance, proofs, proving.exploration):
        found += _wrapped(f"premise {premise.name} ({premise.established.value}): {premise.says}", "  ")
    for name, attempt in proofs.lost.items():
        if attempt.why == FALSE_INITIALLY or name in proving.false:
            depth = 0 if attempt.why == FALSE_INITIALLY else proving.false[name].depth
            where = f"a state that the explorer reaches at depth {depth}" if depth else "an initial state"
            found += _wrapped(f"lemma {name} is false: in {where}", "  ")
            continue
        found += _wrapped(f"lemma {name} is not inductive: {attempt.why}{_shown(proving, attempt)}", "  ")
        found += _table(proving, attempt)
    for attempt in proofs.attempts:
        what = " for every length" if attempt.every_length else ""
        also = " (it is proved within the bounds)" if attempt.prop.name in proofs.proofs else ""
        text = f"{attempt.prop.name}: not proved{what}{also}: {attempt.why}{_shown(proving, attempt)}"
        found += _wrapped(text, "  ")
        found += _table(proving, attempt)
    for prop in instance.properties:
        if prop.kind in WHOLE:
            found += _wrapped(f"{prop.name}: Z3 does not prove {prop.kind.value}; the search judges it", "  ")
    if proofs.stopped is not None:
        found.append(f"  the proofs were cut short: {_cut(proofs.stopped)}")
    return found


def promised(proofs: Proofs) -> dict[str, Proof]:
    """Return the proofs of a model's properties, by name, without the proof of the premise `in_range`."""
    return {name: proof for name, proof in proofs.proofs.items() if proof.prop is not IN_RANGE}


def _together(instance: Instance, proofs: Proofs) -> dict[tuple[str, str], list[str]]:
    """Return the names of proved properties, grouped by scope and basis; one joint induction makes one group."""
    found: dict[tuple[str, str], list[str]] = {}
    promises = promised(proofs)
    names = {name: {name, *proof.lemmas} for name, proof in promises.items()}
    for name, proof in promises.items():
        every = " for every length" if proof.every_length else ""
        group = {other for other, basis in names.items() if basis == names[name]}
        others = replace(proof, lemmas=tuple(one for one in proof.lemmas if one not in group))
        found.setdefault((f"{every}: {scope(instance, proof)}", rests_on(others)), []).append(name)
    return found


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _cut(stopped: str) -> str:
    return {
        "seconds": "the time limit was reached",
        "memory": "Z3 reached the memory limit",
        "interrupt": "interrupted",
    }.get(stopped, "Z3 found no answer")


def _shown(proving: Proving, attempt: Attempt) -> str:
    counterexample = attempt.counterexample
    if counterexample is None:
        return ""
    key = key_of(attempt)
    text = f": {counterexample.says}"
    if key in proving.outside:
        after = "which leaves its range" if attempt.prop is IN_RANGE else "after which"
        text += f", {after}{':' if attempt.prop is IN_RANGE else ''} {proving.outside[key]}"
    exploration = proving.exploration
    if attempt.prop.name in proving.failing:
        return f"{text}; the explorer refutes it: {proving.failing[attempt.prop.name]}"
    if key in proving.reached:
        depth = proving.reached[key].depth
        text += f", from a state that the explorer reaches at depth {depth}"
        text += ", with these sizes and settings" if attempt.every_length else f": a real failure at step {depth + 1}"
    elif exploration.exhausted:
        text += ", from a state that the explorer does not reach (an exhaustive search within these bounds)"
        text += "" if attempt.every_length else "; a lemma has to exclude that state"
    else:
        text += f", from a state that the explorer does not reach (these bounds searched to depth {exploration.judged})"
        text += "" if attempt.every_length else "; the state is reached later, or a lemma has to exclude it"
    if attempt.every_length:
        text += "; the unbounded abstraction cannot decide it"
    if key in proving.commands:
        text += f"; {proving.commands[key]}"
    return text


def key_of(attempt: Attempt) -> str:
    """Return the key of an attempt: its property, and whether the attempt was for every length."""
    return f"{attempt.prop.name} for every length" if attempt.every_length else attempt.prop.name


def _table(proving: Proving, attempt: Attempt) -> list[str]:
    """Return the state before the step of a CTI and its changes, if there is no trace of the CTI."""
    counterexample = attempt.counterexample
    if counterexample is None or key_of(attempt) in proving.commands:
        return []
    rows = []
    for place in proving.instance.layouts.values():
        cells = range(place.offset, place.offset + place.count)
        before = [counterexample.before[cell] for cell in cells]
        after = [counterexample.after[cell] for cell in cells]
        if before and before[0] is not None and (place.name in attempt.prop.function.reads or before != after):
            line = f"    {place.name} {_row(before)}"
            rows.append(line if before == after else f"{line} -> {_row(after)}")
    return rows


def _row(values: list[int | None]) -> str:
    return " ".join(str(value) for value in values)


def unrolled_lines(unrolled: BmcResult) -> list[str]:
    """Return lines with the depth that Z3 has checked, and with its times."""
    if unrolled.judged < 0:
        return [f"Z3 {solver_version()}: no depth was checked"]
    far = "no behaviour is longer" if unrolled.exhausted else "there are longer behaviours"
    times = " ".join(f"{seconds:.2f}" for seconds in unrolled.times)
    return [
        f"Z3 {solver_version()}: checked every depth to {unrolled.judged} ({far}); {unrolled.nodes:,} nodes",
        f"{unrolled.seconds:.2f} s; by depth: {times}",
    ]


def as_object(proving: Proving) -> dict[str, Any]:
    """Return the object under `proofs` in the `--json` output."""
    proofs = proving.proofs
    return {
        "solver": f"Z3 {solver_version()}",
        "seconds": round(proofs.seconds, 3),
        "stopped": proofs.stopped,
        "proved": [
            {
                "property": proof.prop.name,
                "every_length": proof.every_length,
                "scope": scope(proving.instance, proof),
                "k": proof.steps,
                "lemmas": list(proof.lemmas),
                "rests_on": rests_on(proof),
            }
            for proof in promised(proofs).values()
        ],
        "premises": [
            {"premise": one.name, "established": one.established.value, "says": one.says}
            for one in premises(proving.instance, proofs, proving.exploration)
        ],
        "not_proved": [_attempt_object(proving, attempt) for attempt in (*proofs.lost.values(), *proofs.attempts)],
    }


def _attempt_object(proving: Proving, attempt: Attempt) -> dict[str, Any]:
    counterexample: CounterexampleToInduction | None = attempt.counterexample
    key = key_of(attempt)
    reached = proving.reached.get(key)
    file = proving.files.get(key)
    return {
        "property": attempt.prop.name,
        "kind": attempt.prop.kind.value,
        "every_length": attempt.every_length,
        "why": attempt.why,
        "step": counterexample.says if counterexample else None,
        "reached_at_depth": reached.depth if reached else None,
        "trace": str(file) if file else None,
    }
