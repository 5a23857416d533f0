"""The answers of the atlas as a Parquet file: one row for each question about each case.

In:  the sheets.
Out: the content of the file, with the columns of `CELLS`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence

from isrcheck.checker.atlas.pages.content import Column as Asked
from isrcheck.checker.atlas.pages.content import Line, Sheet
from isrcheck.checker.questions.finding import Finding
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.results.verdict import Word
from isrcheck.checker.tables.columns import Column, Table, Type
from isrcheck.checker.tables.write import TableRow, encoded

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
    """Whether the package that writes Parquet is installed."""
    return importlib.util.find_spec("pyarrow") is not None


def parquet(sheets: Sequence[Sheet]) -> bytes:
    """Return the file with every answer of these sheets."""
    return encoded(CELLS, list(_rows(sheets)))


def _rows(sheets: Sequence[Sheet]) -> Iterator[TableRow]:
    for sheet in sheets:
        for line in sheet.lines:
            for column, findings in zip(sheet.kind.columns, line.findings, strict=True):
                for question, finding in findings.items():
                    yield _of_case(sheet, line, column) | _of_question(question) | _of_finding(finding)


def _of_case(sheet: Sheet, line: Line, column: Asked) -> TableRow:
    case, varied = line.case, sheet.kind.settings
    return {
        "table": sheet.kind.title.lower(),
        "releases": line.releases,
        "generation": case.protocol,
        **{name: getattr(case, name) for name in _ALWAYS},
        **{name: getattr(case, name) if name in varied else None for name in _VARIED},
        "flushes_every_message": column.changes.get("flushes_every_message", False)
        if "leader_rebalance" in varied
        else None,
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
        "states": sum(part.states for part in finding.parts),
        "witnesses": len(finding.witnesses),
        "rule": finding.rule or None,
        "recorded": finding.recorded or None,
        "note": finding.note or None,
        "steps": list(finding.history.steps) if finding.history is not None else [],
    }


_ALWAYS = ("acks", "replication_factor", "min_insync_replicas")
_VARIED = ("unclean_election", "leader_rebalance", "enable_idempotence", "retries", "max_in_flight_requests")
_ANSWER = ("verdict", "step", "to_the_end", "to_depth", "states", "witnesses", "rule", "recorded", "note")
