"""The answer for one cluster: what the searches have shown, which changes help, and the answer's first line.

Changes are sorted: fewer settings come before more settings; then settings of producers come first, then settings of
topics, then settings of brokers; then changes that take effect at once come before changes that need a restart or a
reassignment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import combinations, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from isrcheck.checker.answers.findings import Finding, is_exposed, is_open
from isrcheck.checker.answers.questions import KAFKA, NEEDS_ALL_ACKS, WRITTEN_BY_LEADERS, Case, Question, Topic
from isrcheck.checker.cluster.cluster import Cluster
from isrcheck.checker.cluster.releases import Role
from isrcheck.checker.cluster.settings import MOST_IN_FLIGHT_SEARCHED
from isrcheck.checker.results.terminal import counted
from isrcheck.checker.results.verdict import WHY_STOPPED, Word
from isrcheck.commands.exit_codes import SAFE, UNDECIDED, VIOLATED
from isrcheck.models.kafka.failures.catalogue import Change as KnownChange
from isrcheck.models.kafka.failures.catalogue import ChangeKind, Failure, pairs


def case_of(cluster: Cluster) -> Case:
    """Return the `Case` of a cluster, with the nearest modelled generation if the cluster's protocol has no model."""
    generation, producer, replicas = cluster.generation, cluster.producer, cluster.replication_factor.value
    case = Case(generation.protocol, tuple(sorted(generation.switches.items())))
    transactions: Mapping[str, str] = {}
    if cluster.transactions is not None and cluster.transactions.why_unsearched is None and case.has_record_epochs:
        transactions = cluster.transactions.entries
    return replace(
        case,
        acks=producer.acks.value,
        replication_factor=replicas,
        min_insync_replicas=min(cluster.min_insync_replicas.value, replicas + 1),
        unclean_election=cluster.unclean_election.value,
        leader_rebalance=cluster.leader_rebalance.value,
        flushes_every_message=cluster.flushes_every_message,
        enable_idempotence=producer.is_idempotent.value and case.has_record_epochs,
        retries=bool(producer.retries.value) and producer.acks.value != "0",
        max_in_flight_requests=1 if producer.in_flight.value == 1 else MOST_IN_FLIGHT_SEARCHED,
        numbering=tuple(sorted((name, int(value)) for name, value in producer.numbering.items())),
        transactions=tuple(sorted(transactions.items())),
    )


# --- Changes ---

OWNERS = (Role.PRODUCER, Role.TOPIC, Role.BROKER)
"""The owners of settings, in the order in which their settings are preferably changed."""

OF_PRODUCERS, OF_TOPIC = "producers, with a restart", "topic, at once"

MOST_PROPOSED = 3
"""The most replicas that a proposed change sets: with more, no search goes to the end."""


@dataclass(frozen=True)
class ChangedSetting:
    """One setting with its new value."""

    key: str
    text: str
    owner: Role
    how: str
    """Who has to change the setting, and whether the change takes effect at once."""
    field: str
    """The field of a `Case`, which gets the `value`."""
    value: Any

    @property
    def spelled(self) -> str:
        """The setting as KEY=VALUE."""
        return f"{self.key}={self.text}"


@dataclass(frozen=True)
class Change:
    """One setting or several that are changed together."""

    settings: tuple[ChangedSetting, ...]

    @property
    def size(self) -> tuple[int, list[int], int]:
        """The sort key of a change: smaller changes come first. The key has the number of settings; the positions of
        their owners in OWNERS (producer, topic, broker), in descending order; and the number of settings that do not
        take effect at once."""
        owners = sorted((OWNERS.index(setting.owner) for setting in self.settings), reverse=True)
        return len(self.settings), owners, sum(not setting.how.startswith(OF_TOPIC) for setting in self.settings)

    @property
    def spelled(self) -> str:
        """The change as text: acks=all and min.insync.replicas=2."""
        return " and ".join(setting.spelled for setting in self.settings)

    @property
    def how(self) -> str:
        """Who has to change each setting, and whether the change takes effect at once."""
        return "; ".join(dict.fromkeys(setting.how for setting in self.settings))

    def of(self, case: Case) -> Case:
        """Return the case with the new values of these settings."""
        return replace(case, **{setting.field: setting.value for setting in self.settings})


FIELDS = {
    "acks": "acks",
    "enable_idempotence": "enable_idempotence",
    "flush_interval_messages": "flushes_every_message",
    "max_in_flight_requests": "max_in_flight_requests",
    "min_insync_replicas": "min_insync_replicas",
    "preferred_elections": "leader_rebalance",
    "unclean_elections": "unclean_election",
}
"""The field of a `Case` for each entry of the model that a setting in the library of known failures changes."""


def fields_of(change: KnownChange) -> set[str]:
    """Return the `Case` fields that a change from the library of known failures sets; empty if it repairs Kafka."""
    if change.kind is not ChangeKind.SETTING:
        return set()
    return {FIELDS[entry] for entry in pairs(change.change) if entry in FIELDS}


def groups(case: Case, most: int = 2) -> Iterator[list[Change]]:
    """Yield all changes of up to `most` settings that `_makes_sense` accepts, as lists of changes with the same
    `Change.size`; the list with the smallest changes comes first."""
    settings = list(_settings(case))
    for count in range(1, most + 1):
        changes = [
            Change(some)
            for some in combinations(settings, count)
            if len({setting.field for setting in some}) == count and _makes_sense(case, some)
        ]
        by_size = attrgetter("size")
        for _, group in groupby(sorted(changes, key=by_size), by_size):
            yield list(group)


def _settings(case: Case) -> Iterator[ChangedSetting]:
    replicas = case.replication_factor
    if case.acks != "all":
        yield ChangedSetting("acks", "all", Role.PRODUCER, OF_PRODUCERS, "acks", "all")
    if not case.enable_idempotence and case.has_record_epochs:
        yield ChangedSetting("enable.idempotence", "true", Role.PRODUCER, OF_PRODUCERS, "enable_idempotence", True)
    if case.max_in_flight_requests > 1 and case.acks != "0":
        key = "max.in.flight.requests.per.connection"
        yield ChangedSetting(key, "1", Role.PRODUCER, OF_PRODUCERS, "max_in_flight_requests", 1)
    if case.unclean_election:
        yield ChangedSetting("unclean.leader.election.enable", "false", Role.TOPIC, OF_TOPIC, "unclean_election", False)
    # With eligible leader replicas, a change of the minimum discards the replicas that may also lead.
    how = f"{OF_TOPIC}, while all replicas are in sync" if case.has_elr else OF_TOPIC
    for least in range(case.min_insync_replicas + 1, max(replicas, MOST_PROPOSED) + 1):
        yield ChangedSetting("min.insync.replicas", str(least), Role.TOPIC, how, "min_insync_replicas", least)
    if not case.flushes_every_message:
        yield ChangedSetting("flush.messages", "1", Role.TOPIC, OF_TOPIC, "flushes_every_message", True)
    for count in range(replicas + 1, MOST_PROPOSED + 1):
        how = "topic, by a reassignment"
        yield ChangedSetting("replication.factor", str(count), Role.TOPIC, how, "replication_factor", count)
    if case.leader_rebalance:
        # With KRaft the controllers act on this setting of brokers' files, and not the brokers.
        whose = "brokers" if case.protocol in (*WRITTEN_BY_LEADERS, "2.8") else "controllers"
        key, how = "auto.leader.rebalance.enable", f"{whose}, with a restart"
        yield ChangedSetting(key, "false", Role.BROKER, how, "leader_rebalance", False)


def _makes_sense(case: Case, settings: tuple[ChangedSetting, ...]) -> bool:
    """Whether Kafka accepts the case with these new settings, and can then acknowledge writes with acks=all."""
    changed = Change(settings).of(case)
    if changed.enable_idempotence and not case.enable_idempotence:
        return changed.acks == "all" and changed.retries
    return changed.min_insync_replicas <= changed.replication_factor


# --- The answer ---


class Kind(Enum):
    """What an answer says in a word (`kind` in --json), worst first: broken, can-lose, defects, unknown, keeps."""

    BROKEN = "broken"
    CAN_LOSE = "can-lose"
    DEFECTS = "defects"
    UNKNOWN = "unknown"
    KEEPS = "keeps"


MOST_REPLICAS = 7
"""The most replicas of the model `kafka`."""

OF_BROKERS = (Topic.WRITES, Topic.READS, Topic.SURVIVES)
"""Questions about brokers that are down or lost."""

CLIENT_QUESTIONS = (Topic.DUPLICATES, Topic.ORDER, Topic.TRANSACTIONS)
"""Questions other than the loss of records: if they fail, the known defects of the release must explain the failure."""


def why_open(finding: Finding) -> str:
    """Return why a question is undecided, and to which depth its search found no failure."""
    for _, result in sorted(finding.parts, key=lambda part: part[1].stopped != "interrupt"):
        if result.stopped is not None:
            so_far = f"; nothing was found to depth {result.judged}" if result.judged >= 0 else ""
            return f"{WHY_STOPPED[result.stopped]}{so_far}"
    return finding.note or "the search was not finished"


def about_brokers(findings: Mapping[Question, Finding], topic: Topic) -> list[Finding]:
    """Return the findings for WRITES, READS or SURVIVES (`topic`), sorted by the number of brokers down or lost."""
    return [findings[question] for question in sorted(findings) if question.topic is topic]


@dataclass(frozen=True)
class Tried:
    """A change of settings, and what the searches found in the cluster with this change."""

    change: Change
    finding: Finding
    availability: Mapping[Question, Finding] | None = None
    """Whether writes and reads work with brokers down, after the change; None if that was not asked."""
    survives_one: Finding | None = None
    """Whether a committed record survives the loss of one broker, after the change; None if that was not asked."""

    @property
    def is_gone(self) -> bool:
        """Whether the search with this change is decided and did not find the failure that the change is to prevent."""
        return self.finding.is_known and not self.finding.fails

    @property
    def is_cure(self) -> bool:
        """Whether the searches decided that the change keeps acknowledged records, also if one broker is lost."""
        return self.is_gone and (self.survives_one is None or self.survives_one.word is Word.REACHED)

    @property
    def is_open(self) -> bool:
        """Whether a search with the change is undecided."""
        return not self.finding.is_known or (self.survives_one is not None and not self.survives_one.is_known)


@dataclass(frozen=True)
class Exposure:
    """A known failure of the cluster's release, and whether it can happen with the cluster's settings (its `Case`)."""

    failure: Failure
    finding: Finding
    is_of_disks: bool
    """Whether the failure's history needs a loss of power or of a disk; such a failure does not decide the answer."""
    avoided_by: tuple[Tried, ...] = ()
    """Single settings with which the case is not exposed."""
    is_tried: bool = True
    """Whether every setting was tried."""

    @property
    def is_open(self) -> bool:
        """Whether the search has not decided if the failure can happen in this cluster."""
        return is_open(self.failure, self.finding)

    @property
    def why_open(self) -> str:
        """Why the search has not decided if the failure can happen in this cluster."""
        history = self.failure.history
        if not self.finding.is_known or history is None:
            return why_open(self.finding)
        depth = self.finding.least_depth
        return f"searched to depth {depth} only, and its known history takes {counted(history.depth, 'step')}"

    @property
    def loses_records(self) -> bool:
        """Whether the failure loses acknowledged records."""
        return self.finding.property_name in NEEDS_ALL_ACKS

    @property
    def is_shown(self) -> bool:
        """Whether the finding shows that the cluster is exposed to this known failure (see `is_exposed`)."""
        return is_exposed(self.failure, self.finding)


@dataclass(frozen=True)
class Answer:
    """The answer for all topics of a cluster that have the same settings (the same `Case`)."""

    cluster: Cluster
    case: Case
    findings: Mapping[Question, Finding] = field(default_factory=dict)
    """The findings except those about known failures; without acks=all, no question is about lost brokers."""
    exposures: Sequence[Exposure] = ()
    unsearched: Sequence[tuple[Failure, str]] = ()
    """Known failures of the release that cannot be searched, each with the reason."""
    changes: Sequence[Tried] = ()
    """Equally small changes with which no acknowledged record is lost; empty if no change helps."""
    why_no_change: str = ""
    """The reason why no change is proposed."""
    is_interrupted: bool = False
    """Whether Ctrl-C ended the questions early."""

    @property
    def main_findings(self) -> dict[Question, Finding]:
        """The findings by question, without those about brokers that are down or lost."""
        return {question: finding for question, finding in self.findings.items() if question.topic not in OF_BROKERS}

    @property
    def loss(self) -> Finding | None:
        """The finding for the question LOSS (can an acknowledged record be lost?); None if it was not searched."""
        return self.findings.get(Question(Topic.LOSS))

    @property
    def every_finding(self) -> list[Finding]:
        """All findings about the cluster, and about the cluster with each change that was tried."""
        changes = [*self.changes, *(tried for exposure in self.exposures for tried in exposure.avoided_by)]
        of_defects = [exposure.finding for exposure in self.exposures]
        of_changes = [finding for tried in changes for finding in (tried.finding, tried.survives_one) if finding]
        return [*self.findings.values(), *of_defects, *of_changes]

    @property
    def tolerated(self) -> int | None:
        """The number of brokers that can be lost for good without the loss of a committed record; None if unknown. The
        number holds whichever brokers are lost, while the ISR is the smallest with which acks=all acknowledges a
        record. With one replica it is 0, whatever acks is, and needs no search."""
        if self.case.replication_factor == 1 and self.loss is not None:
            return 0
        for lost, finding in enumerate(about_brokers(self.findings, Topic.SURVIVES)):
            if finding.word is not Word.REACHED:
                return lost if finding.word is Word.UNREACHABLE else None
        return None

    @property
    def loses_with_one_broker(self) -> bool:
        """Whether the loss of one broker can be the loss of the only copy of an acknowledged record."""
        return self.tolerated == 0

    @property
    def is_allowed(self) -> bool:
        """Whether an acknowledged record can be lost because the settings allow it, so that no promise is broken."""
        if self.loss is not None and self.loss.fails:
            return self.loss.word is Word.PERMITTED
        return self.loses_with_one_broker

    @property
    def exposed(self) -> list[Exposure]:
        """The known defects that can happen here without a loss of power or disk; those that lose records are first."""
        shown = [exposure for exposure in self.exposures if not exposure.is_of_disks and exposure.is_shown]
        return sorted(shown, key=lambda exposure: not exposure.loses_records)

    @property
    def defects_of_partitions(self) -> list[str]:
        """The numbers (such as 8.28) of the known defects of replication that can lose an acknowledged record here."""
        losing = [exposure.failure for exposure in self.exposed if exposure.loses_records]
        return [failure.number for failure in losing if failure.history and failure.history.model == KAFKA]

    @property
    def open_exposures(self) -> list[Exposure]:
        """The known defects whose effect here is undecided, without those that need a loss of power or of a disk."""
        return [exposure for exposure in self.exposures if not exposure.is_of_disks and exposure.is_open]

    @property
    def why_broken(self) -> str | None:
        """Why no write with acks=all can be acknowledged; None if one can, or if the producer does not use acks=all."""
        cluster = self.cluster
        least, replicas = cluster.min_insync_replicas.value, cluster.replication_factor.value
        if cluster.why_unknown is not None or cluster.producer.acks.value != "all" or least <= replicas:
            return None
        return f"min.insync.replicas={least} is more than {counted(replicas, 'replica')}"

    @property
    def why_undecidable(self) -> str | None:
        """Why no search can give an answer for this cluster, given its files and its release; None if a search can."""
        cluster = self.cluster
        if cluster.given_roles == {Role.CONSUMER}:
            return "a consumer's settings alone decide nothing about records; give the topic's and the producers' files"
        replicas = cluster.replication_factor.value
        if cluster.why_unknown is None and replicas > MOST_REPLICAS:
            return f"{replicas} replicas are more than the model supports ({MOST_REPLICAS})"
        return cluster.why_unknown or cluster.generation.why_undecided

    @property
    def why_unknown(self) -> str | None:
        """Why the answer is unknown: no search can give an answer, or the searches gave none; None if it is known."""
        if self.why_undecidable is not None:
            return self.why_undecidable
        return self._why_open if self.nearest is Kind.UNKNOWN else None

    @property
    def _why_open(self) -> str | None:
        """Why the searches do not determine the `Kind` of this answer; None if they do."""
        loss = self.loss
        if loss is None:
            return "it was interrupted before anything was found" if self.is_interrupted else "nothing was searched"
        if loss.fails:
            return None
        if not loss.is_known or loss.word is Word.NOT_APPLICABLE:
            return why_open(loss)
        if self.exposed:
            return None
        if self.open_exposures:
            numbers = ", ".join(exposure.failure.number for exposure in self.open_exposures)
            why = self.open_exposures[0].why_open
            return f"exposure to known defects of this release is undecided ({numbers}): {why}"
        for finding in about_brokers(self.findings, Topic.SURVIVES):
            if not finding.is_known:
                return f"how many brokers can be lost is undecided: {why_open(finding)}"
        asked = (Question(topic) for topic in CLIENT_QUESTIONS)
        of_clients = {question.topic: self.findings[question] for question in asked if question in self.findings}
        for topic, finding in of_clients.items():
            if not finding.is_known:
                return f"what clients are promised about {topic.value} is undecided: {why_open(finding)}"
        failing = [finding.property_name for finding in of_clients.values() if finding.word is Word.VIOLATED]
        return f"{', '.join(failing)} can fail, which no known defect of this release explains" if failing else None

    @property
    def kind(self) -> Kind:
        """The kind of the answer about the cluster; UNKNOWN if its release or its files rule out a search."""
        return Kind.UNKNOWN if self.why_undecidable is not None else self.nearest

    @property
    def nearest(self) -> Kind:
        """The kind of the answer for the modelled generation nearest to the cluster's, usually the cluster's own."""
        if self.why_broken is not None:
            return Kind.BROKEN
        if (self.loss is not None and self.loss.fails) or self.loses_with_one_broker:
            return Kind.CAN_LOSE
        if self._why_open is not None:
            return Kind.UNKNOWN
        return Kind.DEFECTS if self.exposed else Kind.KEEPS

    @property
    def headline(self) -> str:
        """The first line of the answer."""
        return self.line_of(self.kind)

    def line_of(self, kind: Kind) -> str:
        """Return the first line of an answer of the given kind for this cluster."""
        match kind:
            case Kind.BROKEN:
                return f"Broken: no acks=all write can be acknowledged, because {self.why_broken}"
            case Kind.CAN_LOSE:
                return f"Can lose acknowledged records{self._only_copy}"
            case Kind.DEFECTS:
                undecided = f"; {len(self.open_exposures)} more undecided" if self.open_exposures else ""
                defects = counted(len(self.exposed), "known defect")
                unless = f", and unless {self.limits}" if self.limits else ""
                return f"Keeps its promises, but for {defects} of this release{unless}{undecided}"
            case Kind.UNKNOWN:
                return f"Cannot tell, because {self.why_unknown or self._why_open}"
            case Kind.KEEPS:
                unless = f", unless {self.limits}" if self.limits else ""
                return f"Keeps its promises within these bounds{unless}"

    @property
    def _only_copy(self) -> str:
        """Why one broker can have the only copy of a record; empty if no broker can, or if `loss` shows a failure."""
        if not self.loses_with_one_broker or (self.loss is not None and self.loss.fails):
            return ""
        if self.case.replication_factor == 1:
            return ": the only replica has the only copy"
        return ": min.insync.replicas=1 lets one broker have the only copy"

    @property
    def limits(self) -> str:
        """The faults that the settings are known not to survive, in words: "2 brokers are lost or one loses power"."""
        lost = None if self.tolerated is None else self.tolerated + 1
        of_one, of_all = (self.findings.get(Question(topic)) for topic in (Topic.POWER, Topic.POWER_OF_ALL))
        faults = [] if lost is None else [f"{counted(lost, 'broker')} {'is' if lost == 1 else 'are'} lost"]
        if of_one is not None and of_one.fails:
            faults.append("one loses power" if faults else "a broker loses power")
        elif of_all is not None and of_all.fails:
            faults.append("all lose power" if faults else "all brokers lose power")
        return " or ".join(faults)

    @property
    def verdict(self) -> Word:
        """The answer as the verdict on a property, for --json: VIOLATED, PERMITTED, UNDECIDED, HOLDS, ..."""
        if self.kind is Kind.UNKNOWN:
            return Word.UNDECIDED
        if self.kind in (Kind.BROKEN, Kind.DEFECTS):
            return Word.VIOLATED
        assert self.loss is not None
        if self.kind is Kind.CAN_LOSE and not self.loss.fails:
            return Word.PERMITTED
        return self.loss.word

    def applies(self) -> set[Kind]:
        """All kinds of answers that fit the cluster: a cluster that can lose records may have known defects as well."""
        kinds = {self.kind}
        if self.kind in (Kind.CAN_LOSE, Kind.DEFECTS, Kind.KEEPS):
            kinds |= {Kind.DEFECTS} if self.exposed else set()
            kinds |= {Kind.UNKNOWN} if self.open_exposures else set()
        return kinds

    @property
    def code(self) -> int:
        """The exit code without --fail-on: 12 if a promise of this configuration is broken, 3 if undecided, else 0."""
        if self.kind is Kind.UNKNOWN:
            is_exposed = self.exposed and self.cluster.generation.why_undecided is None
            return VIOLATED if is_exposed else UNDECIDED
        is_broken = self.kind is Kind.BROKEN or (self.loss is not None and self.loss.word is Word.VIOLATED)
        return VIOLATED if is_broken or self.exposed else SAFE


@dataclass(frozen=True)
class Doctored:
    """The answers of one `isrcheck doctor` command, with all that the report on them needs (--report)."""

    answers: Sequence[Answer]
    files: Mapping[Path, str]
    """The trace files that were written, each with a text that says what it shows."""
    code: int
    """The exit code."""


def code_of(answers: Sequence[Answer], fail_on: Collection[str], *, strict: bool) -> int:
    """Return the gravest exit code of the answers: 12 (a promise is broken), else 3 (undecided), else 0. With `strict`,
    a loss that the settings allow also gives 12. If `fail_on` is not empty, other rules hold: 12 if an answer is of
    kind BROKEN or of a kind in `fail_on` other than UNKNOWN; else 3 if an answer is of kind UNKNOWN and `fail_on` has
    UNKNOWN; else 0."""
    if not fail_on:
        codes = {answer.code for answer in answers}
        if strict and any(answer.kind is Kind.CAN_LOSE for answer in answers):
            codes.add(VIOLATED)
        return next((code for code in (VIOLATED, UNDECIDED) if code in codes), SAFE)
    applies = {kind for answer in answers for kind in answer.applies()}
    if Kind.BROKEN in applies or any(kind.value in fail_on for kind in applies - {Kind.UNKNOWN}):
        return VIOLATED
    return UNDECIDED if Kind.UNKNOWN in applies and Kind.UNKNOWN.value in fail_on else SAFE
