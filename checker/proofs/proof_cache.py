"""The proof cache: results of the prover, stored under a digest of everything that they depend on.

The names and the texts of cached proofs contain the version of Z3. It is read from the installed packages, because to
import Z3 would take longer than to read the proofs.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from isrcheck.checker.resources.cache import cache_folder, engine_digest, keep, kept
from isrcheck.checker.results.proofs import Attempt, CounterexampleToInduction, Phase, Proof, Proofs
from isrcheck.models.language.model import IN_RANGE, Instance, Property
from isrcheck.models.run import Cells


@cache
def solver_version() -> str:
    """The version of Z3, as in 4.13.3."""
    try:
        return ".".join(metadata.version("z3-solver").split(".")[:3])
    except metadata.PackageNotFoundError:  # from an archive, or built by hand
        import z3

        found: str = z3.get_version_string()
        return found


def proved(
    instance: Instance,
    properties: Sequence[Property],
    phase: Phase,
    *,
    failing: Sequence[str] = (),
    known: Proofs | None = None,
    sample: Sequence[Cells] = (),
    seconds: float | None = None,
    is_patient: bool = True,
    report: Callable[[str], None] = lambda message: None,
) -> Proofs:
    """Return the proofs of one phase, from the cache or from the prover (for the parameters, see `prove`).

    If `is_patient` is false, a result that ran out of time is stored and reused, too.
    """
    if phase is not Phase.WITH_MORE:
        known = None  # these phases do not use each other's proofs
    path = _path(instance, properties, phase, failing, [] if known is None else list(known.proofs))
    content = kept(path)
    if content is not None:
        found = _read(instance, json.loads(content))
        if found.stopped is None or not is_patient:
            return found
    if seconds is not None and seconds <= 0:
        found = Proofs(stopped="seconds")
    else:
        from isrcheck.checker.proofs.prove import prove  # here, because it imports Z3

        found = prove(
            instance, properties, phase, failing=failing, known=known, sample=sample, seconds=seconds, report=report
        )
    if found.stopped is None or (found.stopped == "seconds" and not is_patient):
        keep(path, json.dumps(_written(found)).encode())
    return found


def _path(
    instance: Instance, properties: Sequence[Property], phase: Phase, failing: Sequence[str], settled: Sequence[str]
) -> Path:
    content = hashlib.sha256()
    names = [prop.name for prop in properties]
    content.update(repr([names, sorted(failing), sorted(settled), phase.value]).encode())
    content.update(f"{instance.digest} {engine_digest()} {solver_version()} {sys.version}".encode())
    return cache_folder() / "proofs" / f"{content.hexdigest()[:32]}.json"


def _written(found: Proofs) -> dict[str, Any]:
    return {
        "proofs": [
            [one.prop.name, one.lemmas, one.every_length, one.steps, one.seconds] for one in found.proofs.values()
        ],
        "attempts": [_attempt(one) for one in found.attempts],
        "lost": [_attempt(one) for one in found.lost.values()],
        "seconds": found.seconds,
        "stopped": found.stopped,
    }


def _attempt(attempt: Attempt) -> list[Any]:
    one = attempt.counterexample
    step = None if one is None or one.step is None else one.step.number
    seen = None if one is None else [one.claim, one.before, step, one.says, one.after]
    return [attempt.prop.name, attempt.every_length, attempt.why, seen]


def _read(instance: Instance, content: dict[str, Any]) -> Proofs:
    known = {prop.name: prop for prop in (*instance.properties, *instance.lemmas, IN_RANGE)}

    def attempt(name: str, every_length: bool, why: str, seen: list[Any] | None) -> Attempt:
        counterexample = None
        if seen is not None:
            claim, before, number, says, after = seen
            step = None if number is None else instance.step(number)
            counterexample = CounterexampleToInduction(claim, tuple(before), step, says, tuple(after))
        return Attempt(known[name], every_length, why, counterexample)

    found = Proofs(seconds=content["seconds"], stopped=content["stopped"], is_kept=True)
    for name, lemmas, every_length, steps, seconds in content["proofs"]:
        found.proofs[name] = Proof(known[name], tuple(lemmas), every_length, steps, seconds)
    found.attempts = [attempt(*one) for one in content["attempts"]]
    found.lost = {one[0]: attempt(*one) for one in content["lost"]}
    return found
