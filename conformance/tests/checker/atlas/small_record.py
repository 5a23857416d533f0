"""A small record, made by hand, for the tests of the pages of the atlas."""

from __future__ import annotations

from typing import Any

from isrcheck.checker.answers.findings import Finding, Result, Search, Searched, Source
from isrcheck.checker.answers.questions import Case, Question, Topic, losses_to_survive
from isrcheck.checker.atlas.cells import ReleasedCluster
from isrcheck.checker.atlas.page import Facts
from isrcheck.checker.atlas.tables import TOPICS, Answers, Line, Sheet, sheets
from isrcheck.checker.cluster.releases import version_of_binaries
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import named

DAY = "2026-11-24"
FACTS = Facts(DAY, "0123456789ab", "Each search had 60 seconds.", None)

NUMBERING = (
    ("CLIENT_BUMPS_EPOCH", 1),
    ("PRODUCER_STATE_KEPT", 1),
    ("UNKNOWN_PID_POLICY", 1),
    ("remembered_batches", 5),
)

CLUSTERS = (
    ReleasedCluster(version_of_binaries("4.0"), "KRaft", Case("3.7", numbering=NUMBERING), ()),
    ReleasedCluster(version_of_binaries("4.1"), "KRaft", Case("4.1", numbering=NUMBERING), ((("protocol", "4.1"),),)),
)


def part(word: Word = Word.HOLDS, judged: int = 14, says: str = "a broker crashes", **more: Any) -> Searched:
    """A search: to the end, unless the word says otherwise."""
    is_whole = word is not Word.NO_VIOLATION and word is not Word.UNDECIDED
    search = Search(says, "kafka", "4.1", "replicas=2", "acked_not_lost", choices=more.pop("choices", 1))
    what = {"depth": None, "judged": judged, "is_exhausted": is_whole, "states": 1234} | more
    return search, Result("acked_not_lost", word, **what)


def found(word: Word, *parts: Searched, note: str = "", **more: Any) -> Finding:
    """A recorded finding without a history."""
    what = {"source": Source.RECORDED, "recorded": DAY} | more
    return Finding(word, "acked_not_lost", None, None, parts, note, **what)


def failing(name: str, rule: str = "") -> Finding:
    """A recorded finding with the history of a known failure."""
    told = named(name).history
    assert told is not None
    word = Word(told.verdict)
    source = Source.RULE if rule else Source.RECORDED
    parts = (part(word, depth=len(told.steps)),)
    return Finding(word, told.property_name, len(told.steps), told, parts, "", source, rule, DAY)


TO_DEPTH = found(Word.NO_VIOLATION, part(), part(Word.NO_VIOLATION, 10, says="a broker crashes, leadership moves"))
FARTHER = found(Word.NO_VIOLATION, part(), part(Word.NO_VIOLATION, 14, says="a broker crashes, leadership moves"))
HOLDS = found(Word.HOLDS, part())
OPEN = found(Word.UNDECIDED, part(Word.UNDECIDED, 7, stopped="seconds"), note="seconds; nothing found to depth 7")


def works(*able: tuple[int, int]) -> dict[int, Finding]:
    """For each number of brokers down, whether something works: the sets for which it does, and for which not."""
    made = {}
    for down, (yes, no) in enumerate(able):
        parts = [part(word, choices=count) for word, count in ((Word.REACHED, yes), (Word.UNREACHABLE, no)) if count]
        made[down] = found(Word.UNREACHABLE if no else Word.REACHED, *parts)
    return made


def line(
    loss: Finding | None,
    defects: dict[str, Finding | None],
    writes: dict[int, Finding],
    *,
    releases: str,
    **case: Any,
) -> Line:
    """A case of the table of topics, in which nothing else fails but by a loss of power of all brokers."""
    settings = {"replication_factor": 3, "min_insync_replicas": 2} | case
    made = Case("4.1", **settings)
    asked = {Question(Topic.WRITES, down): finding for down, finding in writes.items()}
    reads = {Question(Topic.READS, one.number): finding for one, finding in asked.items()}
    exposed = {Question(Topic.DEFECT, name=name): finding for name, finding in defects.items()}
    power, disk = {Question(Topic.POWER): HOLDS}, {Question(Topic.DISK): HOLDS}
    of_all = {Question(Topic.POWER_OF_ALL): failing("whole_isr_loses_power")}
    lost = {Question(Topic.SURVIVES, number): survives(made, number) for number in losses_to_survive(made)}
    findings = ({Question(Topic.LOSS): loss}, exposed, power, power, of_all, disk, lost, asked, reads)
    return Line(releases, made, findings)


def survives(case: Case, lost: int) -> Finding:
    """Whether a committed record is still read after so many brokers are lost, of the smallest ISR."""
    word = Word.REACHED if lost < case.min_insync_replicas else Word.UNREACHABLE
    return found(word, part(word))


THREE = works((1, 0), (3, 0), (0, 3))
SMALL = Sheet(
    TOPICS,
    [
        line(
            *(TO_DEPTH, {"missed_demotion": failing("missed_demotion"), "stale_record": HOLDS}, THREE),
            releases="4.1",
        ),
        line(failing("acks_1"), {}, THREE, releases="4.1", acks="1"),
        line(failing("acks_1"), {}, THREE, releases="4.1", acks="1", leader_rebalance=False),
        line(
            *(HOLDS, {"last_replica_standing": failing("last_replica_standing"), "stale_record": FARTHER}, THREE),
            releases="3.7 \u2013 4.0",
        ),
        line(failing("acks_1", "<b>a rule</b>"), {}, THREE, releases="3.7 \u2013 4.0", acks="1"),
        line(None, {"stale_record": None}, works((1, 0), (2, 1)), releases="3.7 \u2013 4.0", min_insync_replicas=3),
    ],
)
"""Six cases of two releases in five rows."""


def answers(case: Case, question: Question) -> Finding | None:
    """The answer to any question: what is allowed is lost, some known failures are there, the rest holds."""
    topic = question.topic
    if topic is Topic.SURVIVES:
        return survives(case, question.number)
    if topic in (Topic.WRITES, Topic.READS):
        is_able = question.number <= case.replication_factor - case.min_insync_replicas
        return found(Word.REACHED if is_able else Word.UNREACHABLE, part(Word.REACHED if is_able else Word.UNREACHABLE))
    if topic is Topic.LOSS and case.acks != "all":
        return failing("acks_1")
    if topic is Topic.LOSS and case.replication_factor > 3:
        return None
    if question.name in ("missed_demotion", "stale_record"):
        return failing(question.name)
    return OPEN if topic is Topic.ORDER else HOLDS


def whole(reply: Answers = answers) -> list[Sheet]:
    """All tables of two releases."""
    return sheets(CLUSTERS, reply)
