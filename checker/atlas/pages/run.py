"""`check atlas` and `isrcheck atlas`: writes the record of the atlas as pages. Nothing is searched.

In:  `Options`, with the folder.
Out: a `CommandResult`; the folder.
"""

from __future__ import annotations

import time
from pathlib import Path

from isrcheck.checker.atlas.clusters import clusters
from isrcheck.checker.atlas.pages import folder as pages
from isrcheck.checker.atlas.pages.content import Sheet, sheets
from isrcheck.checker.atlas.pages.index import Facts
from isrcheck.checker.command.options import Options
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.concerns import key_of
from isrcheck.checker.questions.finding import Finding
from isrcheck.checker.questions.question import Question
from isrcheck.checker.questions.recorded import Recorded
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exit_codes import SAFE
from isrcheck.checker.results.run import CommandResult
from isrcheck.checker.results.terminal import ProgressLine, counted, human_bytes
from isrcheck.checker.spark.session import INSTALL
from isrcheck.models.kafka.atlas.catalogue import Record
from isrcheck.models.messages import UsageError


class _Nobody:
    """Answers nothing: what is not recorded is not searched for the pages."""

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Is never asked."""
        raise AssertionError(f"{question.text} was to be looked up: {case}, {limits}")


class Reading:
    """The record as answers; each is looked up once. `outdated` counts those that are of other models or searches."""

    def __init__(self, record: Record) -> None:
        self._recorded = Recorded(_Nobody(), record)
        self._known: dict[object, Finding | None] = {}
        self.outdated = 0

    def answer(self, case: Case, question: Question) -> Finding | None:
        """The recorded answer; None if there is none that holds for the models as they are now."""
        key = key_of(case, question)
        if key not in self._known:
            self._known[key] = self._recorded.find(case, question)
            self.outdated += bool(self._recorded.outdated)
        return self._known[key]


def run(options: Options, _session: object) -> CommandResult:
    """Write the pages. Raises UsageError if there is no record, or if the folder has other files."""
    folder: Path = options.own["output"]
    pages.begin(folder)
    try:
        record = Record()
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"the record of the atlas cannot be read ({error}); install isrcheck again") from None
    progress, began = ProgressLine("atlas"), time.monotonic()
    reading = Reading(record)
    tables = sheets(clusters(), reading.answer)
    files = pages.files_of(tables, _facts(record, tables), lambda what: progress.tell(what, time.monotonic() - began))
    progress.clear()
    pages.write(folder, files)
    return _told(folder, files, tables, reading.outdated)


def _facts(record: Record, tables: list[Sheet]) -> Facts:
    findings = (one for sheet in tables for line in sheet.lines for some in line.findings for one in some.values())
    day = min((one.recorded for one in findings if one is not None and one.recorded), default="")
    header = record.header
    limits = (
        f"{counted(header['cells'], 'question')} answered by {counted(header['searches'], 'search')}, each of at most"
        f" {header['limit']:g} seconds. Up to three replicas are searched to the end where that is possible; four are"
        " searched to depth 10 at most, and five to depth 8. Where a search with fewer replicas answers for more, the"
        " cell names the rule. Faults are limited in number, as each search says."
    )
    return Facts(day, str(header["models"]["kafka"])[:12], limits, None)


def _told(folder: Path, files: dict[str, bytes], tables: list[Sheet], outdated: int) -> CommandResult:
    has_parquet = pages.PARQUET in files
    size = sum(map(len, files.values()))
    cases = {sheet.kind.title.lower(): len(sheet.lines) for sheet in tables}
    lines = [str(folder / pages.INDEX)]
    lines.append(
        f"{counted(len(files), 'file')}, {human_bytes(size)}: "
        + ", ".join(f"{counted(count, 'case')} of {name}" for name, count in cases.items())
    )
    if not has_parquet:
        lines.append(f"{pages.PARQUET} was left out, because the package pyarrow is not installed: {INSTALL}")
    if outdated:
        lines.append(f"{counted(outdated, 'recorded answer')} left out: the models or the searches have changed since")
    return CommandResult("\n".join(lines), {}, SAFE)
