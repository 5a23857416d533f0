"""`check mutate`: searches the mutants of a model, and reports which properties detect each mutant.

In:  `Options`, and a session.
Out: a `CommandResult`.
"""

from __future__ import annotations

from collections.abc import Callable

from isrcheck.checker.analyses import mutate
from isrcheck.checker.command.form import Options
from isrcheck.checker.command.options import instance_of
from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.outcome.exit_codes import SAFE, UNDECIDED
from isrcheck.checker.outcome.exploration import Exploration, Progress
from isrcheck.checker.outcome.verdict import verdicts
from isrcheck.checker.resources.limits import Spent
from isrcheck.checker.session import naming
from isrcheck.checker.session.command_result import CommandResult
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.checker.session.reproduce import command_of
from isrcheck.checker.session.session import SearchSession
from isrcheck.checker.session.text import Run
from isrcheck.models.language.model import Instance


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search the model, then each of its mutants. Raises UsageError."""
    assert options.target is not None
    instance, limits = instance_of(options), options.limits
    progress = ProgressLine(naming.title(instance))

    def kernel_of(one: Instance) -> Kernel:
        return session.begin(one, progress).kernel

    def progress_of(candidate: mutate.Candidate) -> Callable[[Progress], None]:
        progress.subject = f"{candidate.action} without {candidate.place}"
        return progress.report

    command = command_of(options.target, instance, limits.depth)
    try:
        original = mutate.search_original(instance, limits, kernel_of, progress.report, session.budget)
    except Spent as spent:
        cut = Exploration.without_beginning(instance, limits, spent.why)
        original = mutate.Original(cut, {}, [], spent.why)
    searched = Run(original.exploration, verdicts(original.exploration), command)
    found: list[mutate.Judgement] = []
    stopped = False
    try:
        for judgement in mutate.judgements(original, command.replace(" ", " mutate ", 1), progress_of, session.budget):
            found.append(judgement)  # noqa: PERF402 - what was found before an interruption counts
    except KeyboardInterrupt:
        stopped = True
    progress.clear()
    is_cut = (
        bool(original.cut)
        or not original.exploration.is_complete
        or any(one.fate is mutate.Fate.UNDECIDED for one in found)
    )
    content, text = mutate.objects(searched, original, found), mutate.text(searched, original, found)
    return CommandResult(text, content, UNDECIDED if is_cut else SAFE, is_interrupted=stopped)
