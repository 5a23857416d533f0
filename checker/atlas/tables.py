"""The tables of the atlas: the cases that their settings make, and their answers in an operator's words.

In:  the clusters of the known releases, and the record, as a function from a case and a question to a finding; the
     places where pages are kept (proofs.py).
Out: a `Sheet` for topics, for producers and for transactions, with its lines; and its `Row`s: cases with the same
     answers share a row, the worst rows come first, and every case is in exactly one row.

Each question belongs to the table in which the settings that it reads vary: a producer's retries do not change what
an election loses, so the cases of one table do not multiply those of another.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from functools import cache
from typing import Any

from isrcheck.checker.answers.findings import Finding, Source, is_exposed, is_open
from isrcheck.checker.answers.questions import (
    LOSSES,
    PRODUCER,
    Case,
    Question,
    Topic,
    concerns,
    is_in,
    loses_data,
    losses_to_survive,
    read_by,
)
from isrcheck.checker.atlas.cells import ReleasedCluster, axes
from isrcheck.checker.atlas.proofs import Histories, Searches, address_of
from isrcheck.checker.results.terminal import counted
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import Failure, failures, named

Answers = Callable[[Case, Question], Finding | None]
"""The record: the finding of a question about a case; None if it is not recorded."""


@dataclass(frozen=True)
class Column:
    """A column of answers: its topic, its heading, what it asks in full, and settings that it changes.

    The columns that decide make the answer of a row as a whole.
    """

    topic: Topic
    heading: str
    asks: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    decides: bool = False


@dataclass(frozen=True)
class Kind:
    """A table: the name of its file, its title, what it is about, the settings that vary, and its columns.

    `fails` says in a few words what is wrong where the settings permit a failure.
    """

    file: str
    title: str
    about: str
    fails: str
    settings: tuple[str, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Line:
    """A case of these releases; for each column the findings of its questions, None for one that is not recorded."""

    releases: str
    case: Case
    findings: tuple[Mapping[Question, Finding | None], ...]


@dataclass(frozen=True)
class Sheet:
    """A table with its cases, the newest releases first."""

    kind: Kind
    lines: Sequence[Line]


_DEFECTS = Column(
    Topic.DEFECT, "Known defects", "Known defects of the release to which the case is exposed", decides=True
)

TOPICS = Kind(
    "index.html",
    "Topics",
    "What a topic's settings promise about acknowledged records, with all known defects repaired; to which known"
    " defects of its release it is exposed; and whether it works while brokers are down.",
    "Can lose records",
    ("acks", "replication_factor", "min_insync_replicas", "unclean_election", "leader_rebalance"),
    (
        Column(
            Topic.LOSS, "Acknowledged records", "Can an acknowledged record be lost by these settings?", decides=True
        ),
        _DEFECTS,
        Column(Topic.POWER, "One loss of power", "One broker loses power, and what it has not flushed"),
        Column(
            Topic.POWER,
            "Power loss, all flushed",
            "One broker loses power, with log.flush.interval.messages=1",
            {"flushes_every_message": True},
        ),
        Column(Topic.POWER_OF_ALL, "Power loss of all", "All brokers lose power, and what they have not flushed"),
        Column(Topic.DISK, "One lost disk", "One broker comes back with an empty disk"),
        Column(
            Topic.SURVIVES,
            "Brokers lost",
            "How many brokers can be lost for good, while only min.insync.replicas of them are in sync?",
            decides=True,
        ),
        Column(Topic.WRITES, "Writes", "With how many brokers down is a write acknowledged?"),
        Column(Topic.READS, "Reads", "With how many brokers down is a committed record read?"),
    ),
)
PRODUCERS = Kind(
    "producers.html",
    "Producers",
    "What a producer's resends do: a record that appears twice, or records in another order than they were sent.",
    "Twice or out of order",
    (
        "acks",
        "enable_idempotence",
        "retries",
        "max_in_flight_requests",
        "replication_factor",
        "min_insync_replicas",
    ),
    (
        Column(Topic.DUPLICATES, "Duplicates", "Can a record appear twice?", decides=True),
        Column(Topic.ORDER, "Order", "Can records change their order?", decides=True),
        _DEFECTS,
    ),
)
TRANSACTIONS = Kind(
    "transactions.html",
    "Transactions",
    "What is promised about transactions over several partitions, and the known defects of their protocol.",
    "Breaks a promise",
    ("transactions", "replication_factor", "min_insync_replicas"),
    (
        Column(Topic.TRANSACTIONS, "Transactions", "Does every promise about transactions hold?", decides=True),
        _DEFECTS,
    ),
)
KINDS = (TOPICS, PRODUCERS, TRANSACTIONS)


def sheets(clusters: Sequence[ReleasedCluster], answers: Answers) -> list[Sheet]:
    """The tables, each with its lines."""
    return [Sheet(kind, list(_lines(kind, clusters, answers))) for kind in KINDS]


def _lines(kind: Kind, clusters: Sequence[ReleasedCluster], answers: Answers) -> Iterator[Line]:
    for name, cluster in _grouped(kind, clusters):
        known = _known(kind, cluster)
        every = axes(cluster)
        values = {name: every[name] for name in kind.settings}
        for chosen in itertools.product(*values.values()):
            changed: dict[str, Any] = dict(zip(values, chosen, strict=True))
            case = replace(cluster.case, **changed)
            if _is_possible(kind, case):
                yield Line(name, case, tuple(_findings(one, case, known, answers) for one in kind.columns))


def _findings(
    column: Column, case: Case, known: Sequence[Failure], answers: Answers
) -> Mapping[Question, Finding | None]:
    case = replace(case, **column.changes)
    if column.topic is Topic.DEFECT:
        asked = [_about(one) for one in known if concerns(case, one)]
    elif column.topic in (Topic.WRITES, Topic.READS):
        asked = [Question(column.topic, number) for number in range(case.replication_factor)]
    elif column.topic is Topic.SURVIVES:
        asked = [Question(column.topic, lost) for lost in losses_to_survive(case)]
    else:
        asked = [Question(column.topic)]
    return {question: answers(case, question) for question in asked}


def _known(kind: Kind, cluster: ReleasedCluster) -> list[Failure]:
    """The known failures of a release whose settings vary in a table."""
    return [one for one in failures() if is_in(one, cluster.release, cluster.case) and sheet_of(_about(one)) is kind]


def _about(failure: Failure) -> Question:
    return Question(Topic.DEFECT, name=failure.name)


@cache
def sheet_of(question: Question) -> Kind:
    """The table that varies the settings that a question about a known failure reads."""
    read = read_by(question)
    if "transactions" in read:
        return TRANSACTIONS
    return PRODUCERS if set(PRODUCER) & set(read) else TOPICS


def _is_possible(kind: Kind, case: Case) -> bool:
    """Whether Kafka accepts the settings of a table together, a write can be acknowledged, and a resend can happen."""
    if case.min_insync_replicas > case.replication_factor:
        return False
    if kind is not PRODUCERS:
        return True
    if case.enable_idempotence:
        return case.acks == "all" and case.retries and case.has_record_epochs
    return not (case.acks == "0" and case.retries)


# ------------------------------------------------------------------------------------------------------------ releases


def _grouped(kind: Kind, clusters: Sequence[ReleasedCluster]) -> list[tuple[str, ReleasedCluster]]:
    """Releases with the same behaviour and the same known defects, as one: its name, and its newest release.

    The newest releases come first.
    """
    groups: dict[object, list[ReleasedCluster]] = {}
    for cluster in reversed(clusters):
        if kind is TRANSACTIONS and not cluster.transactions:
            continue
        known = tuple(map(_about, _known(kind, cluster)))
        case = cluster.case if kind is PRODUCERS else replace(cluster.case, numbering=())
        if kind is TRANSACTIONS:
            case = (
                replace(case, protocol="", switches=())
                if not any("protocol" in read_by(one) for one in known)
                else case
            )
        groups.setdefault((case, cluster.transactions if kind is TRANSACTIONS else (), known), []).append(cluster)
    return [(_name(group, clusters), group[0]) for group in groups.values()]


def _name(group: Sequence[ReleasedCluster], clusters: Sequence[ReleasedCluster]) -> str:
    """The releases of a group, from the oldest to the newest, for each mode. A range leaves out no release of its mode
    between its ends, and a mode is named if releases of the range have the other mode as well."""
    modes: dict[str, list[str]] = {}
    is_named = False
    for mode in dict.fromkeys(one.mode for one in group):
        of_mode = [one for one in clusters if one.mode == mode]
        runs = itertools.groupby(of_mode, lambda one: any(one is other for other in group))
        chosen = [[one.release.text for one in run] for is_in_group, run in runs if is_in_group]
        modes.setdefault(", ".join(map(_range, chosen)), []).append(mode)
        others = {one.release.text for one in clusters if one.mode != mode}
        is_named = is_named or not others.isdisjoint(itertools.chain(*chosen))
    return "; ".join(f"{shown} {some[0]}" if is_named and len(some) == 1 else shown for shown, some in modes.items())


def _range(releases: Sequence[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} \u2013 {releases[-1]}"


# --- Settings as columns ---


@dataclass(frozen=True)
class SettingColumn:
    """A setting: its name in an address, the heading of its column, Kafka's key, and its value for a line."""

    name: str
    heading: str
    key: str
    of: Callable[[Line], str]


def _text(name: str) -> Callable[[Line], str]:
    return lambda line: str(getattr(line.case, name))


def _switch(name: str) -> Callable[[Line], str]:
    return lambda line: "on" if getattr(line.case, name) else "off"


def _verification(line: Line) -> str:
    return "off" if dict(line.case.transactions).get("TXN_VERIFY") == "OFF" else "as in the release"


RELEASES = SettingColumn("kafka", "Kafka", "the release of the brokers", lambda line: line.releases)
REPLICAS = SettingColumn("replicas", "replicas", "replication.factor", _text("replication_factor"))

SETTINGS = {
    "acks": SettingColumn("acks", "acks", "acks", _text("acks")),
    "replication_factor": REPLICAS,
    "min_insync_replicas": SettingColumn("min-isr", "min ISR", "min.insync.replicas", _text("min_insync_replicas")),
    "unclean_election": SettingColumn(
        "unclean", "unclean election", "unclean.leader.election.enable", _switch("unclean_election")
    ),
    "leader_rebalance": SettingColumn(
        "rebalance", "leader rebalance", "auto.leader.rebalance.enable", _switch("leader_rebalance")
    ),
    "enable_idempotence": SettingColumn(
        "idempotence", "idempotent", "enable.idempotence", _switch("enable_idempotence")
    ),
    "retries": SettingColumn("retries", "retries", "retries", _switch("retries")),
    "max_in_flight_requests": SettingColumn(
        "in-flight", "in flight", "max.in.flight.requests.per.connection", _text("max_in_flight_requests")
    ),
    "transactions": SettingColumn(
        "verification", "verification", "transaction.partition.verification.enable", _verification
    ),
}
"""The settings by their names in a `Case`."""


def settings_of(names: Sequence[str]) -> tuple[SettingColumn, ...]:
    """The columns of a table: the releases, and the settings with these names."""
    return (RELEASES, *(SETTINGS[name] for name in names))


def values_of(setting: SettingColumn, lines: Sequence[Line]) -> list[str]:
    """The values of a setting: releases in the order of the lines, numbers in order, anything else after them."""
    found = list(dict.fromkeys(setting.of(line) for line in lines))
    if setting is RELEASES:
        return found
    return sorted(found, key=lambda text: (not text.isdecimal(), text.rjust(3), text))


# --- Answers in words ---

ALLOWED = "your settings allow this"


class Grave(IntEnum):
    """How grave an answer is, the worst first."""

    BROKEN = 0
    ALLOWED = 1
    OPEN = 2
    TO_DEPTH = 3
    TO_THE_END = 4
    FACT = 5
    NOTHING = 6


@dataclass(frozen=True)
class Words:
    """A short text about findings, and how grave they are."""

    grave: Grave
    text: str


NOT_ASKED = Words(Grave.NOTHING, "not asked here")
NOT_RECORDED = Words(Grave.OPEN, "not recorded")
NONE_KNOWN = Words(Grave.NOTHING, "none known")


@dataclass(frozen=True)
class _Phrases:
    """The words of an answer: what happens if the property fails, what does not if it holds, and who permits it."""

    happens: str
    never: str
    permits: str


PHRASES: Mapping[Topic, _Phrases] = {
    Topic.LOSS: _Phrases("lost", "no loss", ALLOWED),
    Topic.POWER: _Phrases("lost", "no loss", "not promised"),
    Topic.POWER_OF_ALL: _Phrases("lost", "no loss", "not promised"),
    Topic.DISK: _Phrases("lost", "no loss", "not promised"),
    Topic.DUPLICATES: _Phrases("appears twice", "no duplicate", ALLOWED),
    Topic.ORDER: _Phrases("out of order", "in order", ALLOWED),
    Topic.TRANSACTIONS: _Phrases("a promise breaks", "every promise holds", ALLOWED),
}


def said(topic: Topic, finding: Finding | None) -> Words:
    """Say the answer to a question other than those about brokers that are down and about known defects."""
    if finding is None:
        return NOT_RECORDED
    phrases = PHRASES[topic]
    if finding.fails:
        when = f"{phrases.happens} after {counted(finding.depth or 0, 'step')}"
        if finding.word is Word.PERMITTED:
            # Without acks=all, a record is lost before anything else fails, without a loss of power or of a disk.
            entries = "" if finding.history is None else finding.history.configuration
            permits = phrases.permits if any(f"{name}=" in entries for name in LOSSES) else ALLOWED
            return Words(Grave.ALLOWED, f"{when}: {permits}")
        return Words(Grave.BROKEN, f"{when}, against Kafka's promise")
    if finding.word is Word.NOT_APPLICABLE:
        return NOT_ASKED
    if not finding.is_known:
        return Words(Grave.OPEN, f"not decided; {reached(finding)}" if finding.parts else "not decided")
    depth = finding.least_depth
    if depth is None:
        return Words(Grave.TO_THE_END, f"{phrases.never}, to the end")
    return Words(Grave.TO_DEPTH, f"{phrases.never} to depth {depth}")


def reached(finding: Finding) -> str:
    """How far searches went, without a verdict: nothing found to depth 9."""
    depth = finding.least_depth
    return "nothing found" if depth is None or depth < 0 else f"nothing found to depth {depth}"


# ------------------------------------------------------------------------------------------------------- brokers down


def available(findings: Mapping[Question, Finding | None]) -> Words:
    """Say with how many brokers down something works: for every set of so many, and for how many larger sets."""
    works = -1
    for question in sorted(findings):
        found = findings[question]
        parts = () if found is None else found.parts
        sets = sum(search.choices for search, _ in parts)
        able = sum(search.choices for search, result in parts if result.word is Word.REACHED)
        if able == sets > 0:
            works = question.number
            continue
        if any(result.word not in (Word.REACHED, Word.UNREACHABLE) for _, result in parts) or not parts:
            why = NOT_RECORDED.text if found is None else "not decided"
            if works < 0:
                return Words(Grave.OPEN, why)
            return Words(Grave.OPEN, f"{_works(works)}; with {question.number} down: {why}")
        if works < 0:
            return Words(Grave.BROKEN, "never, even with all brokers up")
        some = f"; with {question.number} down, for {able} of {sets} sets of brokers" if able else ""
        return Words(Grave.FACT, _works(works) + some)
    return Words(Grave.FACT, _works(works)) if works >= 0 else NOT_ASKED


def survived(findings: Mapping[Question, Finding | None]) -> Words:
    """Say how many brokers can be lost, whichever they are; questions are about 1, 2, ... lost brokers."""
    if not findings:
        return NOT_ASKED
    lost = 0
    for question in sorted(findings):
        found = findings[question]
        if found is None or found.word not in (Word.REACHED, Word.UNREACHABLE):
            why = NOT_RECORDED.text if found is None else "not decided"
            return Words(Grave.OPEN, f"{_up_to(lost)}; with {question.number} lost: {why}" if lost else why)
        if found.word is Word.UNREACHABLE:
            break
        lost = question.number
    if not lost:
        return Words(Grave.ALLOWED, f"none, because one can have the only copy: {ALLOWED}")
    return Words(Grave.FACT, _up_to(lost))


def _up_to(lost: int) -> str:
    return f"up to {counted(lost, 'broker')}"


def _works(most: int) -> str:
    """With how many brokers down something works."""
    return "" if most < 0 else "only with all brokers up" if most == 0 else f"with up to {most} down"


# ------------------------------------------------------------------------------------------------------ known defects


@dataclass(frozen=True)
class Exposures:
    """The known failures of a case's release, by their names: those to which it is exposed; those `beside` them that
    need a loss of power or of a disk; `open` ones are undecided, and of `unsearched` ones no model of the release has
    what they need.

    `absent` counts the others, and `depth` is the least depth to which they were searched (None: to the end).
    """

    defects: tuple[str, ...]
    beside: tuple[str, ...]
    open: tuple[str, ...]
    unsearched: tuple[str, ...]
    absent: int
    depth: int | None


def exposures(findings: Mapping[Question, Finding | None]) -> Exposures:
    """Sort the findings about known failures that concern a case."""
    asked = {one.name: found for one, found in findings.items() if found is not None}
    fails = [name for name, found in asked.items() if is_exposed(named(name), found)]
    unsearched = [name for name, found in asked.items() if found.word is Word.NOT_APPLICABLE]
    unknown = [one.name for one, found in findings.items() if found is None or is_open(named(one.name), found)]
    gone = [found for name, found in asked.items() if name not in {*fails, *unsearched, *unknown}]
    depths = [found.least_depth for found in gone]
    return Exposures(
        defects=tuple(name for name in fails if not loses_data(named(name))),
        beside=tuple(name for name in fails if loses_data(named(name))),
        open=tuple(unknown),
        unsearched=tuple(unsearched),
        absent=len(gone),
        depth=min((one for one in depths if one is not None), default=None),
    )


def said_of(found: Exposures) -> Words:
    """Say how many known defects a case is exposed to, those of power and disks left out."""
    if found.defects:
        others = f"; {len(found.open)} not decided" if found.open else ""
        return Words(Grave.BROKEN, f"exposed to {counted(len(found.defects), 'known defect')}{others}")
    if found.open:
        return Words(Grave.OPEN, f"{counted(len(found.open), 'known defect')} not decided")
    missing = f"; {len(found.unsearched)} not searched" if found.unsearched else ""
    if not found.absent:
        return Words(Grave.NOTHING, missing.lstrip("; ")) if missing else NONE_KNOWN
    if found.depth is not None:
        return Words(Grave.TO_DEPTH, f"not exposed, to depth {found.depth}{missing}")
    return Words(Grave.TO_THE_END, f"not exposed, to the end{missing}")


# --- Rows ---


@dataclass(frozen=True)
class Mark:
    """A short link in a cell: the number of a known failure, with its title."""

    text: str
    address: str
    title: str


@dataclass(frozen=True)
class Cell:
    """One answer: its words, the page that shows it, links to known failures, and a remark with further links."""

    words: Words
    address: str
    marks: tuple[Mark, ...] = ()
    remark: str = ""
    beside: tuple[Mark, ...] = ()

    @property
    def links(self) -> tuple[Mark, ...]:
        """All links to known failures."""
        return (*self.marks, *self.beside)


class Status(Enum):
    """The answer of a row as a whole, the worst first, by its name in an address."""

    FAILS = "can-fail"
    DEFECTS = "defects"
    UNKNOWN = "unknown"
    KEEPS = "keeps"


def status_of(columns: Sequence[Column], cells: Sequence[Cell]) -> Status:
    """The answer as a whole: what the settings permit, known defects, what is open.

    A broken promise is attributed to the known defects of the release, if the case is exposed to one.
    """
    deciding = [(one.topic, cell.words.grave) for one, cell in zip(columns, cells, strict=True) if one.decides]
    graves = {grave for topic, grave in deciding if topic is not Topic.DEFECT}
    is_exposed = (Topic.DEFECT, Grave.BROKEN) in deciding
    if Grave.ALLOWED in graves or (Grave.BROKEN in graves and not is_exposed):
        return Status.FAILS
    if is_exposed:
        return Status.DEFECTS
    return Status.UNKNOWN if any(grave is Grave.OPEN for _, grave in deciding) else Status.KEEPS


@dataclass(frozen=True)
class Row:
    """Cases with the same answers: all combinations of `values`, which are a set of texts for each setting.

    Combinations that are not cases, such as a min.insync.replicas above the replicas, may be among them.
    """

    status: Status
    values: tuple[frozenset[str], ...]
    cells: tuple[Cell, ...]
    cases: int = 1


def rows_of(sheet: Sheet, settings: Sequence[SettingColumn], cells_of: Callable[[Line], tuple[Cell, ...]]) -> list[Row]:
    """The rows, the worst first, in the order of their settings otherwise."""
    lines, rows = sheet.lines, []
    for line in lines:
        cells = cells_of(line)
        values = tuple(frozenset({one.of(line)}) for one in settings)
        rows.append(Row(status_of(sheet.kind.columns, cells), values, cells))
    spelling = Spelling(lines, settings)
    count = 0
    while count != len(rows):
        count = len(rows)
        for place in reversed(range(len(settings))):
            rows = _joined(map(spelling.widened, rows), place)
    order = [{value: number for number, value in enumerate(values_of(one, lines))} for one in settings]

    def place_of(row: Row) -> tuple[int, list[list[int]]]:
        places = [sorted(order[place][one] for one in some) for place, some in enumerate(row.values)]
        return list(Status).index(row.status), places

    return sorted(rows, key=place_of)


def _joined(rows: Iterable[Row], place: int) -> list[Row]:
    """The rows, with those that differ only in one setting joined into one row."""
    alike: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        alike[row.status, row.values[:place], row.values[place + 1 :], row.cells].append(row)
    joined = []
    for some in alike.values():
        values = frozenset().union(*(row.values[place] for row in some))
        first = some[0]
        joined.append(
            Row(
                first.status,
                (*first.values[:place], values, *first.values[place + 1 :]),
                first.cells,
                sum(row.cases for row in some),
            )
        )
    return joined


class Spelling:
    """The values of rows as text."""

    def __init__(self, lines: Sequence[Line], settings: Sequence[SettingColumn]) -> None:
        self.order = [values_of(one, lines) for one in settings]
        self._of_replicas: dict[str, list[set[str]]] = {}
        for line in lines:
            found = self._of_replicas.setdefault(REPLICAS.of(line), [set() for _ in settings])
            for values, setting in zip(found, settings, strict=True):
                values.add(setting.of(line))
        self._place = settings.index(REPLICAS) if REPLICAS in settings else None

    def widened(self, row: Row) -> Row:
        """The row; where it has every value that occurs with its numbers of replicas, it gets the others as well, so
        that rows with other numbers of replicas can join it."""
        possible = self._possible(row)
        pairs = zip(row.values, possible, self.order, strict=True)
        return replace(row, values=tuple(frozenset(all_) if some >= now else some for some, now, all_ in pairs))

    def _possible(self, row: Row) -> list[set[str]]:
        """For each setting the values that occur with the row's numbers of replicas."""
        numbers = list(self._of_replicas) if self._place is None else row.values[self._place]
        found = [self._of_replicas[one] for one in numbers]
        possible = [set().union(*values) for values in zip(*found, strict=True)]
        if self._place is not None:
            possible[self._place] = set(self.order[self._place])
        return possible

    def texts(self, row: Row) -> list[str]:
        """The text of each setting: `any` if the row has every value that occurs with its numbers of replicas."""
        texts = []
        for order, values, possible in zip(self.order, row.values, self._possible(row), strict=True):
            shown = [one for one in order if one in values and one in possible]
            texts.append("any" if len(shown) > 1 and len(shown) == len(possible) else ", ".join(shown))
        return texts

    def masks(self, row: Row) -> list[int]:
        """The values of each setting as a number: bit N for the value N in the order of the filter."""
        return [
            sum(1 << number for number, one in enumerate(order) if one in values)
            for order, values in zip(self.order, row.values, strict=True)
        ]


# --- Cells ---

Asked = Mapping[Question, Finding | None]


@dataclass(frozen=True)
class Cells:
    """Makes the cells of lines, and keeps the pages that they lead to."""

    histories: Histories
    searches: Searches

    def of(self, line: Line, columns: tuple[Column, ...]) -> tuple[Cell, ...]:
        """The cells of a line, in the order of the columns."""
        return tuple(self._cell(*pair) for pair in zip(columns, line.findings, strict=True))

    def _cell(self, column: Column, asked: Asked) -> Cell:
        if column.topic is Topic.DEFECT:
            return self._of_defects(column, asked)
        if column.topic in (Topic.WRITES, Topic.READS):
            labels = [(f"{one.number} down", found) for one in sorted(asked) if (found := asked[one]) is not None]
            return Cell(available(asked), self.searches.address(column.asks, labels))
        if column.topic is Topic.SURVIVES:
            labels = [(f"{one.number} lost", found) for one, found in asked.items() if found is not None]
            return Cell(survived(asked), self.searches.address(column.asks, labels) if labels else "")
        (finding,) = asked.values()
        if finding is None:
            return Cell(NOT_RECORDED, "")
        if finding.fails and finding.history is not None:
            address = self.histories.address(column.asks, finding, finding.history)
        else:
            address = self.searches.address(column.asks, [("", finding)])
        return Cell(said(column.topic, finding), address, remark=_remark(column, finding))

    def _of_defects(self, column: Column, asked: Asked) -> Cell:
        if not asked:
            return Cell(NONE_KNOWN, "")
        sorted_out = exposures(asked)
        failures = [(named(one.name), finding) for one, finding in asked.items() if finding is not None]
        labels = [(f"{failure.number} {failure.title}", finding) for failure, finding in failures]
        beside = tuple(_mark(name) for name in sorted_out.beside)
        return Cell(
            said_of(sorted_out),
            self.searches.address(column.asks, labels),
            tuple(_mark(name) for name in (sorted_out.defects or sorted_out.open)),
            "with a loss of power or of a disk:" if beside else "",
            beside,
        )


def _mark(name: str) -> Mark:
    failure = named(name)
    return Mark(failure.number, address_of(name), failure.title)


def _remark(column: Column, finding: Finding) -> str:
    """A remark on the answer: that it was derived, which of several promises it is about, or why there is none."""
    if finding.source is Source.RULE:
        return f"derived by rule: {finding.rule}"
    if column.topic is Topic.TRANSACTIONS and finding.fails:
        return finding.property_name
    return finding.note
