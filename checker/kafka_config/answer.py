"""`check --config`: the answer for a cluster as text and as an object.

In:  a `ClusterPlan` (checker/kafka_config/cluster_plan.py), and the runs of its searches.
Out: the settings and their meaning, the promises that hold or can break, with a shortest counterexample and the depth
of the search, and the availability of the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from isrcheck.checker.kafka_config.availability import Availability
from isrcheck.checker.kafka_config.cluster import Cluster
from isrcheck.checker.kafka_config.cluster_plan import (
    COMPLETE,
    MAIN,
    MOVED,
    PROMISE,
    ClusterPlan,
    PlannedSearch,
)
from isrcheck.checker.kafka_config.ignored import WhyIgnored
from isrcheck.checker.kafka_settings.keys import NEWEST_LISTED_RELEASE
from isrcheck.checker.kafka_settings.releases import version_of_binaries
from isrcheck.checker.outcome.verdict import Verdict, Word, exit_code, overall
from isrcheck.checker.session.formatting import counted, table
from isrcheck.checker.session.naming import faults_line
from isrcheck.checker.session.text import Run, as_object, range_lines, search_summary, totals
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.in_range import DEADLOCK, IN_RANGE
from isrcheck.models.language.model import Instance

FAULT_ACTIONS = {"broker_loses_power", "broker_loses_disk"}

FinishedSearch = tuple[PlannedSearch, Run]
"""A planned search with its run."""


@dataclass(frozen=True)
class Answer:
    """The finished searches for a cluster. The first deciding search is for the cluster as configured."""

    plan: ClusterPlan
    deciding: Sequence[FinishedSearch]
    side_searches: Sequence[FinishedSearch]
    availability: Availability

    @cached_property
    def promises(self) -> list[Verdict]:
        """The verdict on each promised property of the model `kafka`: the gravest verdict of the deciding runs.
        Properties of mechanisms that the cluster does not have are left out."""
        return _gravest_of_each([run for part, run in self.deciding if not part.is_of_transactions])

    @cached_property
    def transaction_promises(self) -> list[Verdict]:
        """The verdicts of the model `transactions`; none, if it was not searched."""
        return _gravest_of_each([run for part, run in self.deciding if part.is_of_transactions])

    @property
    def transactions(self) -> Instance:
        """What was searched of the model `transactions`, if it was searched."""
        return next(part.instance for part, _ in self.deciding if part.is_of_transactions)

    @property
    def all_promises(self) -> list[Verdict]:
        """The promises of both models."""
        return [*self.promises, *self.transaction_promises]

    @property
    def is_complete(self) -> bool:
        """Whether every deciding search reached its bound."""
        return all(run.explored.is_complete for _, run in self.deciding)

    def fails_at(self, name: str) -> int | None:
        """Return the step at which the property `name` fails in the deciding runs; None if it does not fail."""
        verdict = next(verdict for verdict in self.promises if verdict.prop.name == name)
        return verdict.depth if verdict.word in (Word.VIOLATED, Word.PERMITTED) else None

    @property
    def searched(self) -> Word:
        """The verdict of the searches, for the cluster's own generation or else for the nearest one."""
        return overall(self.all_promises, is_complete=self.is_complete)

    @property
    def word(self) -> Word:
        """The verdict for the cluster."""
        return Word.UNDECIDED if self.plan.is_nearest else self.searched

    def code(self, *, strict: bool) -> int:
        """Return the exit code of the command; with `strict`, PERMITTED counts as VIOLATED."""
        return exit_code(self.word, strict=strict, found=() if self.plan.is_nearest else self.all_promises)

    def decisive_properties(self, promises: Sequence[Verdict]) -> list[str]:
        """The properties of these promises that decide the verdict, the main promise first."""
        names = [verdict.prop.name for verdict in promises if verdict.word is self.searched]
        return sorted(names, key=lambda name: name != PROMISE)

    @property
    def traces(self) -> Mapping[str, tuple[Run, Path]]:
        """The trace files of the deciding runs, each with its run, by the name of the failing property."""
        found: dict[str, tuple[Run, Path]] = {}
        for part, run in self.deciding:
            for name, path in run.traces.items():
                found.setdefault(
                    name if part.says == MAIN or name not in found else f"{name}, {part.says}", (run, path)
                )
        return found


def _gravest_of_each(runs: Sequence[Run]) -> list[Verdict]:
    """Return the gravest verdict on each property that counts; the runs are of one model, with all its properties."""
    found = []
    for position, verdict in enumerate(runs[0].verdicts if runs else ()):
        if verdict.prop.kind is Kind.SOMETIMES or verdict.prop in (DEADLOCK, IN_RANGE):
            continue
        gravest = _gravest([(run, run.verdicts[position]) for run in runs])
        if gravest.word is not Word.NOT_APPLICABLE:
            found.append(gravest)
    for implicit in (DEADLOCK, IN_RANGE):
        left = [(run, one) for run in runs for one in run.verdicts if one.prop is implicit]
        found += [_gravest(left)] if left else []
    return found


def _gravest(found: Sequence[tuple[Run, Verdict]]) -> Verdict:
    """Return the gravest verdict; of several, the one of the least depth, up to which all of them are known."""

    def gravity(one: tuple[Run, Verdict]) -> tuple[int, int]:
        run, verdict = one
        return list(Word).index(verdict.word), run.explored.judged if verdict.depth is None else verdict.depth

    return min(found, key=gravity)[1]


# --------------------------------------------------------------------------------------------------------------- text


def first_lines(plan: ClusterPlan) -> list[str]:
    """Return the opening remarks: the generation that is taken and why, and the assumptions about the cluster."""
    cluster = plan.cluster
    lines = [cluster.generation.taken]
    if cluster.kafka_version is None:
        lines.append(
            "No Kafka version is given; give --kafka-version VERSION, --metadata-version VERSION, or "
            "inter.broker.protocol.version in a broker's file"
        )
    if not cluster.is_replication_given and plan.protocol is not None:
        lines.append(
            f"No replication factor is given: {cluster.replication_factor.value} is assumed, Kafka's default; "
            "give replication.factor, or default.replication.factor in a broker's file"
        )
    if plan.is_nearest:
        lines.append(f"UNDECIDED for this cluster: {plan.why_undecided}")
        lines.append(f"The following answer is for the nearest generation, {plan.protocol}")
    return [*lines, ""]


def understood_lines(cluster: Cluster) -> list[str]:
    """Return lines with the settings that the answer uses, and with those that it ignores and why."""
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
    newest = version_of_binaries(NEWEST_LISTED_RELEASE)
    if cluster.kafka_version and version_of_binaries(cluster.kafka_version.value).is_newer_than(newest):
        lines += ["", f"isrcheck does not know settings that are newer than Kafka {newest}"]
    return lines


def refusal(plan: ClusterPlan) -> str:
    """Return the text of the answer if the cluster cannot be searched."""
    lines = [*first_lines(plan), *understood_lines(plan.cluster), "", f"UNDECIDED: {plan.why_undecided}"]
    return "\n".join(lines)


def first_sentence(verdict: Verdict) -> str:
    """Return the first sentence of the documentation of the verdict's property."""
    documentation = verdict.prop.function.documentation.split("\n\n")[0].replace("\n", " ")
    return " ".join(documentation.split())


def text(answer: Answer, counterexample: str) -> str:
    """Return the whole answer as text; `counterexample` is the text of a shortest trace that breaks a promise."""
    plan, (_, main) = answer.plan, answer.deciding[0]
    instance = main.exploration.instance
    lines = [*first_lines(plan), *understood_lines(plan.cluster), ""]
    sizes = instance.configuration
    lines.append(f"Searched  {counted(sizes.replicas, 'broker')}, {counted(sizes.records, 'record')}")
    lines.append(f"          bounds and settings: {search_summary(main)[0]}")
    for part, run in answer.deciding:
        indent = "          "
        if part.says != MAIN:
            lines.append(f"{indent}{part.says}")
        lines.append(f"{indent}faults considered: {faults_line(part.instance)}")
        lines += table([["  " + one] for one in totals(run.explored)])
    lines += [f"  {note}" for note in plan.notes]
    rows = [[v.prop.name, v.text, first_sentence(v)] for v in answer.promises]
    lines += ["", "Promises", *table(rows, "  "), *range_lines(answer.promises)]
    if answer.transaction_promises:
        rows = [[v.prop.name, v.text, first_sentence(v)] for v in answer.transaction_promises]
        lines += ["", f"Promises of transactions over several partitions ({transactions_title(answer)})"]
        lines += [*table(rows, "  "), *range_lines(answer.transaction_promises)]
    if cannot_acknowledge(plan.cluster):
        reached = next(v for v in main.verdicts if v.prop.name == "a_write_is_acknowledged")
        lines += [
            "",
            f"No acks=all write is ever acknowledged ({reached.text}):"
            + " min.insync.replicas is above the number of replicas.",
        ]
    if counterexample:
        lines += ["", "Shortest trace", "", *(f"  {line}".rstrip() for line in counterexample.splitlines())]
    lines += ["", "Side searches, which do not count (each with one additional fault)"]
    lines += [f"  {part.says}: {side_search_line(part, run, answer)}" for part, run in answer.side_searches]
    lines += ["", *answer.availability.lines(plan)]
    if answer.traces:
        shown = [[name, run.show(path)] for name, (run, path) in answer.traces.items()]
        lines += ["", "Traces", *table(shown, "  ")]
    return "\n".join([*lines, "", *verdict_lines(answer)])


def transactions_title(answer: Answer) -> str:
    """Return the model and the generation that speak about transactions over several partitions."""
    instance = answer.transactions
    return f"model {instance.model.name}, generation {instance.protocol.name}"


def side_search_line(part: PlannedSearch, run: Run, answer: Answer) -> str:
    """Return the result of a side search: what one additional fault can do to acknowledged records, or to the ISR."""
    (name,) = part.only
    verdict = next(v for v in run.verdicts if v.prop.name == name)
    can, cannot, none = {
        PROMISE: (
            "an acknowledged record can be lost",
            "no acknowledged record can be lost",
            "no acknowledged record is lost",
        ),
        COMPLETE: (
            "a member of the ISR can lack what readers saw",
            "the ISR stays complete",
            "the ISR stays complete",
        ),
    }[name]
    permitted = verdict.permitted.path if verdict.permitted is not None else None
    depth = permitted.depth if permitted is not None else verdict.depth if verdict.word is Word.VIOLATED else None
    exploration = run.explored
    if depth is not None:
        path = run.traces.get(f"{name} (permitted)") or run.traces.get(name)
        shown = f": {run.show(path)}" if path else ""
        before = answer.fails_at(name)
        with_fault = permitted is None or _uses_a_fault(run, permitted.steps)
        without = "" if with_fault and (before is None or depth < before) else " without it"
        return f"{can}{without}, at step {depth}{shown}"
    if exploration.exhausted:
        return f"{cannot} (the whole state space was searched)"
    if not exploration.has_begun:
        return "UNDECIDED: nothing was searched"
    return f"UNDECIDED: {none} to depth {exploration.judged}"


def _uses_a_fault(run: Run, steps: Sequence[int]) -> bool:
    return bool({run.explored.instance.step(number).action for number in steps} & FAULT_ACTIONS)


def not_counted(answer: Answer) -> str:
    """Return a remark on leadership moves, which the verdict does not count; empty if they were not searched."""
    aside = next(((part, run) for part, run in answer.side_searches if part.says == MOVED), None)
    if aside is None or answer.searched is Word.VIOLATED:
        return ""
    part, run = aside
    failing = [f"{v.prop.name} at step {v.depth}" for v in run.verdicts if v.word is Word.VIOLATED]
    return f"; not counted: {part.says}{f', which breaks {failing[0]}' if failing else ''}"


def cannot_acknowledge(cluster: Cluster) -> bool:
    """Whether no write of the cluster's producer can ever be acknowledged."""
    return not cluster.can_acknowledge_acks_all and cluster.producer.acks.value == "all"


def never_acknowledged(cluster: Cluster) -> str:
    """Return a remark for the verdict if no write can be acknowledged; otherwise an empty text."""
    if not cannot_acknowledge(cluster):
        return ""
    least, replicas = cluster.min_insync_replicas.value, counted(cluster.replication_factor.value, "replica")
    return f"; no acks=all write can be acknowledged: min.insync.replicas={least} is more than {replicas}"


def verdict_lines(answer: Answer) -> list[str]:
    """Return the verdict as one line, or two lines if only the nearest generation was searched."""
    found = verdict_line(answer) + never_acknowledged(answer.plan.cluster) + not_counted(answer)
    if not answer.plan.is_nearest:
        return [found]
    return [
        f"For the nearest generation, {answer.plan.protocol}: {found}",
        f"UNDECIDED: {answer.plan.why_undecided}",
    ]


def verdict_line(answer: Answer) -> str:
    """Return the verdict of the searches as one line."""
    word = answer.searched
    kafka, transactions = (
        [f"{one.prop.name} at step {one.depth}" for one in found if one.word is word and one.depth is not None]
        for found in (answer.promises, answer.transaction_promises)
    )
    names = "; in the model transactions: ".join(", ".join(some) for some in (kafka, transactions) if some)
    if transactions and not kafka:
        names = f"in the model transactions: {names}"
    depth = min(run.explored.judged for _, run in answer.deciding)
    match word:
        case Word.VIOLATED:
            return f"VIOLATED: a promise of this configuration can break: {names}"
        case Word.PERMITTED:
            return f"PERMITTED: properties fail only where this configuration makes no promise: {names}"
        case Word.UNDECIDED:
            if depth < 0:
                return "UNDECIDED: nothing was searched"
            return f"UNDECIDED: no promise breaks within {depth} steps; longer behaviours were not searched"
        case Word.NO_VIOLATION:
            left = f"{sum(run.explored.frontier for _, run in answer.deciding):,} frontier states left"
            return f"NO VIOLATION TO DEPTH {depth}: no promise breaks; {left}"
        case _:
            return "HOLDS: no promise breaks in the whole state space within these bounds"


# --------------------------------------------------------------------------------------------------------------- json


def _cluster_object(plan: ClusterPlan) -> dict[str, Any]:
    cluster = plan.cluster
    partition = cluster.partition
    return {
        "kafka_version": cluster.kafka_version.value if cluster.kafka_version else None,
        "protocol": plan.protocol,
        "is_nearest": plan.is_nearest,
        "taken": cluster.generation.taken,
        "partition": partition
        and {
            "topic": partition.topic,
            "partition": partition.number,
            "leader": partition.leader,
            "replicas": list(partition.replicas),
            "isr": list(partition.isr),
            "brokers": list(partition.brokers),
            "source": partition.place,
        },
        "understood": [
            {"key": u.key, "value": u.value, "meaning": u.meaning, "source": u.source} for u in cluster.understood
        ],
        "ignored": [
            {"key": i.key, "value": i.value, "why": i.why.value, "reason": i.reason, "source": i.source}
            for i in cluster.ignored
        ],
    }


def refusal_object(plan: ClusterPlan) -> dict[str, Any]:
    """Return the object for `--json` if the cluster cannot be searched."""
    return {
        "cluster": _cluster_object(plan),
        "runs": [],
        "verdict": Word.UNDECIDED.value,
        "why": plan.why_undecided,
    }


def promise_object(verdict: Verdict) -> dict[str, Any]:
    """Return the object for `--json` of a promise."""
    return {
        "name": verdict.prop.name,
        "verdict": verdict.word.value,
        "depth": verdict.depth,
        "note": verdict.note or None,
    }


def answer_object(answer: Answer) -> dict[str, Any]:
    """Return the object for `--json`: the cluster, its deciding runs and side searches, and the verdict."""
    plan = answer.plan
    runs = [as_object(run) | {"question": part.says, "decides": not plan.is_nearest} for part, run in answer.deciding]
    runs += [
        as_object(run) | {"question": part.says, "decides": False, "answer": side_search_line(part, run, answer)}
        for part, run in answer.side_searches
    ]
    content: dict[str, Any] = {
        "cluster": _cluster_object(plan),
        "runs": runs,
        "promises": [promise_object(verdict) for verdict in answer.promises],
        "availability": answer.availability.as_objects(),
        "verdict": answer.word.value,
    }
    if answer.transaction_promises:
        content["transactions"] = {
            "protocol": answer.transactions.protocol.name,
            "promises": [promise_object(verdict) for verdict in answer.transaction_promises],
        }
    if plan.is_nearest:
        content |= {
            "why": plan.why_undecided,
            "nearest": {"protocol": plan.protocol, "verdict": answer.searched.value},
        }
    return content
