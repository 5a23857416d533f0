"""Proofs for the matrix: tries to prove, within a short time, the properties that no search has violated.

In:  a session, and the runs of the matrix, each paired with its recorded run.
Out: the pairs, with the proofs added to the verdicts of the runs.
"""

from __future__ import annotations

import time
from dataclasses import replace

from isrcheck.checker.analyses.matrix import Pair
from isrcheck.checker.outcome.proof_results import Phase, Proofs
from isrcheck.checker.outcome.verdict import refuse_contradictions, with_proofs
from isrcheck.checker.proofs.premises import with_established_premise
from isrcheck.checker.resources.limits import Limits, Memory
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.checker.session.session import SearchSession
from isrcheck.checker.session.text import Run

PROOF_SECONDS = 20.0
"""The time for all proofs together, in seconds; a proof in the cache takes no time."""


def prove_matrix(session: SearchSession, pairs: list[Pair]) -> tuple[list[Pair], bool]:
    """Try to prove the properties of the runs, quick proofs first; returns the pairs with proofs, and whether the user
    interrupted the proofs."""
    deadline = time.monotonic() + PROOF_SECONDS
    Memory.limit(session.limits.memory)
    found = {position: Proofs() for position, (record, _) in enumerate(pairs) if not record.name}
    for phase in (Phase.EVERY_LENGTH, Phase.WITHIN_BOUNDS):
        # The newest generation first: it has the most to prove.
        for position in reversed(found):
            record, run = pairs[position]
            progress = ProgressLine(record.title)
            left = session.budget.limits(Limits(seconds=deadline - time.monotonic())).seconds
            proofs = found[position]
            # Even if the first phase was cut short, the second phase may find its proofs in the cache.
            before = replace(proofs, stopped=None)
            more = session.prove_phase(run, phase, before, left, progress, is_patient=False)
            found[position] = proofs.joined(more)
            progress.clear()
            if more.stopped == "interrupt":
                return pairs, True
    return [
        (record, _with_proofs(run, found[position]) if position in found else run)
        for position, (record, run) in enumerate(pairs)
    ], False


def _with_proofs(run: Run, proofs: Proofs) -> Run:
    refuse_contradictions(run.verdicts, proofs)
    return replace(run, verdicts=with_proofs(run.verdicts, with_established_premise(proofs, run.exploration)))
