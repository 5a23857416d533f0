"""The questions that an operator asks about a topic, and the settings on which their answers depend.

These settings are a `Case`. Many topics share a case: their names, their partitions and all other settings make no
difference to the answers. By named rules, a search of one case also answers for another case; each rule says why it is
sound. Tests search both cases for samples of the rules, and compare verdicts and depths. No model is loaded here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any

from isrcheck.checker.cluster.releases import Version
from isrcheck.models.kafka.failures.catalogue import NO_RELEASE, Failure, failures, named, pairs


class Topic(StrEnum):
    """What a question is about.

    LOSS: could these settings lose an acknowledged record, if all known defects of the release were repaired? Faults:
    what Kafka does by default (preferred elections, expired sessions) and what brokers do by themselves (they crash
    and restart). POWER, DISK: what the loss of power, or of a disk, of one broker can do; POWER_OF_ALL: what a loss
    of power of all brokers can do. DUPLICATES, ORDER: what resends of a producer can do. TRANSACTIONS: what is
    promised about transactions over several partitions. WRITES, READS: whether a write is acknowledged, and a
    committed record read, with `number` brokers down, after all replicas were in sync. SURVIVES: whether a committed
    record can still be read whichever `number` brokers are lost for good while the ISR is the smallest one that
    acknowledges a record. DEFECT: is the case exposed to the known failure `name` (models/kafka/failures)?
    """

    LOSS = "loss"
    POWER = "power"
    POWER_OF_ALL = "power-of-all"
    DISK = "disk"
    DUPLICATES = "duplicates"
    ORDER = "order"
    TRANSACTIONS = "transactions"
    WRITES = "writes"
    READS = "reads"
    SURVIVES = "survives"
    DEFECT = "defect"


@dataclass(frozen=True, order=True)
class Question:
    """One question. `number` counts the brokers that are down (WRITES, READS) or lost (SURVIVES); `name` is a known
    failure (DEFECT)."""

    topic: Topic
    number: int = 0
    name: str = ""

    @property
    def text(self) -> str:
        """The question as a short text, as in the record: loss, writes 1, defect missed_demotion."""
        return " ".join([self.topic.value, *([str(self.number)] if self.number else []), *filter(None, [self.name])])


WITH_ELR = ("4.1", "4.3")
"""The generations with eligible leader replicas (KIP-966), as in a new cluster, oldest first."""


@dataclass(frozen=True, order=True)
class Case:
    """Those settings of one topic and its producers on which the answers depend."""

    protocol: str
    """A generation of the model `kafka`."""
    switches: tuple[tuple[str, str], ...] = ()
    """The entries in which the cluster differs from the generation, as on the command line, sorted by name."""
    acks: str = "all"
    """One of "0", "1" and "all"."""
    replication_factor: int = 3
    min_insync_replicas: int = 1
    """min.insync.replicas, but at most `replication_factor` + 1: every larger number has the same effect."""
    unclean_election: bool = False
    leader_rebalance: bool = True
    """auto.leader.rebalance.enable."""
    flushes_every_message: bool = False
    """log.flush.interval.messages=1."""
    enable_idempotence: bool = True
    retries: bool = True
    max_in_flight_requests: int = 5
    """1 or 5, because more make no difference for the few records of a search."""
    numbering: tuple[tuple[str, int], ...] = ()
    """The entries of the model that say how this release's clients and brokers handle sequence numbers."""
    transactions: tuple[tuple[str, str], ...] = ()
    """The generation of the model `transactions`, as the entry `protocol`, and its entries; empty without any."""

    @property
    def has_record_epochs(self) -> bool:
        """Whether records have the format of 0.11, which idempotence and transactions require."""
        return self.protocol not in ("0.8", "0.10") and dict(self.switches).get("TRUNC") != "HW"

    @property
    def has_elr(self) -> bool:
        """Whether the controllers keep eligible leader replicas: since 4.1, unless a switch says otherwise."""
        own = "on" if self.protocol in WITH_ELR else "off"
        return dict(self.switches).get("ELR", own) == "on"

    def as_object(self) -> dict[str, Any]:
        """The case as a JSON object: every setting by its name."""
        pairs = {name: dict(getattr(self, name)) for name in ("switches", "numbering", "transactions")}
        return asdict(self) | pairs


WRITTEN_BY_LEADERS = ("0.8", "0.10", "0.11", "2.0", "2.1", "2.4")
"""The generations in which the leader writes the ISR itself."""

GENERATIONS = (*WRITTEN_BY_LEADERS, "2.8", "3.3", "3.5", "3.7", "4.0", "4.1", "4.3")
"""All generations, oldest first; from 3.3 on with a KRaft controller."""

LAST_WITHOUT_ELR = "4.0"
"""The last generation without eligible leader replicas."""

LAST_OF_ZOOKEEPER = WRITTEN_BY_LEADERS[-1]
"""The last generation with ZooKeeper in which the leader writes the ISR; it repairs how the earlier ones truncate."""

KEPT = ("HW_MINISR_GATE", "BROKER_STATE_CHECK", "EPOCH_BUMP_ON_SHRINK", "ELR")
"""The switches of known releases that are not mistakes of Kafka; every other switch has its repaired value."""

VARYING_MISTAKES = ("DIVERGING_RESP_UPDATES_STATE", "HW_FROM_DIVERGING_RESP", "RESPONSE_EPOCH_MATCHED")
"""The mistakes in which releases of the same generation differ."""

NOT_REPAIRED = (Topic.DEFECT, Topic.TRANSACTIONS)
"""The questions that are about a generation as it is, with its known mistakes."""

SEARCHED_WHOLE = 3
"""The most replicas with which a search goes to the end; with more replicas it stops at a depth, because each further
replica multiplies the states."""


def _without_operators(case: Case, question: Question) -> Case:
    """Replace generation 4.3 by 4.1 or, without eligible leader replicas, 4.3 and 4.1 by 4.0. These generations differ
    only in when a reassignment ends and in what a broker's report of a directory does. Both need acts of operators,
    which these searches lack."""
    if question.topic is Topic.DEFECT or case.protocol not in WITH_ELR:
        return case
    if case.has_elr:
        return replace(case, protocol=WITH_ELR[0])
    return replace(case, protocol=LAST_WITHOUT_ELR, switches=_without(case, ("ELR",)))


def _one_defect(case: Case, question: Question) -> Case:
    """Leave out all known mistakes but that of the failure in question: the search repairs all the others, so it does
    not matter which of the others the release has."""
    if question.topic is not Topic.DEFECT:
        return case
    own = {name for change in named(question.name).changes for name in pairs(change.change)}
    if "protocol" in own:
        return case
    return replace(case, switches=_without(case, [name for name in VARYING_MISTAKES if name not in own]))


def _without(case: Case, names: Collection[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, text) for name, text in case.switches if name not in names)


def _repaired_alike(case: Case, question: Question) -> Case:
    """Leave out the mistakes of the release: the search repairs all known mistakes, so releases that differ only in
    their mistakes have the same answer."""
    if question.topic in NOT_REPAIRED:
        return case
    protocol = LAST_OF_ZOOKEEPER if case.protocol in WRITTEN_BY_LEADERS else case.protocol
    kept = tuple((name, text) for name, text in case.switches if name in KEPT)
    return replace(case, protocol=protocol, switches=kept)


def _readers(case: Case, question: Question) -> Case:
    """Set acks=all for a question about reading a committed record: acks does not decide what is committed."""
    return replace(case, acks="all") if question.topic in (Topic.READS, Topic.SURVIVES) else case


def _without_resends(case: Case, question: Question) -> Case:
    """Set one request in flight if nothing is resent: each record is sent once, in order, with any number in flight."""
    if question.topic not in (Topic.DUPLICATES, Topic.ORDER) or (case.retries and case.acks != "0"):
        return case
    return replace(case, retries=False, max_in_flight_requests=1)


def _above(case: Case, _: Question) -> Case:
    """Limit min.insync.replicas to the number of replicas plus one: no ISR has so many members, so all writes fail."""
    return replace(case, min_insync_replicas=min(case.min_insync_replicas, case.replication_factor + 1))


def _alone(case: Case, _: Question) -> Case:
    """Switch off unclean and preferred elections if there is only one replica: nobody else can be elected."""
    return case if case.replication_factor > 1 else replace(case, unclean_election=False, leader_rebalance=False)


Rule = Callable[[Case, Question], Case]
"""Returns the case that is searched instead, the same case if it does not apply; its docstring says why it is sound."""

RULES: Mapping[str, Rule] = {
    "without reassignments": _without_operators,
    "a defect is searched alone": _one_defect,
    "generations that are repaired alike": _repaired_alike,
    "readers do not see who acknowledges": _readers,
    "without resends": _without_resends,
    "min.insync.replicas above the replicas": _above,
    "one replica": _alone,
}
"""The rules that change the settings of a case, by their names. The others follow: OUTSIDE is in `sizes`, BROKER_LESS
in `asked_instead`, FEWER_IN_SYNC, ALL_LOSE_POWER and ONE_ENTRY in planning.py."""

OUTSIDE = "a replica that stays outside the ISR"
"""A history with fewer replicas is also a history of the case, in which the other replicas are outside the ISR from the
start and take no step; so a failure found with fewer replicas is a failure of the case."""

FEWER_IN_SYNC = "fewer replicas have to be in sync"
"""An unclean election elects a replica that need not have the record; a history with fewer replicas, of which fewer
must be in sync, is also a history of the case, in which the other replicas are in sync until the record is
acknowledged, and then fail for good."""

LEAST = 2
"""The replicas that must be in sync in the search of the rule FEWER_IN_SYNC, and in a model by default."""

BROKER_LESS = "one broker less"
"""A broker that is down for good leaves the ISR, and then no step depends on that broker; with all brokers up, or where
a write needs every replica, one replica fewer in sync is equivalent to a min.insync.replicas that is less by one."""

ALL_LOSE_POWER = "all brokers lose power"
"""A history with fewer replicas, of which fewer must be in sync, is also a history of the case, in which every further
replica is in sync until the record is acknowledged, and then loses power as well, before it has flushed the record."""

ONE_ENTRY = "a log of one entry"
"""A broker that loses power keeps a part of its log that is shorter than the log. If the log has one entry, which need
not be on disk, this part is empty, as after the loss of its disk. So both searches have the same states, and if nothing
is found after one loss, nothing is found after the other."""

READ_WITH_LOSSES = ("flush_interval_messages", "late_fetches", "delete_records")
"""The entries with which a loss of power differs from the loss of a disk: flushed data is kept, late fetches need the
loss of a disk, and a log that starts later keeps its start."""


def simplified(case: Case, question: Question) -> Case:
    """Apply all rules that change settings: return the case that is searched in place of `case`."""
    for rule in RULES.values():
        case = rule(case, question)
    return case


def asked_instead(case: Case, question: Question) -> tuple[Case, Question]:
    """Apply all rules: return the case and the question that are searched in place of `case` and `question`."""
    case = simplified(case, question)
    while question.topic is Topic.SURVIVES and case.replication_factor > SEARCHED_WHOLE:
        case, question = _survival_of_fewer(case, question.number)
    while question.topic in (Topic.WRITES, Topic.READS) and case.replication_factor > SEARCHED_WHOLE:
        # The rule BROKER_LESS.
        replicas, down, least = case.replication_factor, question.number, case.min_insync_replicas
        if question.topic is Topic.READS and down:
            least = min(least, replicas - 1)  # committed records are read even where nobody can write
        if not down or least >= replicas:
            # From 3.7 on min.insync.replicas above the replicas means all of them, so it must become less as well.
            least, down = max(1, least - 1), min(down, replicas - 2)
        else:
            down -= 1
        case = replace(case, replication_factor=replicas - 1, min_insync_replicas=least)
        question = replace(question, number=down)
        case = simplified(case, question)
    return case, question


def _survival_of_fewer(case: Case, lost: int) -> tuple[Case, Question]:
    """Return the equivalent case with one replica less, and the question about that case, by the rule BROKER_LESS. The
    omitted replica is outside the smallest ISR or, if all replicas are in that ISR, it is one of the lost brokers."""
    replicas, least = case.replication_factor, min(case.min_insync_replicas, case.replication_factor)
    if least == replicas:
        least, lost = least - 1, max(0, lost - 1)
    fewer = replace(case, replication_factor=replicas - 1, min_insync_replicas=least)
    return fewer, Question(Topic.SURVIVES, min(lost, replicas - 1))


def instead_of(case: Case, replicas: int, least: int) -> tuple[str, str]:
    """Return why a search with fewer replicas than the case answers for it: the rule's name, and a remark. The remark
    is appended to the faults of the search in words. `least` is the search's min.insync.replicas. Both texts are empty
    if the search has as many replicas as the case."""
    if replicas >= case.replication_factor:
        return "", ""
    says = f", with {replicas} of {case.replication_factor} replicas"
    if least >= case.min_insync_replicas:
        return OUTSIDE, says
    return FEWER_IN_SYNC, f"{says} and min.insync.replicas={least}"


def sizes(case: Case, least: int = SEARCHED_WHOLE) -> list[int]:
    """Return the numbers of replicas to search: some smaller numbers, and then the number of the case. The smaller
    numbers go from `least` or min.insync.replicas, whichever is greater, to three. By the rule OUTSIDE, a failure with
    fewer replicas is also a failure of the case."""
    replicas = case.replication_factor
    fewer = range(max(least, case.min_insync_replicas), min(replicas, SEARCHED_WHOLE + 1))
    return [*fewer, replicas]


KAFKA, LIVENESS, SCENARIOS = "kafka", "kafka_liveness", "kafka_scenarios"
TRANSACTIONS, EXACTLY_ONCE = "transactions", "exactly_once"

LOST = "acked_not_lost"
NEEDS_ALL_ACKS = (LOST, "tolerates_claimed_failures")
"""The promises about acknowledged records, which a producer has only with acks=all."""

LOSSES = ("power_losses", "disk_losses")
"""The budgets of faults that lose data: the answer does not depend on failures that need them, but reports them."""

BESIDE_THE_CLUSTER = ("DELETION_IS_ANSWERED", "DIVERGING_ANSWER_IS_SPLIT", "FETCH_IS_SPLIT", "dropped_metadata")
"""The entries of steps that no generation has by itself: the answer to DeleteRecords, a truncation or a fetch in two
steps, metadata that a broker fails to apply. No setting of a cluster decides whether they happen, so a failure that
needs such a step is not a question about a cluster; `check failures` searches it."""

GENERATION = ("protocol", "switches")
TOPIC = (*GENERATION, "acks", "replication_factor", "min_insync_replicas")
PRODUCER = ("enable_idempotence", "retries", "max_in_flight_requests", "numbering")
READ = {
    Topic.LOSS: (*TOPIC, "unclean_election", "leader_rebalance"),
    Topic.POWER: (*TOPIC, "flushes_every_message"),
    Topic.POWER_OF_ALL: (*TOPIC, "flushes_every_message"),
    Topic.DISK: TOPIC,
    Topic.DUPLICATES: (*TOPIC, *PRODUCER),
    Topic.ORDER: (*TOPIC, *PRODUCER),
    Topic.TRANSACTIONS: ("transactions",),
    Topic.WRITES: (*TOPIC, "unclean_election"),
    Topic.READS: (*TOPIC, "unclean_election"),
    Topic.SURVIVES: (*GENERATION, "replication_factor", "min_insync_replicas"),
}
"""The settings that the searches of a question read: the others make no difference."""


def is_in(failure: Failure, version: Version, case: Case | None = None) -> bool:
    """Whether a release has a failure; a failure that depends on the configuration alone is in every release. With a
    `case`: whether a cluster of this release has the failure with these settings. The case may have an older protocol
    than the release, or ZooKeeper instead of KRaft."""
    if failure.since == NO_RELEASE:
        return False
    remains = False
    if case is not None:
        first = failure.first_generation
        if first and GENERATIONS.index(case.protocol) < GENERATIONS.index(first):
            return False
        if failure.needs and not _has_one_of(case, failure, failure.needs):
            return False
        remains = _has_one_of(case, failure, failure.remains_with)
    return version.is_affected(failure.since, () if remains else failure.repaired)


def _has_one_of(case: Case, failure: Failure, entries: Sequence[str]) -> bool:
    """Whether a case has any NAME=VALUE of `entries`; for a failure of the model `transactions`, its `transactions`."""
    if failure.history is not None and failure.history.model == TRANSACTIONS:
        of_case = dict(case.transactions)
    else:
        of_case = {"protocol": case.protocol, **dict(case.switches), "ELR": "on" if case.has_elr else "off"}
    return any(of_case.get(name) == value for entry in entries for name, value in pairs(entry).items())


def defects_of(case: Case, version: Version) -> list[Question]:
    """The questions about the known failures of a release that concern a case, in the order of their numbers."""
    return [
        Question(Topic.DEFECT, name=failure.name)
        for failure in failures()
        if is_in(failure, version, case) and concerns(case, failure)
    ]


def loses_data(failure: Failure) -> bool:
    """Whether a failure needs a loss of power or of a disk: a loss of data that Kafka alone cannot prevent."""
    return any(name in _entries(failure) for name in LOSSES)


def loses_acknowledged(failure: Failure) -> bool:
    """Whether a failure breaks a promise about acknowledged records."""
    return failure.history is not None and failure.history.property_name in NEEDS_ALL_ACKS


def concerns(case: Case, failure: Failure) -> bool:
    """Whether a case uses what a known failure needs; False if the settings alone cause the failure (no defect)."""
    history = failure.history
    if not failure.since:
        return False
    if history is not None and history.model == TRANSACTIONS:
        return bool(case.transactions)
    if case.replication_factor == 1 and (history is None or history.model != EXACTLY_ONCE):
        return False  # nothing is replicated, and nobody else can be elected
    if history is None:
        return True
    entries = _entries(failure)
    if not entries.keys().isdisjoint(BESIDE_THE_CLUSTER):
        return False
    return (
        (not loses_acknowledged(failure) or case.acks == "all")
        and ("enable_idempotence" not in entries or (case.enable_idempotence and case.has_record_epochs))
        and ("transactions" not in entries or (bool(case.transactions) and case.acks == "all"))
        and ("unclean_elections" not in entries or case.unclean_election)
    )


def losses_to_survive(case: Case) -> range:
    """The numbers of lost brokers to search: from 1 to the number of brokers that must have an acknowledged record.
    Empty without acks=all, which promises no survival."""
    copies = min(case.min_insync_replicas, case.replication_factor) if case.acks == "all" else 0
    return range(1, copies + 1)


def why_unasked(case: Case, question: Question) -> str:
    """Why no search is made for a question: no model covers it with these settings. Empty if a search is made."""
    if question.topic is Topic.TRANSACTIONS and not case.transactions:
        return "no producer has transactions"
    if question.topic in (Topic.DUPLICATES, Topic.ORDER) and case.enable_idempotence and not case.has_record_epochs:
        return "an idempotent producer needs records in the format of 0.11"
    # Whether a resent request can arrive after a later request unnoticed.
    is_overtaken = case.retries and case.acks != "0" and case.max_in_flight_requests > 1 and not case.enable_idempotence
    if question.topic is Topic.ORDER and case.replication_factor == 1 and is_overtaken:
        return "with one replica the model refuses no request, and so none is overtaken; in Kafka one can be"
    if question.topic is not Topic.DEFECT:
        return ""
    failure = named(question.name)
    if failure.history is None:
        return failure.why_not
    return "" if concerns(case, failure) else f"not with these settings: {failure.title}"


def _entries(failure: Failure) -> dict[str, str]:
    return {} if failure.history is None else pairs(failure.history.configuration)


@cache
def read_by(question: Question) -> tuple[str, ...]:
    """The names of the settings of a `Case` that the searches of a question read."""
    if question.topic is not Topic.DEFECT:
        return READ[question.topic]
    failure = named(question.name)
    history = failure.history
    if history is None:
        return ()
    if history.model == TRANSACTIONS:
        return ("transactions",)
    if history.model not in (KAFKA, LIVENESS):
        return ()
    bounds = [history.configuration, *(bounds.configuration for bounds in failure.bounds)]
    entries = {name for text in bounds for name in pairs(text)}
    return (
        *TOPIC,
        *(["flushes_every_message"] if loses_data(failure) else []),
        *(["unclean_election"] if "unclean_elections" in entries else []),
        *(["leader_rebalance"] if "preferred_elections" in entries else []),
        *(PRODUCER if "enable_idempotence" in entries else []),
        *(["transactions"] if "transactions" in entries else []),
    )


def key_of(case: Case, question: Question) -> tuple[str, str]:
    """Return the key of an answer, two texts; cases with the same key have the same answer. The first text is the
    question with the values of settings that belong to a release; the second has the values of the other settings that
    the question reads, in the order of `settings_of_topic`."""
    case, question = asked_instead(case, question)
    read = read_by(question)
    released = (f"{name}={_spelled(getattr(case, name))}" for name in RELEASED if name in read)
    settings = (_spelled(getattr(case, name)) for name in settings_of_topic(question))
    return " | ".join((question.text, *released)), " ".join(settings)


RELEASED = (*GENERATION, "numbering", "transactions")
"""The settings that belong to a release."""


def settings_of_topic(question: Question) -> tuple[str, ...]:
    """The names of the settings that a question reads, without those that belong to a release."""
    return tuple(name for name in read_by(question) if name not in RELEASED)


def _spelled(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(f"{name}:{entry}" for name, entry in value) or "-"
    return str(int(value)) if isinstance(value, bool) else str(value)
