"""The proof cache: results of the prover, stored under a digest of everything that they depend on.

The results also depend on the version of Z3. It is read from the metadata of the installed package, because importing
Z3 would take longer than reading the proofs.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from isrcheck.checker.resources.cache import cache_folder, engine_digest, keep, kept
from isrcheck.checker.results.proofs import Attempt, CounterexampleToInduction, Phase, Proof, Proofs
from isrcheck.models.language.model import IN_RANGE, Instance, Property


@cache
def solver_version() -> str:
    """The version of Z3, such as 4.13.3."""
    try:
        return ".".join(metadata.version("z3-solver").split(".")[:3])
    except metadata.PackageNotFoundError:  # from an archive, or built by hand
        import z3

        version: str = z3.get_version_string()
        return version


def proved(
    instance: Instance,
    properties: Sequence[Property],
    phase: Phase,
    *,
    failing: Sequence[str] = (),
    known: Proofs | None = None,
    seconds: float | None = None,
    is_patient: bool = True,
    **others: Any,
) -> Proofs:
    """Return the proofs of one phase, from the cache or from a call of `prove` (see there for the other parameters).

    A result cut short by a time limit is stored and reused only if `is_patient` is false; else the phase runs again.
    """
    if phase is not Phase.WITH_MORE:
        known = None  # these phases do not use each other's proofs
    path = _path(instance, properties, phase, failing, [] if known is None else list(known.proofs))
    content = kept(path)
    if content is not None:
        proofs = _read(instance, json.loads(content))
        if proofs.stopped is None or not is_patient:
            return proofs
    if seconds is not None and seconds <= 0:
        proofs = Proofs(stopped="seconds")
    else:
        from isrcheck.checker.proofs.prove import prove  # here, because it imports Z3

        proofs = prove(instance, properties, phase, failing=failing, known=known, seconds=seconds, **others)
    if proofs.stopped is None or (proofs.stopped == "seconds" and not is_patient):
        keep(path, json.dumps(_written(proofs)).encode())
    return proofs


def _path(
    instance: Instance, properties: Sequence[Property], phase: Phase, failing: Sequence[str], settled: Sequence[str]
) -> Path:
    content = hashlib.sha256()
    names = [prop.name for prop in properties]
    content.update(repr([names, sorted(failing), sorted(settled), phase.value]).encode())
    content.update(f"{instance.digest} {engine_digest()} {solver_version()} {sys.version}".encode())
    return cache_folder() / "proofs" / f"{content.hexdigest()[:32]}.json"


def _written(proofs: Proofs) -> dict[str, Any]:
    return {
        "proofs": [[p.prop.name, p.lemmas, p.every_length, p.steps, p.seconds] for p in proofs.proofs.values()],
        "attempts": list(map(_attempt, proofs.attempts)),
        "lost": list(map(_attempt, proofs.lost.values())),
        "seconds": proofs.seconds,
        "stopped": proofs.stopped,
    }


def _attempt(attempt: Attempt) -> list[Any]:
    cti = attempt.counterexample
    step = None if cti is None or cti.step is None else cti.step.number
    counterexample = None if cti is None else [cti.claim, cti.before, step, cti.says, cti.after]
    return [attempt.prop.name, attempt.every_length, attempt.why, counterexample]


def _read(instance: Instance, content: dict[str, Any]) -> Proofs:
    claims = {prop.name: prop for prop in (*instance.properties, *instance.lemmas, IN_RANGE)}

    def attempt(name: str, every_length: bool, why: str, written: list[Any] | None) -> Attempt:
        counterexample = None
        if written is not None:
            claim, before, number, says, after = written
            step = None if number is None else instance.step(number)
            counterexample = CounterexampleToInduction(claim, tuple(before), step, says, tuple(after))
        return Attempt(claims[name], every_length, why, counterexample)

    proofs = {
        name: Proof(claims[name], tuple(lemmas), every_length, steps, seconds)
        for name, lemmas, every_length, steps, seconds in content["proofs"]
    }
    attempts = [attempt(*written) for written in content["attempts"]]
    lost = {written[0]: attempt(*written) for written in content["lost"]}
    return Proofs(proofs, attempts, lost, content["seconds"], content["stopped"], is_kept=True)
