"""`check --report DIR`: the folder of a report.

A new report replaces the earlier one (checker/running/marked_folder.py). While a search runs, and after a crash, the
page says that `check` has not finished, so that nobody mistakes an old report for a new one.
"""

from __future__ import annotations

import errno
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from isrcheck.checker.command.options import Options
from isrcheck.checker.reports.build_files import junit, regressions, sarif
from isrcheck.checker.reports.content import ReportContent, unfinished
from isrcheck.checker.reports.gather import content_of
from isrcheck.checker.reports.page import page
from isrcheck.checker.results.run import CommandResult
from isrcheck.checker.running.marked_folder import MarkedFolder
from isrcheck.commands.exit_codes import UNDECIDED
from isrcheck.models.messages import UsageError
from isrcheck.traces.drawing.page import page as trace_page
from isrcheck.traces.format.files import SUFFIX

TRACES = "traces"
OURS = re.compile(
    rf"index\.html|junit\.xml|results\.sarif|test_regressions\.py|{TRACES}/[\w.-]+({re.escape(SUFFIX)}|\.html)"
)
REPORT = MarkedFolder("report", version=1, option="--report DIR", ours=OURS, folders=(TRACES,))


def begin(options: Options) -> str:
    """Write a report which says that `check` has not finished. Returns an empty text; or, if the disk or a quota is
    full and the command can answer without a report, the reason why there will be no report. Raises UsageError if the
    folder has files that isrcheck did not write, or if it cannot be written for another reason."""
    folder = options.own["report"]
    try:
        REPORT.refuse_strangers(folder)
        folder.mkdir(parents=True, exist_ok=True)
        REPORT.put(folder, _files(folder, unfinished(shlex.join(options.words), UNDECIDED)))
    except OSError as error:
        why = f"{error.filename or folder}: {error.strerror}; give another folder with --report DIR"
        if error.errno in (errno.ENOSPC, errno.EDQUOT) and options.form.answer_stands:
            return f"{why}; the answer comes without a report"
        raise UsageError(why) from None
    return ""


def finish(options: Options, result: CommandResult, code: int) -> str:
    """Write the report of a command that ends with exit code `code`. Returns the reason if writing fails, else an empty
    text. Raises KeyboardInterrupt if the user interrupts the writing."""
    if result.found is None:
        return ""
    folder = options.own["report"]
    try:
        report = replace(
            content_of(result.found, strict=options.output.strict),
            command=shlex.join(options.words),
            text=result.details or result.text,
            code=code,
            is_cut=result.is_interrupted,
            failure=result.failure,
        )
        REPORT.put(folder, _files(folder, report))
    except OSError as error:
        why = f"{error.filename or folder}: the report cannot be written: {error.strerror}"
        return f"{why}; make room, or give another folder with --report DIR"
    except UsageError as error:
        return f"{folder}: the report cannot be written: {error}"
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{folder}: interrupted before the report was written") from None
    return ""


def _files(folder: Path, report: ReportContent) -> Mapping[str, bytes]:
    traces = [trace_file for search in report.searches for trace_file in search.traces]
    now = datetime.now(UTC)
    texts = {f"{TRACES}/{file.name}.html": trace_page(file.trace, index="../index.html").alone() for file in traces} | {
        "junit.xml": junit(report, now.strftime("%Y-%m-%dT%H:%M:%S")),
        "results.sarif": sarif(report),
        "test_regressions.py": regressions(report, folder),
        "index.html": page(report, now.strftime("%Y-%m-%d %H:%M UTC")).alone(),
    }
    copies = {f"{TRACES}/{file.path.name}": file.path.read_bytes() for file in traces}
    return copies | {name: text.encode(errors="replace") for name, text in texts.items()}
