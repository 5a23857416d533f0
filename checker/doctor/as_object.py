"""The answers as the object of --json, which docs/json.md describes.

In:  the answers of a command, the state of the partitions, and remarks on the files.
Out: a mapping of plain values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isrcheck.checker.doctor.answer import Answer, Availability, Exposure, Tried
from isrcheck.checker.doctor.cluster_table import rows_of
from isrcheck.checker.doctor.eligible_leaders import coordinator_rows, operator_rows
from isrcheck.checker.doctor.history import told
from isrcheck.checker.doctor.now import Now
from isrcheck.checker.doctor.text import how_lost, works
from isrcheck.checker.kafka_config.cluster import Cluster
from isrcheck.checker.questions.finding import Finding


def as_object(answers: Sequence[Answer], now: Now, remarks: Sequence[str]) -> dict[str, Any]:
    """Return the object: the headline of the worst answer, and every distinct case with the topics that have it."""
    rows = rows_of(answers)
    worst = rows[0].first
    return {
        "headline": worst.headline,
        "kind": worst.kind.value,
        "verdict": worst.verdict.value,
        "answers": [_answer(row.first) | {"topics": row.topics, "partitions": row.partitions} for row in rows],
        "now": {
            "without_leader": [one.name for one in now.without_leader],
            "below_min_isr": [one.name for one in now.below_min_isr],
            "under_replicated": [one.name for one in now.under_replicated],
        },
        "remarks": list(remarks),
    }


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "headline": answer.headline,
        "kind": answer.kind.value,
        "verdict": answer.verdict.value,
        "why": answer.why_unknown or answer.why_broken,
        "nearest": answer.nearest.value if answer.cluster.generation.why_undecided else None,
        "how": how_lost(answer),
        "is_allowed": answer.is_allowed,
        "changes": [_tried(one) for one in answer.advice.changes],
        "defects": [_exposure(one) for one in answer.exposures],
        "unsearched": {one.number: why for one, why in answer.unsearched},
        "availability": _availability(answer.availability),
        "tolerated_losses_of_brokers": answer.tolerated,
        "beware": [says for _, says in operator_rows(answer.case, answer.cluster)],
        "coordinators": {
            label.lower(): says for label, says in coordinator_rows(answer.cluster, answer.defects_of_partitions)
        },
        "cluster": _cluster(answer.cluster),
        "case": answer.case.as_object(),
        "findings": {question.text: _finding(found) for question, found in answer.findings.items()},
    }


def _tried(one: Tried) -> dict[str, Any]:
    return {
        "change": one.change.spelled,
        "settings": {setting.key: setting.text for setting in one.change.settings},
        "how": one.change.how,
        "finding": _finding(one.finding),
        "availability": None if one.availability is None else _availability(one.availability),
    }


def _exposure(one: Exposure) -> dict[str, Any]:
    return {
        "number": one.failure.number,
        "name": one.failure.name,
        "title": one.failure.title,
        "since": one.failure.since,
        "repaired": list(one.failure.repaired),
        "needs_a_disk": one.is_of_disks,
        "is_exposed": one.is_shown,
        "finding": _finding(one.finding),
        "avoided_by": [_tried(tried) for tried in one.avoided_by],
        "every_setting_was_tried": one.is_tried,
    }


def _finding(found: Finding) -> dict[str, Any]:
    needs = None if found.history is None else dict(told(found.history).counts)
    return found.as_object() | {"needs": needs}


def _availability(found: Availability) -> list[dict[str, Any]]:
    return [
        {"brokers_down": down, "writes": works(write), "reads": works(read)}
        for down, (write, read) in enumerate(zip(found.writes, found.reads, strict=True))
    ]


def _cluster(cluster: Cluster) -> dict[str, Any]:
    return {
        "kafka_version": cluster.kafka_version.value if cluster.kafka_version else None,
        "protocol": cluster.generation.protocol,
        "is_nearest": cluster.generation.why_undecided is not None,
        "taken": cluster.generation.taken,
        "assumed": list(cluster.assumed),
        "understood": [
            {"key": u.key, "value": u.value, "meaning": u.meaning, "source": u.source} for u in cluster.understood
        ],
        "ignored": [
            {"key": i.key, "value": i.value, "why": i.why.value, "reason": i.reason, "source": i.source}
            for i in cluster.ignored
        ],
    }
