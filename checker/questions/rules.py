"""Named rules by which a question about one case is answered by a search of other settings.

In:  a `Case` and a `Question`.
Out: the case that is searched instead, and the numbers of replicas to search first.

Each rule says why it is sound. Tests search samples both ways, and compare the words and the depths.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.question import Question, Topic

SEARCHED_WHOLE = 3
"""So many replicas are searched to the end; more of them to a depth, because each one multiplies the states."""

OUTSIDE = "a replica that stays outside the ISR"


@dataclass(frozen=True)
class Rule:
    """A rule: its name, why it is sound, and the case that is searched instead (the same one if it does not apply)."""

    name: str
    why: str
    instead: Callable[[Case, Question], Case]


def _one_copy(case: Case, question: Question) -> Case:
    if case.acks == "all" or question.topic is Topic.READS:
        return case
    return replace(case, min_insync_replicas=1)


def _above(case: Case, _: Question) -> Case:
    return replace(case, min_insync_replicas=min(case.min_insync_replicas, case.replication_factor + 1))


def _alone(case: Case, _: Question) -> Case:
    if case.replication_factor > 1:
        return case
    return replace(case, unclean_election=False, leader_rebalance=False)


RULES = (
    Rule(
        "min.insync.replicas without acks=all",
        "a leader looks at min.insync.replicas only before it appends and acknowledges a record with acks=all; what a"
        " reader sees can depend on it (KIP-966), so that question is left out",
        _one_copy,
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
"""The rules that change the settings of a case. One more has no case of its own, but a search: OUTSIDE (`sizes`)."""

WHY_OUTSIDE = (
    "a history with fewer replicas is one of the case, in which the other replicas are outside the ISR from the start"
    " and take no step; so a failure found with them is one of the case"
)


def simplified(case: Case, question: Question) -> Case:
    """The case that is searched instead, by all rules that change settings."""
    for rule in RULES:
        case = rule.instead(case, question)
    return case


def sizes(case: Case, least: int = SEARCHED_WHOLE) -> list[int]:
    """The numbers of replicas to search, the case's own last: by the rule OUTSIDE, a failure with fewer is one of the
    case. Fewer than `least`, or than min.insync.replicas, are not tried."""
    replicas = case.replication_factor
    fewer = range(max(least, case.min_insync_replicas), min(replicas, SEARCHED_WHOLE + 1))
    return [*fewer, replicas]
