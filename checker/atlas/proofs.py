"""The pages to which the cells of the atlas link: one for each history and each known failure, and lists of searches.

A cell gets the address of its page before the page is made. Plain Python replays each history for its page. Each
generation of a model has one page of searches, with a legend of the words that occur on it.

Answers with the same history, step by step, share its page. A page of searches lists the searches of an answer once;
other answers with the same searches link to that list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from isrcheck.checker.answers.findings import Finding, Result, Search, Searched, Source, trace_of
from isrcheck.checker.answers.questions import KAFKA, SCENARIOS
from isrcheck.checker.failures.pages import page_of
from isrcheck.checker.results.instance_facts import command_of
from isrcheck.checker.results.terminal import counted
from isrcheck.checker.results.verdict import WHY_STOPPED, Word
from isrcheck.models.kafka.failures.catalogue import Change, History, named
from isrcheck.traces.drawing.page import page
from isrcheck.traces.pages.markup import Content, Element, append, element
from isrcheck.traces.pages.parts import meanings
from isrcheck.traces.pages.shell import Page, text_page

INDEX = "../index.html"
"""The address of the table, from a page in one of the folders."""

TRACES, SEARCHES = "traces", "searches"
"""The folders of these pages."""

LEGEND = "words"
"""The name by which a link leads to the legend."""

WITNESSES = "Witnesses, which show that what these searches look for can happen:"
"""The text above the witnesses of a finding."""

ABOUT_SEARCHES = (
    "Answers of the table lead to their searches here. The command under a search repeats it; where it says which"
    " brokers are down, the command searches all choices of them, and counts more states."
)


def source_of(finding: Finding) -> str:
    """Where a finding comes from (a search, the record, a rule), as a sentence without a full stop."""
    day = f" on {finding.recorded}" if finding.recorded else ""
    if finding.source is Source.RULE:
        return f"derived by rule: {finding.rule}" + (f"; searched{day}" if day else "")
    return f"searched{day}" if finding.parts else "not searched"


@dataclass
class _Shown:
    asks: dict[str, None]
    """The questions that the history answers; a dict keeps their order."""
    finding: Finding
    """The first finding that has this history."""
    history: History
    name: str
    cases: int = 0
    """The number of answers that have this history."""


@dataclass
class Histories:
    """The histories to which cells link; each becomes a page, whose address is known before the page is made."""

    _shown: dict[object, _Shown] = field(default_factory=dict)

    def address(self, asks: str, finding: Finding, history: History) -> str:
        """Note that `history` answers the question `asks`; return the address of its page, which is made later."""
        key = replace(history, configuration="")
        if key not in self._shown:
            number = sum(_file(other.history) == _file(history) for other in self._shown.values()) + 1
            self._shown[key] = _Shown({}, finding, history, f"{_file(history)}_{number}.html")
        shown = self._shown[key]
        shown.asks[asks] = None
        shown.cases += 1
        return f"{TRACES}/{shown.name}"

    def pages(self) -> Iterator[tuple[str, Page]]:
        """Replay every history; yield the name of its page, and the page. Raises UsageError if a step is impossible."""
        for shown in self._shown.values():
            yield f"{TRACES}/{shown.name}", page(trace_of(shown.history), list(_about(shown)), INDEX)


def _about(shown: _Shown) -> Iterator[Content]:
    """The text beside a history's steps: the questions that it answers, and the searches of the first answer."""
    yield from (element("h2", asks) for asks in shown.asks)
    leads = "One answer of the table leads here."
    if shown.cases > 1:
        shared = "the settings on this page are those of the first."
        leads = f"{shown.cases:,} answers of the table have these steps; {shared}"
    yield element("p", f"The shortest history that was found, {source_of(shown.finding)}. {leads}")
    yield from _searched(shown.finding)
    if shown.finding.parts:
        yield element("details", element("summary", LEGEND_TITLE), legend([shown.finding]))


def _file(shown: History | Search) -> str:
    """Return the generation for a file name, after the model's name unless the model is kafka or kafka_scenarios."""
    if shown.model in (KAFKA, SCENARIOS):
        return shown.protocol
    return f"{shown.model}_{shown.protocol}".replace("/", "_").strip("_")


@dataclass
class Searches:
    """The searches to which cells without a history link; all searches of one generation are on one page."""

    _known: dict[object, str] = field(default_factory=dict)
    _pages: dict[str, _PageOfSearches] = field(default_factory=dict)

    def address(self, asks: str, findings: Sequence[tuple[str, Finding]]) -> str:
        """Add a section of searches for (label, finding) pairs; return its address, empty if nothing was searched."""
        parts = [search for _, finding in findings for search, _ in finding.parts]
        if not parts:
            return ""
        key = (asks, tuple(findings))
        if key not in self._known:
            name = _file(parts[0])
            identifier = self._pages.setdefault(name, _PageOfSearches()).add(asks, findings)
            self._known[key] = f"{SEARCHES}/{name}.html#{identifier}"
        return self._known[key]

    def pages(self) -> Iterator[tuple[str, Page]]:
        """Yield the name of each page, and the page."""
        for name, contents in self._pages.items():
            links = element("a", "the table", href=INDEX), element("a", LEGEND_TITLE.lower(), href=f"#{LEGEND}")
            words = element("section", element("h2", LEGEND_TITLE), legend(contents.findings), id=LEGEND)
            content = [element("nav", *links), element("p", ABOUT_SEARCHES), words, *contents.sections]
            yield f"{SEARCHES}/{name}.html", text_page(f"What was searched: {name}", content)


@dataclass
class _PageOfSearches:
    """A page of searches: its sections, the findings in them, and the places where searches are listed already."""

    sections: list[Element] = field(default_factory=list)
    findings: dict[Finding, None] = field(default_factory=dict)
    _shown: dict[object, tuple[str, Element]] = field(default_factory=dict)

    def add(self, asks: str, findings: Sequence[tuple[str, Finding]]) -> str:
        """Add a section with the searches of findings, each with a label; return the anchor of the section."""
        name = f"s{len(self.sections) + 1}"
        section = element("section", element("h2", asks), id=name)
        for number, (label, finding) in enumerate(findings, start=1):
            self.findings[finding] = None
            section.extend(self._about(f"{name}-{number}", label, finding))
        self.sections.append(section)
        return name

    def _about(self, name: str, label: str, finding: Finding) -> list[Element]:
        depth = "" if finding.depth is None else f" {finding.depth}"
        says = element("p", f"{finding.word.value}{depth}, {source_of(finding)}. {finding.note}".rstrip())
        elements = [element("h3", label), says] if label else [says]
        searches = tuple(tuple(_in_words(*part) for part in parts) for parts in (finding.parts, finding.witnesses))
        if searches in self._shown:
            first, place = self._shown[searches]
            place.set("id", first)
            append(says, " ", element("a", "Its searches.", href=f"#{first}"))
            return elements
        self._shown[searches] = name, elements[0]
        return [*elements, *_searched(finding)]


def _searched(finding: Finding) -> list[Element]:
    """The searches of a finding as lists (faults, verdict, depth, states, command), and then its witnesses."""
    parts = [_listed(finding.parts)] if finding.parts else []
    return [*parts, element("p", WITNESSES), _listed(finding.witnesses)] if finding.witnesses else parts


def _listed(parts: Sequence[Searched]) -> Element:
    words = (_in_words(*part) for part in parts)
    return element("ul", *(element("li", says, element("br"), element("code", command)) for says, command in words))


def _in_words(search: Search, result: Result) -> tuple[str, str]:
    """Return a search in words (faults, verdict, depth, states), and the command that repeats it."""
    depth = "" if result.depth is None else f" {result.depth}"
    why = f", for {WHY_STOPPED.get(result.stopped, result.stopped)}" if result.stopped else ""
    states = counted(result.states, "state")
    says = f"{search.says}: {result.word.value}{depth}, {result.reach} ({states}){why}"
    return says, command_of(search.model, search.instance, None if result.is_exhausted else result.judged)


# --- Known failures ---

DEFECTS = "defects"
"""The folder of these pages."""


def address_of(name: str) -> str:
    """The address of the page of a known failure."""
    return f"{DEFECTS}/{name}.html"


def defect_pages(names: Sequence[str]) -> Iterator[tuple[str, Page]]:
    """Yield the address and the page of each of these known failures. The history of a failure, and the changes that
    prevent the failure, come from the library of known failures, without a search. Raises UsageError if a step of a
    history is impossible."""
    for failure in map(named, names):
        history = failure.history
        trace = None if history is None else trace_of(history)
        about = [] if history is None else [f"{history.property_name} {history.verdict} at step {history.depth}"]
        ends = [_end(change) for change in failure.changes]
        yield address_of(failure.name), page_of(failure, trace, about, ends, INDEX)


def _end(change: Change) -> str:
    how_far = "to the end" if change.explored is None else f"to depth {change.explored}"
    return f"{change.what} ({change.change}): not found, {how_far}"


# --- The legend ---

LEGEND_TITLE = "What the words mean"

WORDS = {
    Word.VIOLATED: ("VIOLATED 6", "the failure happens, against a promise; the shortest history of it has 6 steps"),
    Word.UNREACHABLE: ("UNREACHABLE", "what was asked for cannot happen: no history within the bounds leads there"),
    Word.UNDECIDED: ("UNDECIDED", "a limit ended the search before there was an answer"),
    Word.PERMITTED: (
        "PERMITTED 2",
        "the failure happens, in 2 steps at the least, and nothing is promised here: as with acks=1, after an unclean"
        " election, or after a loss of power or of a disk",
    ),
    Word.NO_VIOLATION: (
        "NO VIOLATION TO DEPTH 14",
        "the failure happens in no history of at most 14 steps; longer ones were not searched",
    ),
    Word.NOT_REACHED: (
        "NOT REACHED TO DEPTH 9",
        "what was asked for happens in no history of at most 9 steps; longer ones were not searched",
    ),
    Word.HOLDS: ("HOLDS", "the failure happens in no history within the bounds, however long"),
    Word.PROVED: ("PROVED", "the failure happens in no history, which an induction proves"),
    Word.REACHED: ("REACHED 1", "what was asked for can happen, in 1 step; REACHED 0: it is so from the start"),
    Word.NOT_APPLICABLE: ("n/a", "the question does not arise with these settings"),
}
"""For each verdict, an example of how it is printed, and its meaning."""

GRAVEST = ("the first line", "the gravest word of the searches below it")
BOUNDS = ("elections=3 crashes=1", "the faults of a search: at most three elections and one crash in one history")
TO_THE_END = ("to the end", "every state within the bounds was searched: there is no further one")
TO_DEPTH = ("to depth 14", "every history of at most 14 steps was searched, and none that is longer")
STATES = ("1,482 states", "how many different states of the cluster the search has seen")
WITNESS = (
    "witness",
    "a search for an acknowledged record and for what happens after it: that the searches above it find nothing means"
    " something only if it reaches them. Otherwise the answer is UNDECIDED",
)
BY_RULE = ("derived by rule", "other settings were searched, such as fewer replicas, and the rule says why they answer")


def legend(findings: Iterable[Finding]) -> Element:
    """Return a legend: the verdicts that occur in these findings, with their meanings."""
    entries = dict.fromkeys(entry for finding in findings for entry in _entries(finding))
    order = (GRAVEST, *WORDS.values(), TO_THE_END, TO_DEPTH, STATES, BOUNDS, WITNESS, BY_RULE)
    shown = (entry for entry in order if entry in entries)
    return meanings(shown, class_="legend")


def _entries(finding: Finding) -> Iterator[tuple[str, str]]:
    yield WORDS[finding.word]
    if finding.source is Source.RULE:
        yield BY_RULE
    if len(finding.parts) > 1:
        yield GRAVEST
    if finding.witnesses:
        yield WITNESS
    for search, result in (*finding.parts, *finding.witnesses):
        yield WORDS[result.word]
        yield STATES
        if result.is_exhausted or result.judged >= 0:
            yield TO_THE_END if result.is_exhausted else TO_DEPTH
        if "=" in search.says:
            yield BOUNDS
