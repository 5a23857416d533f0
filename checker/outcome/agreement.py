"""`--engine all`: whether the explorer and Z3 agree on one instance.

In:  an `Exploration` and a `BmcResult` of the same instance.
Out: one line for each difference. A search that was cut short is compared up to the depth that it has judged.
"""

from __future__ import annotations

from isrcheck.checker.outcome.bmc_result import BmcResult
from isrcheck.checker.outcome.exploration import Exploration, Finding, Findings
from isrcheck.models.language.model import DEADLOCK


def differences(exploration: Exploration, bmc_result: BmcResult) -> list[str]:
    """One line for each difference in verdicts or in lengths of shortest paths, with the results of both engines."""
    # An exhaustive result counts for every depth.
    judged = [one.judged for one in (exploration, bmc_result) if not one.exhausted]
    # A step from the last states may still leave a declared range.
    depth = min(judged, default=max(exploration.judged, bmc_result.judged) + 1)
    found = []
    for name in dict.fromkeys([*exploration.findings, *bmc_result.findings]):
        # The implicit properties have findings only where they are violated.
        ours, theirs = (one.findings.get(name, Findings()) for one in (exploration, bmc_result))
        if ours.unjudged or theirs.unjudged:
            continue
        # Whether a state has a step is known only once it is expanded.
        most = depth - 1 if name == DEADLOCK.name else depth
        decided = _depth(ours.found, most)
        if decided != _depth(theirs.found, most):
            found.append(_line(name, "found", ours.found, theirs.found))
        # Each engine stops looking for permitted failures once the property is violated.
        until = depth if decided is None else decided
        if _depth(ours.permitted, until) != _depth(theirs.permitted, until):
            found.append(_line(name, "permitted", ours.permitted, theirs.permitted))
    return found


def _depth(finding: Finding, most: int) -> int | None:
    depth = finding.path.depth if finding.path is not None else None
    return depth if depth is not None and depth <= most else None


def _line(name: str, what: str, ours: Finding, theirs: Finding) -> str:
    spelled = [
        f"at step {one.path.depth}, steps {' '.join(map(str, one.path.steps))}" if one.path else "never"
        for one in (ours, theirs)
    ]
    return f"{name}: {what} by the explorer {spelled[0]}; by Z3 {spelled[1]}"
