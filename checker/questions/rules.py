"""Named rules by which a question about one case is answered by a search of other settings.

In:  a `Case` and a `Question`.
Out: the case that is searched instead, and the numbers of replicas to search first.

Each rule says why it is sound. Tests search samples both ways, and compare the words and the depths.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from isrcheck.checker.questions.case import WITH_ELR, Case
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.models.kafka.failures.catalogue import named, pairs

WRITTEN_BY_LEADERS = ("0.8", "0.10", "0.11", "2.0", "2.1", "2.4")
"""The generations in which the leader writes the ISR itself."""

GENERATIONS = (*WRITTEN_BY_LEADERS, "2.8", "3.3", "3.5", "3.7", "4.0", "4.1", "4.3")
"""All generations, oldest first; from 3.3 on with a KRaft controller."""

LAST_WITHOUT_ELR = "4.0"
"""The last generation without eligible leader replicas."""

LAST_OF_ZOOKEEPER = WRITTEN_BY_LEADERS[-1]
"""The last of them repairs how the earlier ones truncate."""

KEPT = ("HW_MINISR_GATE", "BROKER_STATE_CHECK", "EPOCH_BUMP_ON_SHRINK", "ELR")
"""The switches of known releases that are no mistakes of Kafka; every other one has its repaired value."""

VARYING_MISTAKES = ("DIVERGING_RESP_UPDATES_STATE", "HW_FROM_DIVERGING_RESP", "RESPONSE_EPOCH_MATCHED")
"""The mistakes in which releases of the same generation differ."""

NOT_REPAIRED = (Topic.DEFECT, Topic.TRANSACTIONS)
"""The questions about a generation as it is."""

SEARCHED_WHOLE = 3
"""So many replicas are searched to the end; more of them to a depth, because each one multiplies the states."""

OUTSIDE = "a replica that stays outside the ISR"


@dataclass(frozen=True)
class Rule:
    """A rule: its name, why it is sound, and the case that is searched instead (the same one if it does not apply)."""

    name: str
    why: str
    instead: Callable[[Case, Question], Case]


def _repaired_alike(case: Case, question: Question) -> Case:
    if question.topic in NOT_REPAIRED:
        return case
    protocol = LAST_OF_ZOOKEEPER if case.protocol in WRITTEN_BY_LEADERS else case.protocol
    kept = tuple((name, text) for name, text in case.switches if name in KEPT)
    if (protocol, kept) == (case.protocol, case.switches):
        return case
    return replace(case, protocol=protocol, switches=kept)


def _readers(case: Case, question: Question) -> Case:
    is_read = question.topic in (Topic.READS, Topic.SURVIVES)
    return replace(case, acks="all") if is_read and case.acks != "all" else case


def _without_resends(case: Case, question: Question) -> Case:
    if question.topic not in (Topic.DUPLICATES, Topic.ORDER) or (case.retries and case.acks != "0"):
        return case
    return replace(case, retries=False, max_in_flight_requests=1)


def _above(case: Case, _: Question) -> Case:
    most = case.replication_factor + 1
    return case if case.min_insync_replicas <= most else replace(case, min_insync_replicas=most)


def _alone(case: Case, _: Question) -> Case:
    if case.replication_factor > 1 or not (case.unclean_election or case.leader_rebalance):
        return case
    return replace(case, unclean_election=False, leader_rebalance=False)


def _without_operators(case: Case, question: Question) -> Case:
    if question.topic is Topic.DEFECT or case.protocol not in WITH_ELR:
        return case
    if case.has_elr:
        return replace(case, protocol=WITH_ELR[0])
    return replace(case, protocol=LAST_WITHOUT_ELR, switches=_without(case, ("ELR",)))


def _one_defect(case: Case, question: Question) -> Case:
    if question.topic is not Topic.DEFECT:
        return case
    own = {name for one in named(question.name).changes for name in pairs(one.change)}
    if "protocol" in own:
        return case
    return replace(case, switches=_without(case, [name for name in VARYING_MISTAKES if name not in own]))


def _without(case: Case, names: Collection[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, text) for name, text in case.switches if name not in names)


RULES = (
    Rule(
        "without reassignments",
        "4.3 differs from 4.1 in when a reassignment is complete, and in what a report of a directory does; without "
        "eligible leader replicas both differ from 4.0 in no more; and neither act of an operator is in these searches",
        _without_operators,
    ),
    Rule(
        "a defect is searched alone",
        "every other known mistake is repaired in its search, whether the release has it or not",
        _one_defect,
    ),
    Rule(
        "generations that are repaired alike",
        "the answer is about the generation in which all known mistakes are repaired, and repaired they are the same",
        _repaired_alike,
    ),
    Rule(
        "readers do not see who acknowledges",
        "the record that is read was committed before, and what is committed does not depend on acks",
        _readers,
    ),
    Rule(
        "without resends",
        "a producer that sends nothing again sends each record once, in order, however many requests are in flight",
        _without_resends,
    ),
    Rule(
        "min.insync.replicas above the replicas",
        "the ISR never has more members than there are replicas, so every greater number refuses every write",
        _above,
    ),
    Rule(
        "one replica",
        "without a second replica nobody else can be elected, cleanly or not",
        _alone,
    ),
)
"""The rules that change the settings of a case. Others are in `sizes` (OUTSIDE), `asked_instead` (BROKER_LESS), and in
the plan of losses (FEWER_IN_SYNC)."""

WHY_OUTSIDE = (
    "a history with fewer replicas is one of the case, in which the other replicas are outside the ISR from the start"
    " and take no step; so a failure found with them is one of the case"
)


FEWER_IN_SYNC = "fewer replicas have to be in sync"
WHY_FEWER_IN_SYNC = (
    "an unclean election elects a replica that need not have the record; a history with fewer replicas, of which fewer"
    " have to be in sync, is one of the case, in which the other replicas are in sync until the record is acknowledged,"
    " and then fail for good"
)
LEAST = 2
"""So many replicas have to be in sync in the search of the rule FEWER_IN_SYNC, and in a model that is told nothing."""

BROKER_LESS = "one broker less"
WHY_BROKER_LESS = (
    "a broker that is down for good leaves the ISR, and then nothing depends on it; with all brokers up, or where a"
    " write needs every replica, a replica less that has to be in sync is as good as one less that min.insync.replicas"
    " asks for"
)


ALL_LOSE_POWER = "all brokers lose power"
WHY_ALL_LOSE_POWER = (
    "a history with fewer replicas, of which fewer have to be in sync, is one of the case, in which every further"
    " replica is in sync until the record is acknowledged, and then loses power as well, before it has flushed it"
)


ONE_ENTRY = "a log of one entry"
WHY_ONE_ENTRY = (
    "a broker that loses power keeps a part of its log that is shorter than the log; of one entry that need not be on"
    " disk, this is nothing, as after the loss of its disk; so both searches have the same states, and if nothing is"
    " found after the one loss, nothing is found after the other"
)
READ_WITH_LOSSES = ("flush_interval_messages", "late_fetches", "delete_records")
"""The entries with which a loss of power and one of a disk are not alike: what is flushed is kept, late fetches need
the loss of a disk, and a log that starts later keeps its start."""


def simplified(case: Case, question: Question) -> Case:
    """The case that is searched instead, by all rules that change settings."""
    for rule in RULES:
        case = rule.instead(case, question)
    return case


def asked_instead(case: Case, question: Question) -> tuple[Case, Question]:
    """The case and the question that are searched instead, by all rules."""
    case = simplified(case, question)
    while question.topic is Topic.SURVIVES and case.replication_factor > SEARCHED_WHOLE:
        case, question = _survival_of_fewer(case, question.number)
    while question.topic in (Topic.WRITES, Topic.READS) and case.replication_factor > SEARCHED_WHOLE:
        # The rule BROKER_LESS.
        replicas, down, least = case.replication_factor, question.number, case.min_insync_replicas
        if question.topic is Topic.READS and down:
            least = min(least, replicas - 1)  # what was committed is read, even where nobody can write any more
        if not down or least >= replicas:
            # From 3.7 on min.insync.replicas above the replicas asks for all of them, so it has to become less as well.
            least, down = max(1, least - 1), min(down, replicas - 2)
        else:
            down -= 1
        case = replace(case, replication_factor=replicas - 1, min_insync_replicas=least)
        question = replace(question, number=down)
        case = simplified(case, question)
    return case, question


def _survival_of_fewer(case: Case, lost: int) -> tuple[Case, Question]:
    """The rule BROKER_LESS where the ISR is at its smallest: a replica less outside it, or one less in it and lost."""
    replicas, least = case.replication_factor, min(case.min_insync_replicas, case.replication_factor)
    if least == replicas:
        least, lost = least - 1, max(0, lost - 1)
    fewer = replace(case, replication_factor=replicas - 1, min_insync_replicas=least)
    return fewer, Question(Topic.SURVIVES, min(lost, replicas - 1))


def instead_of(case: Case, replicas: int, least: int) -> tuple[str, str]:
    """Why a search with so many replicas, of which `least` have to be in sync, answers for a case: the name of the
    rule, and what is said behind the faults of the search. Both are empty if the search has the case's replicas."""
    if replicas >= case.replication_factor:
        return "", ""
    says = f", with {replicas} of {case.replication_factor} replicas"
    if least >= case.min_insync_replicas:
        return OUTSIDE, says
    return FEWER_IN_SYNC, f"{says} and min.insync.replicas={least}"


def sizes(case: Case, least: int = SEARCHED_WHOLE) -> list[int]:
    """The numbers of replicas to search, the case's own last: by the rule OUTSIDE, a failure with fewer is one of the
    case. Fewer than `least`, or than min.insync.replicas, are not tried."""
    replicas = case.replication_factor
    fewer = range(max(least, case.min_insync_replicas), min(replicas, SEARCHED_WHOLE + 1))
    return [*fewer, replicas]
