"""The premises of proofs, that is what they take for granted, and how each premise was established.

The premise `in_range` says that no step and no property leaves its declared range in a reachable state. It is proved
like any property, or shown by an exhaustive search; until then it is open, because it can be false. All other premises
are checked by the code that uses them, and are reported with the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from isrcheck.checker.results.exploration import BmcResult, Exploration, Findings
from isrcheck.checker.results.proofs import Attempt, Proof, Proofs
from isrcheck.checker.results.verdict import Verdict, Word
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import IN_RANGE, Instance


class Established(Enum):
    """How a premise was established: by a proof, an exhaustive search, or a check; OPEN: not at all."""

    PROVED = "proved"
    SEARCHED = "searched"
    CHECKED = "checked"
    OPEN = "open"


@dataclass(frozen=True)
class Premise:
    """A premise of proofs: its name, how it was established, and a description."""

    name: str
    established: Established
    says: str


def how_in_range(proofs: Proofs, exploration: Exploration | BmcResult) -> Established:
    """How the premise `in_range` was established for these bounds."""
    if IN_RANGE.name in proofs.proofs:
        return Established.PROVED
    has_erred = exploration.findings.get(IN_RANGE.name, Findings()).found.path is not None
    return Established.SEARCHED if exploration.exhausted and not has_erred else Established.OPEN


def with_established_premise(proofs: Proofs, exploration: Exploration | BmcResult) -> Proofs:
    """All proofs, if the premise `in_range` is established; otherwise, proofs that need it become failed attempts."""
    if how_in_range(proofs, exploration) is not Established.OPEN:
        premise = proofs.proofs.get(IN_RANGE.name)
        return replace(proofs, proofs={name: replace(proof, premise=premise) for name, proof in proofs.proofs.items()})
    # A proof for every length includes a proof that steps stay in range. All other proofs become failed attempts.
    why = f"its proof rests on {IN_RANGE.name}, which is not proved"
    kept = {name: proof for name, proof in proofs.proofs.items() if proof.every_length}
    fallen = [Attempt(proof.prop, False, why) for name, proof in proofs.proofs.items() if name not in kept]
    return replace(proofs, proofs=kept, attempts=[*proofs.attempts, *fallen])


def with_open_premise(found: Sequence[Verdict], proofs: Proofs, exploration: Exploration) -> Sequence[Verdict]:
    """The verdicts `found`, with an open verdict on `in_range` if proofs were tried without establishing `in_range`."""
    is_tried = any(verdict.proof is not None or verdict.is_unproved or verdict.is_unattempted for verdict in found)
    is_judged = any(verdict.prop is IN_RANGE for verdict in found)
    if not is_tried or is_judged or how_in_range(proofs, exploration) is not Established.OPEN:
        return found
    is_cut = proofs.stopped is not None
    verdict = Verdict(IN_RANGE, Word.NO_VIOLATION, exploration.judged, is_unproved=not is_cut, is_unattempted=is_cut)
    if not exploration.is_complete:
        note = f"{exploration.stopped}; nothing found to depth {exploration.judged}"
        verdict = replace(verdict, word=Word.UNDECIDED, depth=None, note=note)
    return [*found, verdict]


def premises(instance: Instance, proofs: Proofs, exploration: Exploration | BmcResult) -> Sequence[Premise]:
    """The premises on which these proofs rest, for a report; empty if no property except `in_range` is proved."""
    proved = [proof for proof in proofs.proofs.values() if proof.prop is not IN_RANGE]
    if not proved:
        return []
    rows = [Premise(IN_RANGE.name, how_in_range(proofs, exploration), _says_in_range(proofs, exploration))]
    count = len(instance.initial_states)
    states = "the initial state" if count == 1 else f"each of the {count:,} initial states"
    if instance.model.generators:
        says = f"every claim about states was proved for {states}, as @initial makes them"
        rows.append(Premise("initial states", Established.PROVED, says))
    else:
        says = f"every claim about states was evaluated in {states}"
        rows.append(Premise("initial states", Established.CHECKED, says))
    if any(lemma.name in proof.lemmas for lemma in instance.lemmas for proof in proved):
        says = "each was proved for this configuration, together with the claims that rest on it"
        rows.append(Premise("lemmas", Established.PROVED, says))
    if any(proof.steps > 1 for proof in proved):
        says = "a shortest path to a failure visits no state twice"
        rows.append(Premise("simple paths", Established.CHECKED, says))
    if any(proof.every_length for proof in proved):
        says = "for all values of open bounds, no step leaves a range of fixed size"
        rows.append(Premise("every length", Established.PROVED, f"{says}; ranges of open size are not assumed"))
    return rows


def _says_in_range(proofs: Proofs, exploration: Exploration | BmcResult) -> str:
    nothing = "no step and no property leaves its declared range in a reachable state"
    proof = proofs.proofs.get(IN_RANGE.name)
    if how_in_range(proofs, exploration) is Established.OPEN:
        return nothing
    if proof is None:
        states = exploration.distinct if isinstance(exploration, Exploration) else 0
        searched = f"an exhaustive search visited all {states:,} of them"
        # A search judges `sometimes` properties only until they are reached; nothing rests on later states.
        has_goals = any(prop.kind is Kind.SOMETIMES for prop in exploration.instance.properties)
        return f"{nothing}: {searched}" + (", each `sometimes` property judged until reached" if has_goals else "")
    how = "by induction" if proof.steps == 1 else f"by {proof.steps}-induction"
    return f"{nothing}: proved {how}{' for every length' if proof.every_length else ''}{using(proof)}"


def using(proof: Proof) -> str:
    """The lemmas and properties that a proof uses, as the end of a sentence: ", with a, b" or ", without a lemma"."""
    return f", with {', '.join(proof.lemmas)}" if proof.lemmas else ", without a lemma"
