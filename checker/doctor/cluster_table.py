"""The answers for a whole cluster as a table: each distinct case once, the worst first.

In:  an `Answer` for each distinct configuration of a topic.
Out: lines of text, of which the first is the headline of the worst answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isrcheck.checker.doctor.answer import Answer, Kind
from isrcheck.checker.doctor.now import Now
from isrcheck.checker.doctor.text import left_out, reach, source_of
from isrcheck.checker.kafka_config.cluster import Cluster
from isrcheck.checker.kafka_config.describe import listed
from isrcheck.checker.questions.case import Case
from isrcheck.checker.results.terminal import counted, table
from isrcheck.checker.results.verdict import Word

ORDER = list(Kind)


@dataclass(frozen=True)
class Row:
    """Answers with the same case and the same first line, and how many topics and partitions they are for."""

    answers: tuple[Answer, ...]

    @property
    def first(self) -> Answer:
        """The answer that stands for all."""
        return self.answers[0]

    @property
    def topics(self) -> list[str]:
        """The names of the topics, in order."""
        return sorted(name for one in self.answers for name in one.cluster.topics)

    @property
    def partitions(self) -> int:
        """The number of described partitions."""
        return sum(len(one.cluster.partitions) for one in self.answers)


def rows_of(answers: Sequence[Answer]) -> list[Row]:
    """Return the rows, the worst first; of equally bad ones, those with most known defects, then most partitions."""
    alike: dict[tuple[Case, str], list[Answer]] = {}
    for one in answers:
        alike.setdefault((one.case, one.headline), []).append(one)
    rows = [Row(tuple(some)) for some in alike.values()]
    return sorted(
        rows, key=lambda row: (ORDER.index(row.first.kind), -len(row.first.exposed), -row.partitions, row.topics)
    )


def table_lines(answers: Sequence[Answer], now: Now, remarks: Sequence[str] = ()) -> list[str]:
    """Return the table, with the state of the partitions before it; `remarks` say what is missing in the files."""
    rows = rows_of(answers)
    worst = rows[0].first
    topics, partitions = sum(len(row.topics) for row in rows), sum(row.partitions for row in rows)
    lines = [worst.headline, ""]
    lines += [f"  Now: {line}" for line in now.lines()]
    lines += [f"  Files: {remark}" for remark in remarks]
    lines += [f"  Ignored: {line}" for line in dict.fromkeys(line for one in answers for line in left_out(one.cluster))]
    if now.under_replicated:
        count = counted(len(now.under_replicated), "partition")
        lines.append(f"  Now: not every replica is in sync: {count} more ({_names(now)})")
    lines.append(
        f"  {counted(topics, 'topic')} with {counted(partitions, 'partition')}, {counted(len(rows), 'distinct case')},"
        f" {_release(worst.cluster)}"
    )
    cells = [["answer", "topics", "partitions", "settings", "change", "which"]]
    cells += [
        [
            row.first.headline,
            f"{len(row.topics):,}",
            f"{row.partitions:,}",
            settings_of(row.first),
            change_of(row.first),
            listed(row.topics),
        ]
        for row in rows
    ]
    lines += ["", *table(cells, "  ", frozenset({1, 2})), ""]
    assumed = dict.fromkeys(line for one in answers for line in one.cluster.assumed)
    lines += [f"  Assumed: {line}" for line in assumed]
    findings = [found for row in rows for found in row.first.every_finding]
    if findings:
        lines.append(f"  Source: {source_of(findings)}")
    lines.append("  --topic-name NAME shows one topic in full")
    return lines


def settings_of(answer: Answer) -> str:
    """Return the settings in which the cases of a cluster usually differ."""
    case = answer.case
    replicas = case.replication_factor if answer.cluster.is_replication_given else "?"
    words = [f"replicas={replicas}", f"min.insync={case.min_insync_replicas}", f"acks={case.acks}"]
    words += ["unclean election"] if case.unclean_election else []
    words += ["flushed"] if case.flushes_every_message else []
    return " ".join(words)


def change_of(answer: Answer) -> str:
    """Return the smallest change that helps: against the loss of records, or one against each of the known defects."""
    if answer.kind is Kind.BROKEN:
        return f"min.insync.replicas={answer.cluster.replication_factor.value} or less"
    alternatives = answer.advice.changes or (answer.exposed[0].avoided_by if len(answer.exposed) == 1 else ())
    if alternatives:
        return " or ".join(one.change.spelled for one in alternatives[:2])
    cures = list(dict.fromkeys(one.avoided_by[0].change.spelled for one in answer.exposed if one.avoided_by))
    if cures:
        without = [one.failure.number for one in answer.exposed if not one.avoided_by]
        return "; ".join(cures) + (f"; nothing against {', '.join(without)}" if without else "")
    loss = answer.loss
    if answer.kind is Kind.KEEPS and loss is not None:
        return f"- ({reach(loss)})" if loss.word is not Word.NOT_APPLICABLE else "-"
    return "-"


def _names(now: Now) -> str:
    return listed([one.name for one in now.under_replicated])


def _release(cluster: Cluster) -> str:
    values = {one.key: one for one in cluster.understood}
    found = values["Kafka version"]
    return f"Kafka {found.value} ({found.source})"
