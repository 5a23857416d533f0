"""The pages behind the cells: a page for each history, and texts of what was searched.

In:  findings.
Out: addresses for the cells, and then the pages: histories taken again in plain Python, and one page of searches for
     each release.

A history that is the same, step by step, with several settings has one page. What was searched stands once on a page:
other answers that rest on the same searches lead there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from isrcheck.checker.atlas.pages import legend
from isrcheck.checker.atlas.pages.words import source_of
from isrcheck.checker.questions.concerns import KAFKA, SCENARIOS
from isrcheck.checker.questions.finding import Finding, History, Part
from isrcheck.checker.questions.history import instance_of, trace_of
from isrcheck.checker.results.instance_facts import command_of
from isrcheck.checker.results.terminal import counted
from isrcheck.checker.results.verdict import WHY_STOPPED
from isrcheck.traces.drawing.index import text_page
from isrcheck.traces.drawing.markup import Content, Element, append, element
from isrcheck.traces.drawing.pages import page

INDEX = "../index.html"
"""The address of the table, from a page in one of the folders."""

TRACES, SEARCHES = "traces", "searches"
"""The folders of these pages."""

LEGEND = "words"
"""The name by which a link leads to the legend."""

WITNESSES = "Witnesses, which reach what has to be able to happen in these searches:"
"""What is said above the witnesses of a finding."""

ABOUT_SEARCHES = (
    "Answers of the table lead to their searches here. The command under a search repeats it; where it says which"
    " brokers are down, the command searches all choices of them, and counts more states."
)


@dataclass
class _Shown:
    """A history with the first finding that has it, the questions that it answers, and the number of answers."""

    asks: dict[str, None]
    finding: Finding
    history: History
    name: str
    cases: int = 0


@dataclass
class Histories:
    """The histories of all cells, each under its address."""

    _shown: dict[object, _Shown] = field(default_factory=dict)

    def address(self, asks: str, finding: Finding, history: History) -> str:
        """The address of the page of a history, which is made later."""
        key = (history.model, history.protocol, history.property_name, history.verdict, history.start)
        known = self._shown.get((*key, history.steps, history.loop))
        if known is None:
            number = sum(_file(one.history) == _file(history) for one in self._shown.values()) + 1
            known = _Shown({}, finding, history, f"{_file(history)}_{number}.html")
            self._shown[*key, history.steps, history.loop] = known
        known.asks[asks] = None
        known.cases += 1
        return f"{TRACES}/{known.name}"

    def pages(self) -> Iterator[tuple[str, str]]:
        """Take every history again, and yield the name and the text of its page. Raises UsageError if it differs."""
        for one in self._shown.values():
            yield f"{TRACES}/{one.name}", page(trace_of(one.history), list(_about(one)), INDEX)

    def __len__(self) -> int:
        return len(self._shown)


def _about(one: _Shown) -> Iterator[Content]:
    """What stands beside the steps: the question, and what else was searched."""
    for asks in one.asks:
        yield element("h2", asks)
    yield element("p", f"The shortest history that was found, {source_of(one.finding)}. {_stands_for(one.cases)}")
    yield from _searched(one.finding)
    if one.finding.parts:
        yield element("details", element("summary", legend.TITLE), legend.legend([one.finding]))


def _stands_for(cases: int) -> str:
    if cases == 1:
        return "One answer of the table leads here."
    return f"{cases:,} answers of the table have these steps; the settings on this page are those of the first."


def _file(one: History | Part) -> str:
    """The generation of Kafka's model, or another model, as a part of a file name."""
    return (
        one.protocol if one.model in (KAFKA, SCENARIOS) else f"{one.model}_{one.protocol}".replace("/", "_").strip("_")
    )


@dataclass
class Searches:
    """What was searched for cells without a history, each text under its address."""

    _known: dict[object, str] = field(default_factory=dict)
    _pages: dict[str, _Searched] = field(default_factory=dict)

    def address(self, asks: str, findings: Sequence[tuple[str, Finding]]) -> str:
        """The address of a text about findings, each with a label; empty if nothing was searched."""
        parts = [part for _, finding in findings for part in finding.parts]
        if not parts:
            return ""
        key = (asks, tuple(findings))
        if key not in self._known:
            name = _file(parts[0])
            identifier = self._pages.setdefault(name, _Searched()).add(asks, findings)
            self._known[key] = f"{SEARCHES}/{name}.html#{identifier}"
        return self._known[key]

    def pages(self) -> Iterator[tuple[str, str]]:
        """The name and the text of each page."""
        for name, one in self._pages.items():
            links = element("a", "the table", href=INDEX), element("a", legend.TITLE.lower(), href=f"#{LEGEND}")
            words = element("section", element("h2", legend.TITLE), legend.legend(one.findings), id=LEGEND)
            content = [element("nav", *links), element("p", ABOUT_SEARCHES), words, *one.sections]
            yield f"{SEARCHES}/{name}.html", text_page(f"What was searched: {name}", content)


@dataclass
class _Searched:
    """A page of searches: its sections, the findings in them, and where the searches of a finding stand."""

    sections: list[Element] = field(default_factory=list)
    findings: dict[Finding, None] = field(default_factory=dict)
    _shown: dict[tuple[tuple[Part, ...], tuple[Part, ...]], tuple[str, Element]] = field(default_factory=dict)

    def add(self, asks: str, findings: Sequence[tuple[str, Finding]]) -> str:
        """Add a section about findings, each with a label; return the name by which a link leads to it."""
        name = f"s{len(self.sections) + 1}"
        section = element("section", element("h2", asks), id=name)
        for number, (label, finding) in enumerate(findings, start=1):
            self.findings[finding] = None
            section.extend(self._told(f"{name}-{number}", label, finding))
        self.sections.append(section)
        return name

    def _told(self, name: str, label: str, finding: Finding) -> list[Element]:
        depth = "" if finding.depth is None else f" {finding.depth}"
        says = element("p", f"{finding.word.value}{depth}, {source_of(finding)}. {finding.note}".rstrip())
        told = [element("h3", label), says] if label else [says]
        searches = finding.parts, finding.witnesses
        if searches in self._shown:
            first, place = self._shown[searches]
            place.set("id", first)
            append(says, " ", element("a", "Its searches.", href=f"#{first}"))
            return told
        self._shown[searches] = name, told[0]
        return [*told, *_searched(finding)]


def _searched(finding: Finding) -> list[Element]:
    """The searches of a finding: faults, reach, states, and the command that repeats each; and its witnesses."""
    told = [_listed(finding.parts)] if finding.parts else []
    return [*told, element("p", WITNESSES), _listed(finding.witnesses)] if finding.witnesses else told


def _listed(parts: Sequence[Part]) -> Element:
    return element("ul", *map(_part, parts))


def _part(part: Part) -> Element:
    bound = None if part.is_exhausted else part.judged
    instance = instance_of(part.model, part.protocol, part.configuration)
    depth = "" if part.depth is None else f" {part.depth}"
    why = f", for {WHY_STOPPED.get(part.stopped, part.stopped)}" if part.stopped else ""
    says = f"{part.says}: {part.word.value}{depth}, {part.reach} ({counted(part.states, 'state')}){why}"
    return element("li", says, element("br"), element("code", command_of(part.model, instance, bound)))
