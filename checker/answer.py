"""`check --config`: the verdict for a cluster, from Kafka's own property files.

In:  a `Cluster` (checker/cluster.py), and the searches of the instances that it is turned into.
Out: what was understood, which promise holds and which can break, with the shortest history, and how far that reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.cluster import Cluster, Role, WhyIgnored, read_cluster
from checker.report import Run, as_object, faults_line, table, totals
from checker.verdict import Verdict, Word, overall
from models.kafka import MODEL
from models.language.declare import Kind
from models.language.model import Instance

SECONDS = 60.0
"""How long an answer may take unless the person says otherwise."""

ASIDE_SHARE = 0.1
"""The part of that time for each question asked on the side."""

MAIN = "as configured"
ASIDES = {
    "power_losses": "one broker loses its unflushed data (power)",
    "disk_losses": "one broker comes back with an empty disk",
}
FAULT_ACTIONS = {"broker_loses_power", "broker_loses_disk"}
PROMISE = "acked_not_lost"


@dataclass(frozen=True)
class Question:
    """A cluster, and the model of it (None where its generation is not modelled, and why)."""

    cluster: Cluster
    instance: Instance | None
    why_undecided: str | None

    def asides(self) -> list[tuple[str, Instance]]:
        """The questions on the side, which do not decide the verdict: one more fault each."""
        assert self.instance is not None
        values = dict(self.instance.configuration.items())
        return [(says, MODEL.instance(self.cluster.protocol, values | {fault: 1})) for fault, says in ASIDES.items()]


def read_question(files: Sequence[tuple[Role | None, Path]], kafka_version: str | None) -> Question:
    """Read the files and model the cluster. Raises PropertiesError, UsageError."""
    cluster = read_cluster(files, kafka_version)
    most = MODEL.entries["replicas"].most or 0
    replicas = cluster.replication_factor.value
    why = cluster.why_undecided
    if why is None and replicas > most:
        why = f"{replicas} replicas are more than the model takes ({most})"
    if why is not None or cluster.protocol is None:
        return Question(cluster, None, why)
    acks = {"all": -1, "0": 0, "1": 1}[cluster.acks.value]
    values = {
        "replicas": replicas,
        "acks": acks,
        # More than all of them is never reached, whatever the number.
        "min_insync_replicas": min(cluster.min_insync_replicas.value, replicas + 1),
        "unclean_elections": int(cluster.unclean_election.value),
    }
    return Question(cluster, MODEL.instance(cluster.protocol, values), None)


def word_of(run: Run) -> Word:
    """The verdict for the cluster: what is promised, without the properties that only guard the model."""
    return overall(promises(run), is_complete=run.exploration.is_complete)


def promises(run: Run) -> list[Verdict]:
    """The verdicts on what is promised."""
    return [verdict for verdict in run.verdicts if verdict.prop.kind is not Kind.SOMETIMES]


# --------------------------------------------------------------------------------------------------------------- text


def understood_lines(cluster: Cluster) -> list[str]:
    """What was read from the files, and what was not used and why."""
    lines = [
        "Understood",
        *table([[f"{u.key}={u.value}", u.meaning, f"({u.source})"] for u in cluster.understood], "  "),
    ]
    groups: dict[WhyIgnored, list[str]] = {}
    for ignored in cluster.ignored:
        groups.setdefault(ignored.why, []).append(f"{ignored.key}={ignored.value} ({ignored.source}): {ignored.reason}")
    for why, found in groups.items():
        if why is WhyIgnored.NO_BEARING:
            names = ", ".join(sorted({ignored.key for ignored in cluster.ignored if ignored.why is why}))
            lines += ["", f"Ignored, no bearing on replication: {names}"]
        else:
            lines += ["", f"Ignored, {why.value}:", *(f"  {one}" for one in found)]
    return lines


def refusal(question: Question) -> str:
    """The answer where the cluster's generation is not modelled."""
    return "\n".join([*understood_lines(question.cluster), "", f"UNDECIDED: {question.why_undecided}"])


def first_sentence(verdict: Verdict) -> str:
    """What the property says, in one sentence."""
    documentation = verdict.prop.function.documentation.split("\n\n")[0].replace("\n", " ")
    return " ".join(documentation.split())


def text(question: Question, main: Run, asides: Sequence[tuple[str, Run]], history: str) -> str:
    """The whole answer; `history` is the shortest one that breaks a promise, drawn."""
    instance = main.exploration.instance
    rows = [[v.prop.name, v.text, first_sentence(v)] for v in promises(main)]
    lines = [
        *understood_lines(question.cluster),
        "",
        f"Searched  {instance.configuration.replicas} brokers, {instance.configuration.records} records",
        f"          faults considered: {faults_line(instance)}",
        *table([["  " + one] for one in totals(main.exploration)]),
        "",
        "Promises",
        *table(rows, "  "),
    ]
    if not question.cluster.can_acknowledge_acks_all and question.cluster.acks.value == "all":
        reached = next(v for v in main.verdicts if v.prop.name == "a_write_is_acknowledged")
        lines += [
            "",
            f"No acks=all write is ever acknowledged ({reached.text}):"
            + " min.insync.replicas is above the number of replicas.",
        ]
    if history:
        lines += ["", "The shortest history", "", *(f"  {line}".rstrip() for line in history.splitlines())]
    lines += ["", "Beside the verdict (each with one such fault more)"]
    for says, run in asides:
        lines.append(f"  {says}: {aside_line(run)}")
    if main.traces:
        lines += ["", "Histories", *table([[name, main.show(path)] for name, path in main.traces.items()], "  ")]
    return "\n".join([*lines, "", verdict_line(main)])


def aside_line(run: Run) -> str:
    """What one fault more does to acknowledged records."""
    verdict = next(v for v in run.verdicts if v.prop.name == PROMISE)
    if verdict.permitted is not None and verdict.permitted.witness is not None:
        path = run.traces.get(f"{PROMISE} (permitted)") or run.traces.get(PROMISE)
        shown = f": {run.show(path)}" if path else ""
        instance = run.exploration.instance
        taken = {instance.step(number).action for number in verdict.permitted.witness.steps}
        without = "" if taken & FAULT_ACTIONS else " without it"
        return f"an acknowledged record can be lost{without}, at step {verdict.permitted.witness.depth}{shown}"
    exploration = run.exploration
    if exploration.exhausted:
        return "it loses no acknowledged record (the whole state space was searched)"
    return f"UNDECIDED: no acknowledged record is lost to depth {exploration.judged}"


def verdict_line(run: Run) -> str:
    """The verdict, in one line for the person who runs the cluster."""
    word = word_of(run)
    failing = [v for v in promises(run) if v.word is word and v.depth is not None]
    names = ", ".join(f"{v.prop.name} at step {v.depth}" for v in failing)
    exploration = run.exploration
    match word:
        case Word.VIOLATED:
            return f"VIOLATED: this configuration promises it, and it can break: {names}"
        case Word.PERMITTED:
            return f"PERMITTED: it can break, and this configuration promises nothing else: {names}"
        case Word.UNDECIDED:
            return (
                f"UNDECIDED: nothing that is promised breaks within {exploration.judged} steps; more was not searched"
            )
        case Word.NO_VIOLATION:
            left = f"{exploration.frontier:,} frontier states were left"
            return f"NO VIOLATION TO DEPTH {exploration.judged}: nothing that is promised breaks so far; {left}"
        case _:
            return "HOLDS: nothing that is promised breaks, in the whole state space of these bounds"


# --------------------------------------------------------------------------------------------------------------- json


def _cluster_object(cluster: Cluster) -> dict[str, Any]:
    return {
        "kafka_version": cluster.kafka_version.value if cluster.kafka_version else None,
        "protocol": cluster.protocol,
        "understood": [
            {"key": u.key, "value": u.value, "meaning": u.meaning, "source": u.source} for u in cluster.understood
        ],
        "ignored": [
            {"key": i.key, "value": i.value, "why": i.why.value, "reason": i.reason, "source": i.source}
            for i in cluster.ignored
        ],
    }


def refusal_object(question: Question) -> dict[str, Any]:
    """The object of `--json` where the cluster's generation is not modelled."""
    return {
        "cluster": _cluster_object(question.cluster),
        "runs": [],
        "verdict": Word.UNDECIDED.value,
        "why": question.why_undecided,
    }


def answer_object(question: Question, main: Run, asides: Sequence[tuple[str, Run]]) -> dict[str, Any]:
    """The object of `--json`: the cluster as understood, the deciding run first, then those on the side."""
    runs = [as_object(main) | {"question": MAIN, "decides": True}]
    runs += [as_object(run) | {"question": says, "decides": False, "answer": aside_line(run)} for says, run in asides]
    return {"cluster": _cluster_object(question.cluster), "runs": runs, "verdict": word_of(main).value}
