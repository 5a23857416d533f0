"""`check MODEL --simulate N --depth D`: random walks, for bounds that are too large to search.

In:  `Options`, and a session.
Out: a `CommandResult` whose `found` is a `SimulationRun`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from isrcheck.checker.command.form import Options
from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.outcome.kernel_results import EntryKind
from isrcheck.checker.outcome.verdict import Word, exit_code
from isrcheck.checker.resources.limits import Spent
from isrcheck.checker.session.command_result import CommandResult
from isrcheck.checker.session.naming import title
from isrcheck.checker.session.reproduce import command_of
from isrcheck.checker.session.session import SearchSession
from isrcheck.checker.session.trace_writer import TraceWriter
from isrcheck.checker.simulation import report
from isrcheck.checker.simulation.shorten import shortened
from isrcheck.checker.simulation.walks import Simulation, SimulationRequest, simulate, verdicts
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance
from isrcheck.models.messages import UsageError, nearest

SHORTEN = 10.0
"""The most seconds that a violation is shortened, also without `--seconds`."""


def run(options: Options, instance: Instance, session: SearchSession) -> CommandResult:
    """Walk, shorten what was found, and write traces."""
    assert options.target is not None
    weights = weights_of(options.own["weight"], instance)
    request = SimulationRequest(
        options.own["simulate"], options.own["depth"], options.own["seed"] or 0, options.limits.deadlock, weights
    )
    traces = TraceWriter(options.out)
    try:
        result = simulated(instance, options.target, request, session, traces)
    except Spent as spent:
        return CommandResult.without_answer(f"the simulation did not begin: {spent.why}")
    return CommandResult(
        report.text(result),
        report.as_object(result),
        exit_code_of(result, strict=options.strict),
        traces.failure,
        result.simulation.stopped == "interrupt",
        result,
    )


def simulated(
    instance: Instance, target: str, request: SimulationRequest, session: SearchSession, traces: TraceWriter
) -> report.SimulationRun:
    """Walk through an instance of the model `target`, shorten what was found, and write traces. Raises Spent."""
    limits = session.limits
    command = (
        f"{command_of(target, instance, None, deadlock=limits.deadlock)}"
        f" --simulate {request.walks} --depth {request.depth} --seed {request.seed}"
        f"{''.join(f' --weight {name}={weight}' for name, weight in request.weights.items())}"
    )
    progress = session.progress_line(title(instance))
    kernel = session.begin(instance, progress).kernel
    left = session.budget.left
    deadline = float("inf") if left is None else time.monotonic() + left
    simulation = simulate(instance, kernel, request, deadline, progress.tell, threads=limits.threads)
    found: dict[str, int] = {}
    if simulation.stopped != "interrupt":
        try:
            found = _shorten(simulation, kernel, session, progress.tell)
        except KeyboardInterrupt:
            simulation.stopped = "interrupt"
    progress.clear()
    judged = verdicts(simulation, instance.properties)
    files = traces.write(target, instance, judged, command=command)
    own = ["--model", target] if target.endswith(".py") else []
    return report.SimulationRun(simulation, judged, files, found, command, own)


def exit_code_of(result: report.SimulationRun, *, strict: bool) -> int:
    """The exit code of a simulation: that of what fails, or that of an undecided search."""
    failing = [one for one in result.verdicts if one.word is Word.VIOLATED or (strict and one.word is Word.PERMITTED)]
    return exit_code(Word.VIOLATED if failing else Word.UNDECIDED, strict=strict, found=failing)


def weights_of(typed: Sequence[tuple[str, int]], instance: Instance) -> dict[str, int]:
    """Return the weights of actions that the command gives. Raises UsageError for an action that there is not, and for
    one that is given two weights."""
    chosen = zip(instance.model.actions, instance.alternatives, strict=True)
    names = [action.name for action, alternative in chosen if alternative is not None]
    weights: dict[str, int] = {}
    for name, weight in typed:
        if name not in names:
            raise UsageError(f"--weight {name}={weight}: {title(instance)} has no such action; {nearest(name, names)}")
        if weights.setdefault(name, weight) != weight:
            raise UsageError(f"--weight {name} is given twice, as {weights[name]} and as {weight}; keep one of them")
    return {name: weight for name, weight in weights.items() if weight != 1}


def _shorten(
    simulation: Simulation, kernel: Kernel, session: SearchSession, tell: Callable[[str, float], None]
) -> dict[str, int]:
    """Shorten the paths of a simulation in place; return their lengths before. Raises KeyboardInterrupt."""
    instance = simulation.instance
    found: dict[str, int] = {}
    props = {prop.name: prop for prop in (*instance.properties, DEADLOCK, IN_RANGE)}
    for name, findings in list(simulation.findings.items()):
        for kind, finding in ((EntryKind.FOUND, findings.found), (EntryKind.PERMITTED, findings.permitted)):
            if finding.path is None:
                continue
            left = session.budget.left
            seconds = SHORTEN if left is None else min(left, SHORTEN)
            limits = replace(session.limits, seconds=seconds)
            found.setdefault(name, finding.path.depth)
            finding.path = shortened(instance, kernel, props[name], kind, finding.path, limits, tell)
    return found
