"""`check --config`: the answer for a cluster, as people and scripts read it.

In:  a `Question` (checker/kafka_config/cluster_plan.py), and the runs of its searches.
Out: what was understood, which promise holds and which can break, with the shortest history, how far that reaches, and
     how many brokers may be down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from isrcheck.checker.kafka_config.availability import Availability
from isrcheck.checker.kafka_config.cluster import Cluster
from isrcheck.checker.kafka_config.cluster_plan import COMPLETE, MAIN, MOVED, PROMISE, Part, Question
from isrcheck.checker.kafka_config.generation import NEWEST_MODELLED
from isrcheck.checker.kafka_config.ignored import WhyIgnored
from isrcheck.checker.kafka_config.kafka_keys import NEWEST_LISTED_RELEASE
from isrcheck.checker.kafka_config.kafka_versions import version_of_binaries
from isrcheck.checker.outcome.verdict import Verdict, Word, exit_code, overall
from isrcheck.checker.session.formatting import counted, table
from isrcheck.checker.session.naming import faults_line
from isrcheck.checker.session.text import Run, as_object, asked_of, range_lines, totals
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.in_range import IN_RANGE

FAULT_ACTIONS = {"broker_loses_power", "broker_loses_disk"}

Asked = tuple[Part, Run]
"""A search with what came of it."""


@dataclass(frozen=True)
class Answer:
    """Everything that was searched for a cluster; the first of the deciding runs is the cluster as configured."""

    question: Question
    deciding: Sequence[Asked]
    asides: Sequence[Asked]
    availability: Availability

    @cached_property
    def promises(self) -> list[Verdict]:
        """The verdicts on what is promised: of each property the gravest of the deciding runs."""
        undecided = self.question.cluster.undecided_properties
        found = []
        for position, verdict in enumerate(self.deciding[0][1].verdicts):
            if verdict.prop.kind is Kind.SOMETIMES or verdict.prop is IN_RANGE:
                continue
            if verdict.prop.name in undecided:
                found.append(Verdict(verdict.prop, Word.UNDECIDED, note=undecided[verdict.prop.name]))
                continue
            found.append(_gravest([run.verdicts[position] for _, run in self.deciding]))
        left = [one for _, run in self.deciding for one in run.verdicts if one.prop is IN_RANGE]
        return [*found, _gravest(left)] if left else found

    @property
    def is_complete(self) -> bool:
        """Whether every deciding search did all that was asked of it."""
        return all(run.explored.is_complete for _, run in self.deciding)

    def fails_at(self, name: str) -> int | None:
        """The step at which a property fails as the cluster is configured, if any was found."""
        verdict = next(verdict for verdict in self.promises if verdict.prop.name == name)
        return verdict.depth if verdict.word in (Word.VIOLATED, Word.PERMITTED) else None

    @property
    def searched(self) -> Word:
        """The verdict on what was searched: for the cluster's own generation, or for the nearest one."""
        return overall(self.promises, is_complete=self.is_complete)

    @property
    def word(self) -> Word:
        """The verdict for the cluster."""
        return Word.UNDECIDED if self.question.is_nearest else self.searched

    def code(self, *, strict: bool) -> int:
        """The exit code."""
        return exit_code(self.word, strict=strict, found=() if self.question.is_nearest else self.promises)

    @property
    def told(self) -> list[str]:
        """The properties whose histories show why the verdict is what it is, the best known first."""
        names = [verdict.prop.name for verdict in self.promises if verdict.word is self.searched]
        return sorted(names, key=lambda name: name != PROMISE)

    @property
    def traces(self) -> Mapping[str, tuple[Run, Path]]:
        """Every history of the deciding runs, by what it shows."""
        found: dict[str, tuple[Run, Path]] = {}
        for part, run in self.deciding:
            for name, path in run.traces.items():
                found.setdefault(
                    name if part.says == MAIN or name not in found else f"{name}, {part.says}", (run, path)
                )
        return found


def _gravest(found: Sequence[Verdict]) -> Verdict:
    return min(found, key=lambda one: (list(Word).index(one.word), one.depth or 0))


# --------------------------------------------------------------------------------------------------------------- text


def first_lines(question: Question) -> list[str]:
    """What has to be known before anything else: whose answer this is."""
    cluster = question.cluster
    lines = []
    if cluster.kafka_version is None:
        lines.append(
            f"No Kafka version was told: taken for {NEWEST_MODELLED}, the newest that is modelled; "
            "give --kafka-version VERSION, or inter.broker.protocol.version in a broker's file"
        )
    if not cluster.is_replication_told and question.protocol is not None:
        lines.append(
            f"No replication factor was told: taken for {cluster.replication_factor.value}, Kafka's default; "
            "give replication.factor, or default.replication.factor in a broker's file"
        )
    if question.is_nearest:
        lines.append(f"UNDECIDED for this cluster: {question.why_undecided}")
        lines.append(f"What follows is the answer for the nearest generation, {question.protocol}")
    return [*lines, ""] if lines else []


def understood_lines(cluster: Cluster) -> list[str]:
    """What was given, and what was not used and why."""
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
        lines += ["", f"The settings of Kafka are listed here up to {newest}; later ones are not known"]
    return lines


def refusal(question: Question) -> str:
    """The answer where nothing can be searched."""
    lines = [*first_lines(question), *understood_lines(question.cluster), "", f"UNDECIDED: {question.why_undecided}"]
    return "\n".join(lines)


def first_sentence(verdict: Verdict) -> str:
    """What the property says, in one sentence."""
    documentation = verdict.prop.function.documentation.split("\n\n")[0].replace("\n", " ")
    return " ".join(documentation.split())


def text(answer: Answer, history: str) -> str:
    """The whole answer; `history` is the shortest one that breaks a promise, drawn."""
    question, (_, main) = answer.question, answer.deciding[0]
    instance = main.exploration.instance
    lines = [*first_lines(question), *understood_lines(question.cluster), ""]
    sizes = instance.configuration
    lines.append(f"Searched  {counted(sizes.replicas, 'broker')}, {counted(sizes.records, 'record')}")
    lines.append(f"          bounds and settings: {asked_of(main)[0]}")
    for part, run in answer.deciding:
        indent = "          "
        if part.says != MAIN:
            lines.append(f"{indent}{part.says}")
        lines.append(f"{indent}faults considered: {faults_line(part.instance)}")
        lines += table([["  " + one] for one in totals(run.explored)])
    lines += [f"  {note}" for note in question.notes]
    rows = [[v.prop.name, v.text, first_sentence(v)] for v in answer.promises]
    lines += ["", "Promises", *table(rows, "  "), *range_lines(answer.promises)]
    if cannot_acknowledge(question.cluster):
        reached = next(v for v in main.verdicts if v.prop.name == "a_write_is_acknowledged")
        lines += [
            "",
            f"No acks=all write is ever acknowledged ({reached.text}):"
            + " min.insync.replicas is above the number of replicas.",
        ]
    if history:
        lines += ["", "The shortest history", "", *(f"  {line}".rstrip() for line in history.splitlines())]
    lines += ["", "Beside the verdict (each with one such fault more)"]
    lines += [f"  {part.says}: {aside_line(part, run, answer)}" for part, run in answer.asides]
    lines += ["", *answer.availability.lines(question)]
    if answer.traces:
        shown = [[name, run.show(path)] for name, (run, path) in answer.traces.items()]
        lines += ["", "Histories", *table(shown, "  ")]
    return "\n".join([*lines, "", *verdict_lines(answer)])


def aside_line(part: Part, run: Run, answer: Answer) -> str:
    """What one fault more does: to acknowledged records, or to the ISR."""
    (name,) = part.only
    verdict = next(v for v in run.verdicts if v.prop.name == name)
    can, cannot, none = {
        PROMISE: (
            "an acknowledged record can be lost",
            "it loses no acknowledged record",
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
    """What Kafka does by default and this verdict leaves out, and whether that breaks a promise; empty: nothing."""
    aside = next(((part, run) for part, run in answer.asides if part.says == MOVED), None)
    if aside is None or answer.searched is Word.VIOLATED:
        return ""
    part, run = aside
    failing = [f"{v.prop.name} at step {v.depth}" for v in run.verdicts if v.word is Word.VIOLATED]
    return f"; not counted: {part.says}{f': it breaks {failing[0]}' if failing else ''}"


def cannot_acknowledge(cluster: Cluster) -> bool:
    """Whether no write of the cluster's producer can ever be acknowledged, whatever happens."""
    return not cluster.can_acknowledge_acks_all and cluster.producer.acks.value == "all"


def never_acknowledged(cluster: Cluster) -> str:
    """What to add to a verdict that holds because no write is ever acknowledged; empty: some can be."""
    if not cannot_acknowledge(cluster):
        return ""
    least, replicas = cluster.min_insync_replicas.value, counted(cluster.replication_factor.value, "replica")
    return f"; no acks=all write can be acknowledged: min.insync.replicas={least} is more than {replicas}"


def verdict_lines(answer: Answer) -> list[str]:
    """The verdict, in one line for the person who runs the cluster; that of the nearest generation above it."""
    found = verdict_line(answer) + never_acknowledged(answer.question.cluster) + not_counted(answer)
    if not answer.question.is_nearest:
        return [found]
    return [
        f"For the nearest generation, {answer.question.protocol}: {found}",
        f"UNDECIDED: {answer.question.why_undecided}",
    ]


def verdict_line(answer: Answer) -> str:
    """The verdict on what was searched, in one line."""
    word = answer.searched
    failing = [verdict for verdict in answer.promises if verdict.word is word and verdict.depth is not None]
    names = ", ".join(f"{verdict.prop.name} at step {verdict.depth}" for verdict in failing)
    depth = min(run.explored.judged for _, run in answer.deciding)
    match word:
        case Word.VIOLATED:
            return f"VIOLATED: this configuration promises it, and it can break: {names}"
        case Word.PERMITTED:
            return f"PERMITTED: it can break, and this configuration promises nothing else: {names}"
        case Word.UNDECIDED:
            return f"UNDECIDED: {_undecided(answer, depth)}"
        case Word.NO_VIOLATION:
            left = f"{sum(run.explored.frontier for _, run in answer.deciding):,} frontier states were left"
            return f"NO VIOLATION TO DEPTH {depth}: nothing that is promised breaks so far; {left}"
        case _:
            return "HOLDS: nothing that is promised breaks, in the whole state space of these bounds"


def _undecided(answer: Answer, depth: int) -> str:
    """What is open: properties that hang on a mechanism that is not modelled, by name, or what time did not reach."""
    undecided = answer.question.cluster.undecided_properties
    named = "; ".join(f"{', '.join(undecided)}: {why}" for why in dict.fromkeys(undecided.values()))
    if not answer.is_complete:
        reach = f"that is promised breaks within {depth} steps; more was not searched" if depth >= 0 else "was searched"
        return f"{named}; nothing else {reach}" if named else f"nothing {reach}"
    rest = overall([one for one in answer.promises if one.word is not Word.UNDECIDED], is_complete=True)
    how_far = {
        Word.PERMITTED: "nothing breaks that this configuration promises",
        Word.NO_VIOLATION: f"nothing breaks to depth {depth}",
        Word.HOLDS: "nothing breaks, in the whole state space of these bounds",
    }
    return f"{named}; of the rest: {how_far[rest]}"


# --------------------------------------------------------------------------------------------------------------- json


def _cluster_object(question: Question) -> dict[str, Any]:
    cluster = question.cluster
    partition = cluster.partition
    return {
        "kafka_version": cluster.kafka_version.value if cluster.kafka_version else None,
        "protocol": question.protocol,
        "is_nearest": question.is_nearest,
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


def refusal_object(question: Question) -> dict[str, Any]:
    """The object of `--json` where nothing can be searched."""
    return {
        "cluster": _cluster_object(question),
        "runs": [],
        "verdict": Word.UNDECIDED.value,
        "why": question.why_undecided,
    }


def answer_object(answer: Answer) -> dict[str, Any]:
    """The object of `--json`: the cluster as understood, the deciding runs first, then those on the side."""
    question = answer.question
    undecided = question.cluster.undecided_properties
    runs = []
    for part, run in answer.deciding:
        # What hangs on a mechanism that is not modelled was not looked at: its verdict is never that of the search.
        verdicts = [
            Verdict(v.prop, Word.UNDECIDED, note=undecided[v.prop.name]) if v.prop.name in undecided else v
            for v in run.verdicts
        ]
        runs.append(
            as_object(replace(run, verdicts=verdicts)) | {"question": part.says, "decides": not question.is_nearest}
        )
    runs += [
        as_object(run) | {"question": part.says, "decides": False, "answer": aside_line(part, run, answer)}
        for part, run in answer.asides
    ]
    content: dict[str, Any] = {
        "cluster": _cluster_object(question),
        "runs": runs,
        "promises": [
            {"name": v.prop.name, "verdict": v.word.value, "depth": v.depth, "note": v.note or None}
            for v in answer.promises
        ],
        "availability": answer.availability.as_objects(),
        "verdict": answer.word.value,
    }
    if question.is_nearest:
        content |= {
            "why": question.why_undecided,
            "nearest": {"protocol": question.protocol, "verdict": answer.searched.value},
        }
    return content
