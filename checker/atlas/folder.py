"""`check atlas` and `isrcheck atlas`: writes the record of the atlas as a folder of pages. Nothing is searched.

The folder has the tables, the pages to which the cells of the tables link, and a Parquet file with a row for each
question about a case.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from isrcheck.checker.answers.findings import Finding
from isrcheck.checker.answers.questions import Case, Question, Topic, key_of
from isrcheck.checker.answers.recorded import Record, Recorded
from isrcheck.checker.atlas.cells import clusters
from isrcheck.checker.atlas.page import WHOLE, Facts, View, whole, with_filters
from isrcheck.checker.atlas.proofs import DEFECTS, SEARCHES, TRACES, Histories, Searches, defect_pages
from isrcheck.checker.atlas.tables import KINDS, Cells, Line, Sheet, rows_of, settings_of, sheets
from isrcheck.checker.atlas.tables import Column as Asked
from isrcheck.checker.command.options import Options
from isrcheck.checker.results.run import CommandResult
from isrcheck.checker.results.terminal import ProgressLine, counted, human_bytes
from isrcheck.checker.results.verdict import Word
from isrcheck.checker.running.marked_folder import MarkedFolder
from isrcheck.checker.spark.session import INSTALL
from isrcheck.checker.tables.columns import Column, Table, Type
from isrcheck.checker.tables.write import TableRow, encoded
from isrcheck.commands.exit_codes import SAFE
from isrcheck.models.messages import UsageError

INDEX, PARQUET = "index.html", "atlas.parquet"
_FILES = "|".join(re.escape(kind.file) for kind in KINDS)
OURS = re.compile(rf"({WHOLE})?({_FILES})|{re.escape(PARQUET)}|({TRACES}|{SEARCHES}|{DEFECTS})/[\w.-]+\.html")
ATLAS = MarkedFolder("atlas", version=1, option="-o DIR", ours=OURS, folders=(TRACES, SEARCHES, DEFECTS))


def files_of(
    sheets: Sequence[Sheet], facts: Facts, tell: Callable[[str], None] = lambda name: None
) -> dict[str, bytes]:
    """Return the content of every file by its name; `tell` receives the name of each file before it is made. Raises
    UsageError if the model cannot take the steps of a recorded history."""
    histories, searches = Histories(), Searches()
    cells = Cells(histories, searches)
    facts = replace(facts, parquet=PARQUET if is_installed() else None)
    tell("rows")
    views = []
    for sheet in sheets:
        settings = settings_of(sheet.kind.settings)
        rows = rows_of(sheet, settings, partial(cells.of, columns=sheet.kind.columns))
        views.append(View(sheet.kind, sheet.lines, rows, settings))
    cells_shown = (cell for view in views for row in view.rows for cell in row.cells)
    named = sorted({name for cell in cells_shown for name in (*cell.failures, *cell.beside)})
    kinds = [view.kind for view in views]
    tables = (
        (name, make(view, kinds, facts))
        for view in views
        for name, make in ((view.kind.file, with_filters), (WHOLE + view.kind.file, whole))
    )
    files: dict[str, bytes] = {}
    for name, page in itertools.chain(tables, searches.pages(), histories.pages(), defect_pages(named)):
        tell(name)
        files[name] = page.alone().encode()
    if facts.parquet:
        tell(PARQUET)
        files[PARQUET] = parquet(sheets)
    return files


# --- The Parquet file ---

CELLS = Table(
    "A row is one question about one case of one table of the atlas. A setting that the table does not vary is null.",
    (
        Column("table", Type.TEXT, "`topics`, `producers` or `transactions`."),
        Column("releases", Type.TEXT, "The releases of Kafka that have this answer."),
        Column("generation", Type.TEXT, "The generation of the model."),
        Column("acks", Type.TEXT, "`acks`."),
        Column("replication_factor", Type.WHOLE, "`replication.factor`."),
        Column("min_insync_replicas", Type.WHOLE, "`min.insync.replicas`."),
        Column("unclean_election", Type.TRUTH, "`unclean.leader.election.enable`.", may_lack=True),
        Column("leader_rebalance", Type.TRUTH, "`auto.leader.rebalance.enable`.", may_lack=True),
        Column("flushes_every_message", Type.TRUTH, "Whether `log.flush.interval.messages` is 1.", may_lack=True),
        Column("enable_idempotence", Type.TRUTH, "`enable.idempotence`.", may_lack=True),
        Column("retries", Type.TRUTH, "Whether the producer sends requests again.", may_lack=True),
        Column("max_in_flight_requests", Type.WHOLE, "`max.in.flight.requests.per.connection`: 1 or 5.", may_lack=True),
        Column("transactions", Type.MAP, "The entries of the model `transactions`; empty in the other tables."),
        Column("question", Type.TEXT, "`loss`, `power`, `power-of-all`, `writes`, `survives`, ... or `defect`."),
        Column("brokers_down", Type.WHOLE, "The brokers that are down, for `writes` and `reads`.", may_lack=True),
        Column("brokers_lost", Type.WHOLE, "The brokers that are lost for good, for `survives`.", may_lack=True),
        Column("defect", Type.TEXT, "The name of the known failure, for `defect`.", may_lack=True),
        Column("verdict", Type.TEXT, "The verdict, as in README.md; null if it is not recorded.", may_lack=True),
        Column("step", Type.WHOLE, "The step at which the property fails or is reached.", may_lack=True),
        Column("to_the_end", Type.TRUTH, "Whether all its searches went to the end.", may_lack=True),
        Column("to_depth", Type.WHOLE, "If not, the depth to which all states were judged.", may_lack=True),
        Column("states", Type.WHOLE, "The distinct states of its searches.", may_lack=True),
        Column("witnesses", Type.WHOLE, "The searches which show that the others can find something.", may_lack=True),
        Column("rule", Type.TEXT, "The rule by which the answer was derived.", may_lack=True),
        Column("recorded", Type.TEXT, "The day of the search, YYYY-MM-DD.", may_lack=True),
        Column("note", Type.TEXT, "Why there is no answer.", may_lack=True),
        Column("steps", Type.TEXTS, "The shortest history, if the property fails."),
    ),
)


def is_installed() -> bool:
    """Whether pyarrow is installed, the package that writes Parquet."""
    return importlib.util.find_spec("pyarrow") is not None


def parquet(sheets: Sequence[Sheet]) -> bytes:
    """Return the content of the Parquet file: a row for every answer in these tables."""
    rows = [
        _of_case(sheet, line, column) | _of_question(question) | _of_finding(finding)
        for sheet, line, column, question, finding in _findings(sheets)
    ]
    return encoded(CELLS, rows)


def _findings(sheets: Sequence[Sheet]) -> Iterator[tuple[Sheet, Line, Asked, Question, Finding | None]]:
    for sheet in sheets:
        for line in sheet.lines:
            for column, findings in zip(sheet.kind.columns, line.findings, strict=True):
                for question, finding in findings.items():
                    yield sheet, line, column, question, finding


def _of_case(sheet: Sheet, line: Line, column: Asked) -> TableRow:
    case, varied = line.case, sheet.kind.settings
    flushes = column.changes.get("flushes_every_message", False)
    return {
        "table": sheet.kind.title.lower(),
        "releases": line.releases,
        "generation": case.protocol,
        **{name: getattr(case, name) for name in _ALWAYS},
        **{name: getattr(case, name) if name in varied else None for name in _VARIED},
        "flushes_every_message": flushes if "leader_rebalance" in varied else None,
        "transactions": dict(case.transactions),
    }


def _of_question(question: Question) -> TableRow:
    topic = question.topic
    return {
        "question": topic.value,
        "brokers_down": question.number if topic in (Topic.WRITES, Topic.READS) else None,
        "brokers_lost": question.number if topic is Topic.SURVIVES else None,
        "defect": question.name or None,
    }


def _of_finding(finding: Finding | None) -> TableRow:
    if finding is None:
        return dict.fromkeys(_ANSWER) | {"steps": []}
    depth = finding.least_depth
    is_answered = finding.word not in (Word.NOT_APPLICABLE, Word.UNDECIDED)
    return {
        "verdict": finding.word.value,
        "step": finding.depth if finding.fails or finding.word is Word.REACHED else None,
        "to_the_end": depth is None if finding.parts and is_answered else None,
        "to_depth": depth,
        "states": sum(result.states for _, result in finding.parts),
        "witnesses": len(finding.witnesses),
        "rule": finding.rule or None,
        "recorded": finding.recorded or None,
        "note": finding.note or None,
        "steps": list(finding.history.steps) if finding.history is not None else [],
    }


_ALWAYS = ("acks", "replication_factor", "min_insync_replicas")
_VARIED = ("unclean_election", "leader_rebalance", "enable_idempotence", "retries", "max_in_flight_requests")
_ANSWER = ("verdict", "step", "to_the_end", "to_depth", "states", "witnesses", "rule", "recorded", "note")


# --- The command ---


class Reading:
    """Reads answers from the record, each answer only once."""

    def __init__(self, record: Record) -> None:
        self.recorded = Recorded(record)
        self._known: dict[object, Finding | None] = {}
        self.outdated = 0
        """The number of recorded answers that are left out, because the models or the searches have changed."""

    def answer(self, case: Case, question: Question) -> Finding | None:
        """The recorded answer; None if no answer is recorded, or if its models or searches have changed since."""
        key = key_of(case, question)
        if key not in self._known:
            self._known[key] = self.recorded.find(case, question)
            self.outdated += bool(self.recorded.outdated)
        return self._known[key]


def run(options: Options, _session: object) -> CommandResult:
    """Write the pages. Raises UsageError if there is no record, or the folder has files that isrcheck did not write."""
    folder: Path = options.own["output"]
    with _named_in_errors(folder):
        ATLAS.refuse_strangers(folder)
        folder.mkdir(parents=True, exist_ok=True)
    try:
        record = Record()
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"the record of the atlas cannot be read ({error}); install isrcheck again") from None
    progress, began = ProgressLine("atlas"), time.monotonic()
    reading = Reading(record)
    tables = sheets(clusters(), reading.answer)
    files = files_of(tables, _facts(record, tables), lambda name: progress.tell(name, time.monotonic() - began))
    progress.clear()
    with _named_in_errors(folder):
        ATLAS.put(folder, files)
    return _result(folder, files, tables, reading.outdated)


@contextmanager
def _named_in_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        cure = f"give another folder with {ATLAS.option}"
        raise UsageError(f"{error.filename or folder}: {error.strerror}; {cure}") from None


def _facts(record: Record, tables: list[Sheet]) -> Facts:
    findings = (finding for *_, finding in _findings(tables) if finding is not None)
    day = min((finding.recorded for finding in findings if finding.recorded), default="")
    header = record.header
    limits = (
        f"{counted(header['cells'], 'question')} answered by {counted(header['searches'], 'search')}, each of at most"
        f" {header['limit']:g} seconds. Up to three replicas are searched to the end where that is possible; four are"
        " searched to depth 10 at most, and five to depth 8. Where a search with fewer replicas answers for more, the"
        " cell names the rule. Faults are limited in number, as each search says."
    )
    return Facts(day, str(header["models"]["kafka"])[:12], limits, None)


def _result(folder: Path, files: dict[str, bytes], tables: list[Sheet], outdated: int) -> CommandResult:
    size = human_bytes(sum(map(len, files.values())))
    cases = ", ".join(f"{counted(len(sheet.lines), 'case')} of {sheet.kind.title.lower()}" for sheet in tables)
    lines = [str(folder / INDEX), f"{counted(len(files), 'file')}, {size}: {cases}"]
    if PARQUET not in files:
        lines.append(f"{PARQUET} was left out, because the package pyarrow is not installed: {INSTALL}")
    if outdated:
        lines.append(f"{counted(outdated, 'recorded answer')} left out: the models or the searches have changed since")
    return CommandResult("\n".join(lines), {}, SAFE)
