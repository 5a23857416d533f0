"""The right answers of an expert (expert.toml), and what `isrcheck doctor` claims of the same files.

In:  the answers; a folder for the files of a cluster; something that answers questions.
Out: for each fact "yes", "no" or a value, or nothing where the program claims nothing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from isrcheck.checker.answers.answer import Answer, about_brokers, case_of
from isrcheck.checker.answers.examining import Asking, examine
from isrcheck.checker.answers.findings import Finding, without_search
from isrcheck.checker.answers.questions import Case, Question, Topic, defects_of
from isrcheck.checker.answers.report import answer_lines, now_of, table_lines, works
from isrcheck.checker.cluster.cluster import Cluster, Reading
from isrcheck.checker.cluster.formats.registry import read_clusters
from isrcheck.checker.cluster.releases import Role
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import named

TABLE = Path(__file__).parent / "expert.toml"

OF_SETTINGS = ("8.12", "8.13", "8.14")
"""Known failures that settings alone permit: no release has them as a defect; the answer says what is lost."""

READ = ("acks", "idempotence", "min_insync_replicas", "elr", "transactions_v2")
"""The facts that follow from the files without a search."""

NEW_EPOCHS = ("4.0", "4.1", "4.2", "4.3", "4.4")
"""The generations of the model `transactions` with transaction.version=2."""


@dataclass(frozen=True)
class Expert:
    """One right answer.

    `refused` says why the files are refused, by the client, by Kafka or by isrcheck; empty if they are read. `differs`
    has the names of facts (or words) in which the program still differs, each with the reason.
    """

    name: str
    theme: str
    release: str
    controller: str
    source: str
    why: str
    broker: Mapping[str, str]
    topic: Mapping[str, str]
    producer: Mapping[str, str]
    expect: Mapping[str, str]
    must_say: Sequence[str]
    must_not_say: Sequence[str]
    must_say_words: Sequence[str] = ()
    must_not_words: Sequence[str] = ()
    defects: Sequence[str] = ()
    not_defects: Sequence[str] = ()
    controllers: Mapping[str, str] = field(default_factory=dict)
    features: str = ""
    describe: str = ""
    refused: str = ""
    differs: Mapping[str, str] = field(default_factory=dict)

    def read(self, folder: Path) -> Reading:
        """Write the files of the cluster under speaking names, and read them as the command does.

        Raises PropertiesError."""
        files: list[tuple[Role | None, Path]] = []
        for role, name, settings in (
            (Role.BROKER, "server.properties", self.broker),
            (Role.BROKER, "controller.properties", self.controllers),
            (Role.TOPIC, "topic.properties", self.topic),
            (Role.PRODUCER, "producer.properties", self.producer),
        ):
            if settings:
                path = folder / name
                path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
                files.append((role, path))
        described = []
        for name, text in (("topics.txt", self.describe), ("features.txt", self.features)):
            if text:
                path = folder / name
                path.write_text(text.lstrip("\n"), encoding="utf-8")
                described.append(str(path))
        return read_clusters(files, self.release or None, described)


@cache
def experts() -> tuple[Expert, ...]:
    """All right answers, in the order of the file."""
    content = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return tuple(Expert(**one) for one in content["answer"])


# ------------------------------------------------------------------------------------------------------------- answers


NOT_RECORDED = "it is not recorded"


@dataclass
class OnlyRecorded:
    """Answers as `find` does, and leaves open what that does not find; nothing is searched."""

    find: Callable[[Case, Question], Finding | None] = lambda case, question: None

    def expect(self, *questions: object) -> None:
        """Nothing is searched beforehand."""

    def close(self) -> None:
        """Nothing runs."""

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Return the recorded answer, or an open one."""
        return self.find(case, question) or without_search(Word.UNDECIDED, NOT_RECORDED)


@dataclass(frozen=True)
class Doctor:
    """What the command says about the files: its answers, its text, and its text with --details."""

    answers: Sequence[Answer]
    short: str
    whole: str

    @classmethod
    def of(cls, reading: Reading, find: Callable[[Case, Question], Finding | None]) -> Doctor:
        """Examine every cluster."""
        asking = Asking(OnlyRecorded(find))
        answers = [examine(cluster, asking) for cluster in reading.clusters]
        now = now_of(reading.clusters)
        if len(answers) == 1:
            short, whole = (
                answer_lines(answers[0], now, reading.remarks, details=details) for details in (False, True)
            )
        else:
            short = table_lines(answers, now, reading.remarks)
            every = [answer_lines(one, now_of([one.cluster]), details=True) for one in answers]
            whole = [*short, *(line for lines in every for line in lines)]
        return cls(answers, "\n".join(short), "\n".join(whole))

    def claims(self, fact: str) -> str | None:
        """What the answers claim about a fact: what is lost or broken in one of them counts, and what works in all."""
        found = [claim(one, fact) for one in self.answers]
        if len(set(found)) == 1:
            return found[0]
        bad = "no" if fact.startswith(("can_", "writes_", "reads_")) else "yes"
        return bad if bad in found else None


def _word(value: bool) -> str:
    return "yes" if value else "no"


def read_facts(cluster: Cluster) -> dict[str, str]:
    """The facts that follow from the files without a search."""
    transactions = cluster.transactions
    facts = {
        "acks": cluster.producer.acks.value,
        "idempotence": _word(cluster.producer.is_idempotent.value),
        "min_insync_replicas": str(cluster.min_insync_replicas.value),
        "elr": _word(case_of(cluster).has_elr),
    }
    if transactions is None:
        return facts | {"transactions_v2": "no"}
    return facts | {"transactions_v2": _word(transactions.entries["protocol"] in NEW_EPOCHS)}


def claim(answer: Answer, fact: str) -> str | None:
    """What an answer claims about a fact: "yes", "no" or a value; None if it claims nothing."""
    if fact in READ:
        return read_facts(answer.cluster)[fact]
    if answer.why_broken is not None:
        return "no" if fact == "can_write" or fact.startswith("writes_down_") else None
    name, _, number = fact.rpartition("_")
    match name:
        case "can":
            return _works(answer, Topic.WRITES, 0)
        case "writes_down":
            return _works(answer, Topic.WRITES, int(number))
        case "reads_down":
            return _works(answer, Topic.READS, int(number))
        case "loss_by_lost_brokers":
            return _lost_with(answer, int(number))
        case "power" | "disk":
            topic = {"power_one": Topic.POWER, "power_all": Topic.POWER_OF_ALL, "disk_one": Topic.DISK}[fact]
            return _loses_data(answer, topic)
        case "loss_by":
            return _loses_by_settings(answer)
    assert fact in ("duplicates", "order"), fact
    return _fails(answer, Topic(fact))


def _fails(answer: Answer, topic: Topic) -> str | None:
    found = answer.findings.get(Question(topic))
    if found is None or not found.is_known:
        return None
    # Order with one replica: no model searches it, and the answer says so.
    if found.word is Word.NOT_APPLICABLE and found.note:
        return None
    return _word(found.fails)


def _works(answer: Answer, topic: Topic, down: int) -> str | None:
    found = about_brokers(answer.findings, topic)
    if down >= len(found):
        return None
    says = works(found[down])
    return None if says in ("?", "n/a") else _word(says == "yes")


def _loses_by_settings(answer: Answer) -> str | None:
    loss = answer.loss
    if loss is None:
        return None
    if loss.fails or answer.loses_with_one_broker:
        return "yes"
    return "no" if loss.is_known and loss.word is not Word.NOT_APPLICABLE and answer.tolerated is not None else None


def _lost_with(answer: Answer, lost: int) -> str | None:
    if answer.loses_with_one_broker:
        return "yes"
    if answer.case.acks != "all":
        return "yes" if answer.loss is not None and answer.loss.fails else None
    if answer.tolerated is None:
        return None
    return _word(lost > answer.tolerated)


def _loses_data(answer: Answer, topic: Topic) -> str | None:
    """What the answer claims about losses of power and disks; a known defect that then loses a record counts too."""
    found = answer.findings.get(Question(topic))
    of_power = topic is not Topic.DISK
    beside = [one for one in answer.exposures if one.is_of_disks and _needs_power(one.failure.name) is of_power]
    if (found is not None and found.fails) or any(one.is_shown for one in beside):
        return "yes"
    unsearched = [one for one, _ in answer.unsearched if _needs_power(one.name) is of_power]
    if found is None or not found.is_known or any(one.is_open for one in beside) or unsearched:
        return None
    return "no"


def _needs_power(name: str) -> bool | None:
    """Whether a known failure needs a loss of power (True) or of a disk (False); None if of neither."""
    history = named(name).history
    entries = "" if history is None else history.configuration
    return True if "power_losses" in entries else False if "disk_losses" in entries else None


# ------------------------------------------------------------------------------------------------------- known failures


def is_of(number: str, group: str) -> bool:
    """Whether a known failure is one of a group: 8.17a and 8.17b are of 8.17."""
    return number == group or bool(re.fullmatch(re.escape(group) + "[a-z]", number))


def numbers_of(cluster: Cluster) -> list[str]:
    """The numbers of the known failures that the release has for this cluster."""
    return [named(one.name).number for one in defects_of(case_of(cluster), cluster.release)]


def shown_defects(answer: Answer) -> dict[str, bool | None]:
    """Whether the cluster is exposed to each of the known failures: None if that is open, or cannot be searched."""
    found: dict[str, bool | None] = {one.number: None for one, _ in answer.unsearched}
    for one in answer.exposures:
        found[one.failure.number] = None if one.is_open else one.is_shown
    return found


# ---------------------------------------------------------------------------------------------------------- comparison


@dataclass
class Comparison:
    """What was compared, and what differs: the name of a fact, and in words how it differs."""

    compared: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    different: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, expected: str, claimed: str | None) -> None:
        """Compare a claim with a fact; no claim contradicts nothing."""
        if claimed is None:
            self.undecided.append(name)
            return
        self.compared.append(name)
        if claimed != expected:
            self.different[name] = f"the expert says {expected}, the program {claimed}"


def compare_read(expert: Expert, reading: Reading) -> Comparison:
    """Compare what follows from the files without a search."""
    found = Comparison()
    for fact in READ:
        if fact in expert.expect:
            for cluster in reading.clusters:
                found.add(fact, expert.expect[fact], read_facts(cluster)[fact])
    numbers = [numbers_of(cluster) for cluster in reading.clusters]
    for group in expert.defects:
        if group not in OF_SETTINGS:
            found.add(f"has {group}", "yes", _word(all(any(is_of(one, group) for one in some) for some in numbers)))
    return found


def compare_answer(expert: Expert, doctor: Doctor) -> Comparison:
    """Compare what needs a search: facts that are not known are left open."""
    found = Comparison()
    for fact, expected in expert.expect.items():
        if fact not in READ:
            found.add(fact, expected, doctor.claims(fact))
    exposed = [shown_defects(one) for one in doctor.answers]
    for group in expert.defects:
        found.add(f"exposed to {group}", "yes", _exposed_to(doctor, exposed, group))
    for group in expert.not_defects:
        found.add(f"exposed to {group}", "no", _exposed_to(doctor, exposed, group))
    return found


def _exposed_to(doctor: Doctor, exposed: Sequence[Mapping[str, bool | None]], group: str) -> str | None:
    if group == "8.14":
        return doctor.claims("power_all")
    of_group = [[shown for number, shown in some.items() if is_of(number, group)] for some in exposed]
    if any(True in some for some in of_group):
        return "yes"
    return None if any(None in some for some in of_group) or not any(one.findings for one in doctor.answers) else "no"


def lacking_words(expert: Expert, text: str) -> Iterator[str]:
    """The words that the text should have, and has not."""
    return (one for one in expert.must_say_words if not re.search(one, text, re.IGNORECASE | re.MULTILINE))


def wrong_words(expert: Expert, text: str) -> Iterator[str]:
    """The words that the text must not have, and has."""
    return (one for one in expert.must_not_words if re.search(one, text))
