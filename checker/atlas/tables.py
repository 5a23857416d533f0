"""The tables of the atlas: the cases (combinations of settings) in each, and their answers in an operator's words.

Cases with the same answers share a row; the worst rows come first, and every case is in exactly one row.

Each question belongs to the table in which the settings that it reads vary. For example, a producer's retries do not
change what an election loses, so no table varies both the retries and the settings of elections.
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
from isrcheck.checker.atlas.cells import ReleasedCluster, axes, combinations
from isrcheck.checker.atlas.proofs import Histories, Searches
from isrcheck.checker.results.terminal import counted
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import Failure, failures, named

Answers = Callable[[Case, Question], Finding | None]
"""The record: the finding of a question about a case; None if it is not recorded."""

Asked = Mapping[Question, Finding | None]
"""Questions with their findings; None for one that is not recorded."""


@dataclass(frozen=True)
class Column:
    """A column of answers: the question that they answer, and its heading."""

    topic: Topic
    heading: str
    asks: str
    """The question in full."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """The settings of a case that the question changes."""
    decides: bool = False
    """Whether the answer of a row as a whole depends on the column."""


@dataclass(frozen=True)
class Kind:
    """A table: its file and texts, the settings that vary in it, and its columns of answers."""

    file: str
    title: str
    about: str
    fails: str
    """What happens, in a few words, where the settings permit a failure."""
    settings: tuple[str, ...]
    """The settings that vary, as fields of a `Case`."""
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Line:
    """A case in a group of releases that behave alike; `findings` has each column's questions with their findings."""

    releases: str
    case: Case
    findings: tuple[Asked, ...]


@dataclass(frozen=True)
class Sheet:
    """A table with all its cases, the newest releases first."""

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
    ("acks", "enable_idempotence", "retries", "max_in_flight_requests", "replication_factor", "min_insync_replicas"),
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
    """Return the tables, each with a line for every case."""
    return [Sheet(kind, list(_lines(kind, clusters, answers))) for kind in KINDS]


def _lines(kind: Kind, clusters: Sequence[ReleasedCluster], answers: Answers) -> Iterator[Line]:
    for name, cluster in _grouped(kind, clusters):
        defects = _known(kind, cluster)
        every = axes(cluster)
        for case in combinations(cluster.case, {name: every[name] for name in kind.settings}):
            if _is_possible(kind, case):
                yield Line(name, case, tuple(_findings(column, case, defects, answers) for column in kind.columns))


def _findings(column: Column, case: Case, defects: Sequence[Failure], answers: Answers) -> Asked:
    case = replace(case, **column.changes)
    if column.topic is Topic.DEFECT:
        questions = [_about(failure) for failure in defects if concerns(case, failure)]
    elif column.topic in (Topic.WRITES, Topic.READS):
        questions = [Question(column.topic, number) for number in range(case.replication_factor)]
    elif column.topic is Topic.SURVIVES:
        questions = [Question(column.topic, lost) for lost in losses_to_survive(case)]
    else:
        questions = [Question(column.topic)]
    return {question: answers(case, question) for question in questions}


def _known(kind: Kind, cluster: ReleasedCluster) -> list[Failure]:
    """The known failures of a release that belong to a table, because the settings that they need vary there."""
    return [
        failure
        for failure in failures()
        if is_in(failure, cluster.release, cluster.case) and sheet_of(_about(failure)) is kind
    ]


def _about(failure: Failure) -> Question:
    return Question(Topic.DEFECT, name=failure.name)


@cache
def sheet_of(question: Question) -> Kind:
    """The table for a question about a known failure: the settings that the question reads vary in that table."""
    read = read_by(question)
    if "transactions" in read:
        return TRANSACTIONS
    return PRODUCERS if set(PRODUCER) & set(read) else TOPICS


def _is_possible(kind: Kind, case: Case) -> bool:
    """Whether a table has a case: Kafka accepts it, a write can succeed, and (in PRODUCERS) acks=0 has no retries."""
    if case.min_insync_replicas > case.replication_factor:
        return False
    if kind is not PRODUCERS:
        return True
    if case.enable_idempotence:
        return case.acks == "all" and case.retries and case.has_record_epochs
    return not (case.acks == "0" and case.retries)


# ------------------------------------------------------------------------------------------------------------ releases


def _grouped(kind: Kind, clusters: Sequence[ReleasedCluster]) -> list[tuple[str, ReleasedCluster]]:
    """Join releases with the same behaviour and the same known failures into groups; return the name and the newest
    release of each group, the newest group first."""
    groups: dict[object, list[ReleasedCluster]] = {}
    for cluster in reversed(clusters):
        if kind is TRANSACTIONS and not cluster.transactions:
            continue
        defects = tuple(map(_about, _known(kind, cluster)))
        case = cluster.case if kind is PRODUCERS else replace(cluster.case, numbering=())
        if kind is TRANSACTIONS and not any("protocol" in read_by(question) for question in defects):
            case = replace(case, protocol="", switches=())
        groups.setdefault((case, cluster.transactions if kind is TRANSACTIONS else (), defects), []).append(cluster)
    return [(_name(group, clusters), group[0]) for group in groups.values()]


def _name(group: Sequence[ReleasedCluster], clusters: Sequence[ReleasedCluster]) -> str:
    """Return the name of a group: for each mode (ZooKeeper, KRaft), its ranges of successive releases, oldest first. A
    mode is named if some of the group's releases exist in both modes, unless the ranges of both modes are equal."""
    modes: dict[str, list[str]] = {}
    is_named = False
    for mode in dict.fromkeys(cluster.mode for cluster in group):
        of_mode = [cluster for cluster in clusters if cluster.mode == mode]
        runs = itertools.groupby(of_mode, lambda cluster: any(cluster is other for other in group))
        chosen = [[cluster.release.text for cluster in run] for is_in_group, run in runs if is_in_group]
        modes.setdefault(", ".join(map(_range, chosen)), []).append(mode)
        others = {cluster.release.text for cluster in clusters if cluster.mode != mode}
        is_named = is_named or not others.isdisjoint(itertools.chain(*chosen))
    return "; ".join(
        f"{shown} {of_modes[0]}" if is_named and len(of_modes) == 1 else shown for shown, of_modes in modes.items()
    )


def _range(releases: Sequence[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} \u2013 {releases[-1]}"


# --- Settings as columns ---


@dataclass(frozen=True)
class SettingColumn:
    """A column with the values of a setting, or with the releases."""

    name: str
    """The name of the setting in the address of a page."""
    heading: str
    key: str
    """Kafka's key."""
    field: str = ""
    """The field of a `Case` with the value; empty for the column that shows the releases of a line."""

    def of(self, line: Line) -> str:
        """The value of the setting for a line."""
        if not self.field:
            return line.releases
        value = getattr(line.case, self.field)
        if self.field == "transactions":
            return "off" if dict(value).get("TXN_VERIFY") == "OFF" else "as in the release"
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


RELEASES = SettingColumn("kafka", "Kafka", "the release of the brokers")
REPLICAS = SettingColumn("replicas", "replicas", "replication.factor", "replication_factor")
SETTINGS = (
    SettingColumn("acks", "acks", "acks", "acks"),
    REPLICAS,
    SettingColumn("min-isr", "min ISR", "min.insync.replicas", "min_insync_replicas"),
    SettingColumn("unclean", "unclean election", "unclean.leader.election.enable", "unclean_election"),
    SettingColumn("rebalance", "leader rebalance", "auto.leader.rebalance.enable", "leader_rebalance"),
    SettingColumn("idempotence", "idempotent", "enable.idempotence", "enable_idempotence"),
    SettingColumn("retries", "retries", "retries", "retries"),
    SettingColumn("in-flight", "in flight", "max.in.flight.requests.per.connection", "max_in_flight_requests"),
    SettingColumn("verification", "verification", "transaction.partition.verification.enable", "transactions"),
)


def settings_of(names: Sequence[str]) -> tuple[SettingColumn, ...]:
    """Return a table's columns before the answers: the releases, and the settings with these fields of a `Case`."""
    by_field = {setting.field: setting for setting in SETTINGS}
    return (RELEASES, *(by_field[name] for name in names))


def values_of(setting: SettingColumn, lines: Sequence[Line]) -> list[str]:
    """The values of a setting in these lines: releases in the order of the lines; else numbers, then other texts."""
    values = list(dict.fromkeys(setting.of(line) for line in lines))
    if setting is RELEASES:
        return values
    return sorted(values, key=lambda text: (not text.isdecimal(), text.rjust(3), text))


# --- Answers in words ---

ALLOWED = "your settings allow this"


class Grave(IntEnum):
    """How grave an answer is: the members are in order, the worst first; the pages have a colour for each."""

    BROKEN = 0
    ALLOWED = 1
    OPEN = 2
    TO_DEPTH = 3
    TO_THE_END = 4
    FACT = 5
    NOTHING = 6


@dataclass(frozen=True)
class Words:
    """The answer of a cell as a short text, and how grave the answer is."""

    grave: Grave
    text: str


NOT_ASKED = Words(Grave.NOTHING, "not asked here")
NOT_RECORDED = Words(Grave.OPEN, "not recorded")
NONE_KNOWN = Words(Grave.NOTHING, "none known")


_PHRASES = {
    **dict.fromkeys((Topic.LOSS, Topic.POWER, Topic.POWER_OF_ALL, Topic.DISK), ("lost", "no loss")),
    Topic.DUPLICATES: ("appears twice", "no duplicate"),
    Topic.ORDER: ("out of order", "in order"),
    Topic.TRANSACTIONS: ("a promise breaks", "every promise holds"),
}
"""What happens if the property of a question fails, and what does not happen if it holds."""


def said(topic: Topic, finding: Finding) -> Words:
    """Return a finding in words; `topic` is in _PHRASES, so it is not WRITES, READS, SURVIVES or DEFECT."""
    happens, never = _PHRASES[topic]
    if finding.fails:
        when = f"{happens} after {counted(finding.depth or 0, 'step')}"
        if finding.word is Word.PERMITTED:
            # Without acks=all, a record is lost before anything else fails, without a loss of power or of a disk.
            entries = "" if finding.history is None else finding.history.configuration
            needs_loss = any(f"{name}=" in entries for name in LOSSES)
            return Words(Grave.ALLOWED, f"{when}: {'not promised' if needs_loss else ALLOWED}")
        return Words(Grave.BROKEN, f"{when}, against Kafka's promise")
    if finding.word is Word.NOT_APPLICABLE:
        return NOT_ASKED
    depth = finding.least_depth
    if not finding.is_known:
        reached = "" if depth is None or depth < 0 else f" to depth {depth}"
        return Words(Grave.OPEN, f"not decided; nothing found{reached}" if finding.parts else "not decided")
    if depth is None:
        return Words(Grave.TO_THE_END, f"{never}, to the end")
    return Words(Grave.TO_DEPTH, f"{never} to depth {depth}")


# ------------------------------------------------------------------------------------------------------- brokers down


def available(findings: Asked) -> Words:
    """Return in words how many brokers can be down, whichever they are, while writes (or reads) still work. If writes
    (or reads) work with one more broker down, but only for some sets of brokers, the words say for how many."""
    works = -1
    for question in sorted(findings):
        finding = findings[question]
        parts = () if finding is None else finding.parts
        sets = sum(search.choices for search, _ in parts)
        able = sum(search.choices for search, result in parts if result.word is Word.REACHED)
        if able == sets > 0:
            works = question.number
            continue
        if any(result.word not in (Word.REACHED, Word.UNREACHABLE) for _, result in parts) or not parts:
            why = NOT_RECORDED.text if finding is None else "not decided"
            if works < 0:
                return Words(Grave.OPEN, why)
            return Words(Grave.OPEN, f"{_works(works)}; with {question.number} down: {why}")
        if works < 0:
            return Words(Grave.BROKEN, "never, even with all brokers up")
        partly = f"; with {question.number} down, for {able} of {sets} sets of brokers" if able else ""
        return Words(Grave.FACT, _works(works) + partly)
    return Words(Grave.FACT, _works(works)) if works >= 0 else NOT_ASKED


def survived(findings: Asked) -> Words:
    """Return in words how many brokers can be lost, whichever they are, while a committed record can still be read."""
    if not findings:
        return NOT_ASKED
    lost = 0
    for question in sorted(findings):
        finding = findings[question]
        if finding is None or finding.word not in (Word.REACHED, Word.UNREACHABLE):
            why = NOT_RECORDED.text if finding is None else "not decided"
            return Words(Grave.OPEN, f"{_up_to(lost)}; with {question.number} lost: {why}" if lost else why)
        if finding.word is Word.UNREACHABLE:
            break
        lost = question.number
    if not lost:
        return Words(Grave.ALLOWED, f"none, because one can have the only copy: {ALLOWED}")
    return Words(Grave.FACT, _up_to(lost))


def _up_to(lost: int) -> str:
    return f"up to {counted(lost, 'broker')}"


def _works(most: int) -> str:
    return f"with up to {most} down" if most else "only with all brokers up"


# ------------------------------------------------------------------------------------------------------ known defects


@dataclass(frozen=True)
class Exposures:
    """The known failures of a release by their names, sorted by whether a case is exposed to them."""

    defects: tuple[str, ...]
    """The failures to which the case is exposed."""
    beside: tuple[str, ...]
    """The failures to which the case is exposed only if power or a disk is lost."""
    open: tuple[str, ...]
    """The failures for which the exposure is undecided."""
    unsearched: tuple[str, ...]
    """The failures that were not searched, because they need something that no model of the release has."""
    absent: int
    """The number of failures to which the case is not exposed."""
    depth: int | None
    """The least depth to which the searches for the `absent` failures went (None: to the end)."""


def exposures(findings: Asked) -> Exposures:
    """Sort the findings about known failures by whether the case is exposed."""
    recorded = {question.name: finding for question, finding in findings.items() if finding is not None}
    fails = [name for name, finding in recorded.items() if is_exposed(named(name), finding)]
    unsearched = [name for name, finding in recorded.items() if finding.word is Word.NOT_APPLICABLE]
    unknown = [
        asked.name for asked, finding in findings.items() if finding is None or is_open(named(asked.name), finding)
    ]
    gone = [finding for name, finding in recorded.items() if name not in {*fails, *unsearched, *unknown}]
    depths = [finding.least_depth for finding in gone]
    return Exposures(
        defects=tuple(name for name in fails if not loses_data(named(name))),
        beside=tuple(name for name in fails if loses_data(named(name))),
        open=tuple(unknown),
        unsearched=tuple(unsearched),
        absent=len(gone),
        depth=min((depth for depth in depths if depth is not None), default=None),
    )


def said_of(sorted_out: Exposures) -> Words:
    """Return in words to how many known failures a case is exposed, except those that need a loss of power or disk."""
    if sorted_out.defects:
        others = f"; {len(sorted_out.open)} not decided" if sorted_out.open else ""
        return Words(Grave.BROKEN, f"exposed to {counted(len(sorted_out.defects), 'known defect')}{others}")
    if sorted_out.open:
        return Words(Grave.OPEN, f"{counted(len(sorted_out.open), 'known defect')} not decided")
    missing = f"; {len(sorted_out.unsearched)} not searched" if sorted_out.unsearched else ""
    if not sorted_out.absent:
        return Words(Grave.NOTHING, missing.lstrip("; ")) if missing else NONE_KNOWN
    if sorted_out.depth is not None:
        return Words(Grave.TO_DEPTH, f"not exposed, to depth {sorted_out.depth}{missing}")
    return Words(Grave.TO_THE_END, f"not exposed, to the end{missing}")


# --- Rows ---


@dataclass(frozen=True)
class Cell:
    """An answer: text, page, known failures, a remark, and failures that need a loss of power or a disk (`beside`)."""

    words: Words
    address: str
    failures: tuple[str, ...] = ()
    remark: str = ""
    beside: tuple[str, ...] = ()


class Status(Enum):
    """The overall answer of a row; members are in order, the worst first. A value names it in a page's address."""

    FAILS = "can-fail"
    DEFECTS = "defects"
    UNKNOWN = "unknown"
    KEEPS = "keeps"


def status_of(columns: Sequence[Column], cells: Sequence[Cell]) -> Status:
    """Return the overall answer of a row, from the columns that decide it.

    FAILS: the settings permit a failure, or a promise breaks although the case is exposed to no known failure. DEFECTS:
    the case is exposed to a known failure. UNKNOWN: an answer is undecided. KEEPS: none of these.
    """
    deciding = [(column.topic, cell.words.grave) for column, cell in zip(columns, cells, strict=True) if column.decides]
    graves = {grave for topic, grave in deciding if topic is not Topic.DEFECT}
    is_exposed = (Topic.DEFECT, Grave.BROKEN) in deciding
    if Grave.ALLOWED in graves or (Grave.BROKEN in graves and not is_exposed):
        return Status.FAILS
    if is_exposed:
        return Status.DEFECTS
    return Status.UNKNOWN if any(grave is Grave.OPEN for _, grave in deciding) else Status.KEEPS


@dataclass(frozen=True)
class Row:
    """Cases with the same answers. `values` has, for each setting, the set of its values as text; the cases are all
    possible combinations of these values (min.insync.replicas, for example, is at most the number of replicas)."""

    status: Status
    values: tuple[frozenset[str], ...]
    cells: tuple[Cell, ...]
    cases: int = 1


def rows_of(sheet: Sheet, settings: Sequence[SettingColumn], cells_of: Callable[[Line], tuple[Cell, ...]]) -> list[Row]:
    """Join lines with equal answers to rows, the worst first; equally bad rows are in the order of their settings."""
    lines, rows = sheet.lines, []
    for line in lines:
        cells = cells_of(line)
        values = tuple(frozenset({setting.of(line)}) for setting in settings)
        rows.append(Row(status_of(sheet.kind.columns, cells), values, cells))
    spelling = Spelling(lines, settings)
    count = 0
    while count != len(rows):
        count = len(rows)
        for place in reversed(range(len(settings))):
            rows = _joined(map(spelling.widened, rows), place)
    order = [{value: number for number, value in enumerate(values)} for values in spelling.order]

    def place_of(row: Row) -> tuple[int, list[list[int]]]:
        places = [sorted(order[place][value] for value in values) for place, values in enumerate(row.values)]
        return list(Status).index(row.status), places

    return sorted(rows, key=place_of)


def _joined(rows: Iterable[Row], place: int) -> list[Row]:
    """Join the rows that differ only in the setting at `place`."""
    alike: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        alike[row.status, row.values[:place], row.values[place + 1 :], row.cells].append(row)
    joined = []
    for first, *others in alike.values():
        values = first.values[place].union(*(row.values[place] for row in others))
        cases = first.cases + sum(row.cases for row in others)
        joined.append(replace(first, values=(*first.values[:place], values, *first.values[place + 1 :]), cases=cases))
    return joined


class Spelling:
    """Writes the values of rows as text: `any` if a row has every value that is possible for a setting."""

    def __init__(self, lines: Sequence[Line], settings: Sequence[SettingColumn]) -> None:
        self.order = [values_of(setting, lines) for setting in settings]
        self._of_replicas: dict[str, list[set[str]]] = {}
        for line in lines:
            of_settings = self._of_replicas.setdefault(REPLICAS.of(line), [set() for _ in settings])
            for values, setting in zip(of_settings, settings, strict=True):
                values.add(setting.of(line))
        self._place = settings.index(REPLICAS) if REPLICAS in settings else None

    def widened(self, row: Row) -> Row:
        """Return a row with more values, so that it can be joined with rows that have other numbers of replicas. A
        setting that has all values possible with the row's numbers of replicas gets every value that the table has."""
        possible = self._possible(row)
        pairs = zip(row.values, possible, self.order, strict=True)
        return replace(
            row,
            values=tuple(
                frozenset(every_value) if values >= possible_values else values
                for values, possible_values, every_value in pairs
            ),
        )

    def _possible(self, row: Row) -> list[set[str]]:
        """For each setting, the values that occur together with the row's numbers of replicas."""
        numbers = list(self._of_replicas) if self._place is None else row.values[self._place]
        possible = [set().union(*values) for values in zip(*map(self._of_replicas.__getitem__, numbers), strict=True)]
        if self._place is not None:
            possible[self._place] = set(self.order[self._place])
        return possible

    def texts(self, row: Row) -> list[str]:
        """The values of each setting as text: `any` for all values that occur with the row's numbers of replicas."""
        texts = []
        for order, values, possible in zip(self.order, row.values, self._possible(row), strict=True):
            shown = [value for value in order if value in values and value in possible]
            texts.append("any" if len(shown) > 1 and len(shown) == len(possible) else ", ".join(shown))
        return texts

    def masks(self, row: Row) -> list[int]:
        """The values of each setting as a number: bit N is set for the value at position N of the setting's filter."""
        return [
            sum(1 << number for number, value in enumerate(order) if value in values)
            for order, values in zip(self.order, row.values, strict=True)
        ]


# --- Cells ---


@dataclass(frozen=True)
class Cells:
    """Makes the cells of lines, and collects the pages to which the cells link."""

    histories: Histories
    searches: Searches

    def of(self, line: Line, columns: tuple[Column, ...]) -> tuple[Cell, ...]:
        """The cells of a line, in the order of the columns."""
        return tuple(self._cell(*pair) for pair in zip(columns, line.findings, strict=True))

    def _cell(self, column: Column, findings: Asked) -> Cell:
        if column.topic is Topic.DEFECT:
            return self._of_defects(column, findings)
        if column.topic in (Topic.WRITES, Topic.READS, Topic.SURVIVES):
            words, state = (survived, "lost") if column.topic is Topic.SURVIVES else (available, "down")
            numbered = [(f"{question.number} {state}", findings[question]) for question in sorted(findings)]
            labels = [(label, finding) for label, finding in numbered if finding is not None]
            return Cell(words(findings), self.searches.address(column.asks, labels))
        (finding,) = findings.values()
        if finding is None:
            return Cell(NOT_RECORDED, "")
        if finding.fails and finding.history is not None:
            address = self.histories.address(column.asks, finding, finding.history)
        else:
            address = self.searches.address(column.asks, [("", finding)])
        return Cell(said(column.topic, finding), address, remark=_remark(column, finding))

    def _of_defects(self, column: Column, findings: Asked) -> Cell:
        if not findings:
            return Cell(NONE_KNOWN, "")
        sorted_out = exposures(findings)
        failures = [(named(question.name), finding) for question, finding in findings.items() if finding is not None]
        labels = [(f"{failure.number} {failure.title}", finding) for failure, finding in failures]
        return Cell(
            said_of(sorted_out),
            self.searches.address(column.asks, labels),
            sorted_out.defects or sorted_out.open,
            "with a loss of power or of a disk:" if sorted_out.beside else "",
            sorted_out.beside,
        )


def _remark(column: Column, finding: Finding) -> str:
    """Return a remark on an answer: the rule that derived it, the promise that breaks, or why there is no answer."""
    if finding.source is Source.RULE:
        return f"derived by rule: {finding.rule}"
    if column.topic is Topic.TRANSACTIONS and finding.fails:
        return finding.property_name
    return finding.note
