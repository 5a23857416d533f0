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
from isrcheck.checker.resources.budget import Spent
from isrcheck.checker.session.command_result import CommandResult
from isrcheck.checker.session.naming import title
from isrcheck.checker.session.reproduce import command_of
from isrcheck.checker.session.session import SearchSession
from isrcheck.checker.session.trace_writer import TraceWriter
from isrcheck.checker.simulation import report
from isrcheck.checker.simulation.group import SimulationRequest
from isrcheck.checker.simulation.result import Simulation, verdicts
from isrcheck.checker.simulation.shorten import shortened
from isrcheck.checker.simulation.walks import simulate
from isrcheck.models.language.in_range import DEADLOCK, IN_RANGE
from isrcheck.models.language.model import Instance, nearest
from isrcheck.models.messages.errors import UsageError

SHORTEN = 10.0
"""The most seconds that a violation is shortened, also without `--seconds`."""


def run(options: Options, instance: Instance, session: SearchSession) -> CommandResult:
    """Walk, shorten what was found, and write traces."""
    assert options.target is not None
    limits = options.limits
    weights = _weights(options.own["weight"], instance)
    request = SimulationRequest(
        options.own["simulate"], options.own["depth"], options.own["seed"] or 0, limits.deadlock, weights
    )
    command = (
        f"{command_of(options.target, instance, None, deadlock=limits.deadlock)}"
        f" --simulate {request.walks} --depth {request.depth} --seed {request.seed}"
        f"{''.join(f' --weight {name}={weight}' for name, weight in weights.items())}"
    )
    progress = session.progress_line(title(instance))
    try:
        kernel = session.begin(instance, progress).kernel
    except Spent as spent:
        return CommandResult.without_answer(f"the simulation did not begin: {spent.why}")
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
    traces = TraceWriter(options.out)
    files = traces.write(options.target, instance, judged, command=command)
    own = ["--model", options.target] if options.target.endswith(".py") else []
    result = report.SimulationRun(simulation, judged, files, found, command, own)
    failing = [one for one in judged if one.word is Word.VIOLATED or (options.strict and one.word is Word.PERMITTED)]
    word = Word.VIOLATED if failing else Word.UNDECIDED
    return CommandResult(
        report.text(result),
        report.as_object(result),
        exit_code(word, strict=options.strict, found=failing),
        traces.failure,
        simulation.stopped == "interrupt",
        result,
    )


def _weights(typed: Sequence[tuple[str, int]], instance: Instance) -> dict[str, int]:
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
