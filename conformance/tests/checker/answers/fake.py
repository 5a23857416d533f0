"""An answerer for the tests of checker/answers: it searches nothing; its answers are simple rules of the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from isrcheck.checker.answers.examining import Expected
from isrcheck.checker.answers.findings import Finding, Result, Search, Source
from isrcheck.checker.answers.questions import Case, Question, Topic
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import History

LOST_WITH_ACKS_1 = History(
    "kafka", "4.1", "acks=1", "acked_not_lost", "PERMITTED", 0,
    ("producer_appends at 0", "broker_crashes 0", "controller_fences_leader 0 and elects 1"),
)  # fmt: skip
MISSED_DEMOTION = History(
    "kafka",
    "2.1",
    "records=1 log_size=1 elections=3 bounces=0 crashes=0 preferred_elections=1",
    "acked_not_lost",
    "VIOLATED",
    0,
    (
        "producer_appends at 0",
        "leader_handles_fetch 0 from 2",
        "follower_applies_response 2 from 0",
        "leader_handles_fetch 0 from 2",
        "controller_elects_preferred 1",
        "controller_fails_over to 0",
        "controller_fails_over to 2",
        "broker_becomes_leader 0 in epoch 2",
        "broker_becomes_leader 1 in epoch 1",
        "broker_becomes_follower 2 in epoch 1",
        "follower_reconciles 2 with 1",
    ),
)


def finding(
    word: Word, history: History | None = None, *, stopped: str | None = None, judged: int | None = None
) -> Finding:
    """A recorded finding of one search: to the end, or to the depth `judged`, at which a limit may have stopped it."""
    depth = None if history is None else len(history.steps)
    reached, is_whole = (20, True) if judged is None else (judged, False)
    search = Search("a broker crashes", "kafka", "3.7", "", "acked_not_lost")
    result = Result("acked_not_lost", word, depth, reached, is_whole, 1234, stopped)
    return Finding(
        word, "acked_not_lost", depth, history, ((search, result),), "", Source.RECORDED, recorded="2026-11-24"
    )


def usual(case: Case, question: Question) -> Finding:
    """Records are lost without acks=all, with all brokers that an acknowledged record needs, and by a loss of power of
    all; 8.24 needs a preferred election, and a broker outside the least ISR."""
    match question.topic:
        case Topic.LOSS if case.acks == "1":
            return finding(Word.PERMITTED, LOST_WITH_ACKS_1)
        case Topic.LOSS:
            return finding(Word.HOLDS if case.acks == "all" else Word.PERMITTED)
        case Topic.WRITES:
            least = case.min_insync_replicas if case.acks == "all" else 1
            works = case.replication_factor - question.number >= least
            return finding(Word.REACHED if works else Word.UNREACHABLE)
        case Topic.READS:
            return finding(Word.REACHED)
        case Topic.SURVIVES:
            copies = min(case.min_insync_replicas, case.replication_factor)
            return finding(Word.REACHED if question.number < copies else Word.UNREACHABLE)
        case Topic.POWER_OF_ALL:
            return finding(Word.PERMITTED)
        case Topic.DEFECT if question.name == "missed_demotion":
            exposed = case.leader_rebalance and case.min_insync_replicas < case.replication_factor
            return finding(Word.VIOLATED, MISSED_DEMOTION) if exposed else finding(Word.HOLDS)
        case Topic.DUPLICATES if not case.enable_idempotence:
            return finding(Word.PERMITTED)
        case _:
            return finding(Word.HOLDS)


Rule = Callable[[Case, Question], Finding]


def saying(answer: Finding, *abouts: Topic | str, otherwise: Finding | None = None) -> Rule:
    """The rule that gives this answer to questions about these topics or known failures; to every other question it
    gives the usual answer, or `otherwise`."""
    return lambda case, question: (
        answer if {question.topic, question.name} & {*abouts} else otherwise or usual(case, question)
    )


@dataclass
class Fake:
    """Answers by a rule, and notes which questions were expected and asked. After `most` answers, Ctrl-C is pressed."""

    rule: Rule = usual
    most: int | None = None
    asked: list[tuple[Case, Question]] = field(default_factory=list)
    seconds: list[float | None] = field(default_factory=list)
    expected: list[tuple[Case, Question]] = field(default_factory=list)
    is_closed: bool = False

    def expect(self, questions: Sequence[Expected], limits: Limits, reserve: float, part: float) -> None:
        """Note what is expected."""
        self.expected += [(case, question) for case, question, _ in questions]

    def close(self) -> None:
        """Note the end."""
        self.is_closed = True

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Return the answer by the rule."""
        if self.most is not None and len(self.asked) >= self.most:
            raise KeyboardInterrupt
        self.asked.append((case, question))
        self.seconds.append(limits.seconds)
        return self.rule(case, question)
