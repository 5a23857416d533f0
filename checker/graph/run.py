"""`check graph`: searches a model and writes its states and steps as a graph.

In:  `Options`, and a session.
Out: a `CommandResult`; the file of the graph.
"""

from __future__ import annotations

from isrcheck.checker.command.forms import graph_request_of
from isrcheck.checker.command.options import Options
from isrcheck.checker.graph.files import text, write_graph
from isrcheck.checker.graph.state_graph import CutShortError, state_graph, summary
from isrcheck.checker.resources.limits import Spent
from isrcheck.checker.results import instance_facts as naming
from isrcheck.checker.results.exit_codes import SAFE
from isrcheck.checker.results.run import CommandResult
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.checker.results.verdict import WHY_STOPPED
from isrcheck.checker.running.session import SearchSession
from isrcheck.commands.settings import instance_of


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search the model and write its state graph. Raises UsageError, KeyboardInterrupt."""
    instance, request = instance_of(options.model), graph_request_of(options)
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
