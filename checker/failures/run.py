"""`check failures`: searches the library of known failures, or some of them.

In:  `Options`, and a session.
Out: a `CommandResult`; trace files; with --page, a page for each failure; on stderr, which of several is searched.
"""

from __future__ import annotations

from isrcheck.checker.command.options import Options
from isrcheck.checker.failures import pages, text
from isrcheck.checker.failures.choose import chosen
from isrcheck.checker.failures.found import Searched
from isrcheck.checker.failures.search import search
from isrcheck.checker.session.command_result import CommandResult, was_interrupted
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.checker.session.session import SearchSession
from isrcheck.checker.session.trace_writer import TraceWriter
from isrcheck.commands.exit_codes import SAFE, UNDECIDED, UNEXPECTED


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search the chosen failures. Raises UsageError for an unknown one, or if a page cannot be written."""
    folder = options.own["page"]
    asked = chosen(options)
    if folder is not None:
        pages.begin(folder)
    found: list[Searched] = []
    stopped, failure = False, ""
    progress = ProgressLine("failures")
    for place, one in enumerate(asked, start=1):
        if len(asked) > 1 and one.history is not None:
            progress.announce(f"{one.number} {one.name}, {place} of {len(asked)}")
        traces = TraceWriter(options.output.folder)
        try:
            found.append(search(one, session, options.limits, traces))
        except KeyboardInterrupt:
            stopped = True
            break
        failure = failure or traces.failure
        searches = [run.exploration for run in found[-1].runs]
        if was_interrupted(searches):
            stopped = True
            break
    missing = len(asked) - len(found)
    code = SAFE
    if any(one.differs for one in found):
        code = UNEXPECTED
    elif missing or any(one.is_undecided for one in found):
        code = UNDECIDED
    content = text.as_object(found, missing, code)
    if folder is not None:
        pages.write(folder, found)
    return CommandResult(
        text.text(found, missing, code, is_detailed=bool(options.model.target)), content, code, failure, stopped
    )
