"""`check --report DIR`: declares the option, and writes the report. This module does not import the search.

In:  `Options`, and the result of a command.
Out: the files of the report, or the reason why they could not be written.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from isrcheck.checker.command.check_options import CONFIG, DESCRIBE, DOCTOR, MATRIX, MODEL, SWEEP
from isrcheck.checker.command.form import Options
from isrcheck.checker.command.option import Option
from isrcheck.checker.command.option_values import path
from isrcheck.checker.forms.table import NO_REPORT

if TYPE_CHECKING:
    from isrcheck.checker.reports.content import ReportContent
    from isrcheck.checker.session.command_result import CommandResult

OPTION = Option(
    name="--report",
    metavar="DIR",
    help="write a report to DIR: an HTML page with traces, JUnit, SARIF and pytest files",
    read=path,
    forms=frozenset({MATRIX, MODEL, SWEEP, CONFIG, DESCRIBE, DOCTOR}),
    refusal=NO_REPORT,
)


def begin(options: Options) -> str:
    """If a report was requested, put an unfinished report into its folder. Raises UsageError; but where the answer
    stands without a report, and only room is missing, returns why there will be none. Otherwise returns an empty text.
    """
    folder: Path | None = options.own[OPTION.field]
    if folder is None:
        return ""
    from isrcheck.checker.reports import folder as reports

    try:
        reports.begin(folder, shlex.join(options.words))
    except reports.NoRoomError as error:
        if options.form.answer_stands:
            return f"{error}; the answer comes without a report"
        raise
    return ""


def finish(options: Options, result: CommandResult, code: int) -> str:
    """Write the report of a command that ends with exit code `code`. Returns the reason if writing fails, else an empty
    text. Raises KeyboardInterrupt if the user interrupts the writing."""
    folder: Path | None = options.own[OPTION.field]
    if folder is None or result.found is None:
        return ""
    from isrcheck.checker.reports import folder as reports
    from isrcheck.checker.reports.gather import content_of

    def make() -> ReportContent:
        return replace(
            content_of(result.found, strict=options.strict),
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
