"""`check graph`: searches a model and writes its states and steps as a graph.

In:  `Options`, and a session.
Out: a `CommandResult`; the file of the graph.
"""

from __future__ import annotations

from isrcheck.checker.command.form import Options
from isrcheck.checker.command.options import instance_of
from isrcheck.checker.graph.command import request_of
from isrcheck.checker.graph.files import text, write_graph
from isrcheck.checker.graph.state_graph import CutShortError, state_graph, summary
from isrcheck.checker.outcome.exit_codes import SAFE
from isrcheck.checker.outcome.verdict import WHY_STOPPED
from isrcheck.checker.resources.limits import Spent
from isrcheck.checker.session import naming
from isrcheck.checker.session.command_result import CommandResult
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.checker.session.session import SearchSession


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search the model and write its state graph. Raises UsageError, KeyboardInterrupt."""
    instance, request = instance_of(options), request_of(options)
    progress = ProgressLine(naming.title(instance))
    try:
        kernel = session.begin(instance, progress).kernel
        within = session.budget.limits(options.limits)
        with session.budget.kept():
            drawn = state_graph(instance, within, kernel, request, progress.report)
    except Spent as spent:
        return CommandResult.without_answer(f"{WHY_STOPPED[spent.why]}; nothing was drawn")
    except CutShortError as cut:
        return CommandResult.without_answer(str(cut))
    finally:
        progress.clear()
    write_graph(drawn, request.path, force=request.force)
    return CommandResult(text(drawn, request.path), summary(drawn) | {"file": str(request.path)}, SAFE)
