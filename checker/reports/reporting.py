"""`check --report DIR`: writes the report of a command.

In:  `Options` with a folder for the report, and the result of the command.
Out: the files of the report, or the reason why they could not be written.
"""

from __future__ import annotations

import shlex
from dataclasses import replace

from isrcheck.checker.command.options import Options
from isrcheck.checker.reports import folder as reports
from isrcheck.checker.reports.content import ReportContent
from isrcheck.checker.reports.gather import content_of
from isrcheck.checker.results.run import CommandResult


def begin(options: Options) -> str:
    """Put an unfinished report into its folder. Raises UsageError; but if only disk space is missing, and the answer is
    valid without a report, returns why there will be no report. Otherwise returns an empty text."""
    try:
        reports.begin(options.own["report"], shlex.join(options.words))
    except reports.NoRoomError as error:
        if options.form.answer_stands:
            return f"{error}; the answer comes without a report"
        raise
    return ""


def finish(options: Options, result: CommandResult, code: int) -> str:
    """Write the report of a command that ends with exit code `code`. Returns the reason if writing fails, else an empty
    text. Raises KeyboardInterrupt if the user interrupts the writing."""
    if result.found is None:
        return ""
    folder = options.own["report"]

    def make() -> ReportContent:
        return replace(
            content_of(result.found, strict=options.output.strict),
            command=shlex.join(options.words),
            text=result.details or result.text,
            code=code,
            is_cut=result.is_interrupted,
            failure=result.failure,
        )

    try:
        return reports.write(folder, make)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{folder}: interrupted before the report was written") from None
