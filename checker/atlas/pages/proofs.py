"""The pages behind the cells: a page for each history, and texts of what was searched.

In:  findings.
Out: addresses for the cells, and then the pages: histories taken again in plain Python, and one page of searches for
     each release.

A history that is the same, step by step, with several settings has one page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from isrcheck.checker.atlas.pages.words import source_of
from isrcheck.checker.outcome.verdict import WHY_STOPPED
from isrcheck.checker.questions.concerns import KAFKA
from isrcheck.checker.questions.finding import Finding, History, Part
from isrcheck.checker.questions.history import instance_of, trace_of
from isrcheck.checker.session.formatting import counted
from isrcheck.checker.session.reproduce import command_of
from isrcheck.traces.drawing.index import text_page
from isrcheck.traces.drawing.markup import Content, Element, element
from isrcheck.traces.drawing.pages import page

INDEX = "../index.html"
"""The address of the table, from a page in one of the folders."""

TRACES, SEARCHES = "traces", "searches"
"""The folders of these pages."""

ABOUT_SEARCHES = (
    "Answers of the table lead to their searches here. \u201cTo the end\u201d says that no further state exists within"
    " the bounds of the search. The command under a search repeats it; where it says which brokers are down, the"
    " command searches all choices of them, and counts more states."
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


def _stands_for(cases: int) -> str:
    if cases == 1:
        return "One answer of the table leads here."
    return f"{cases:,} answers of the table have these steps; the settings on this page are those of the first."


def _file(one: History | Part) -> str:
    """The generation, or the model without one, as a part of a file name."""
    return one.protocol if one.model == KAFKA else f"{one.model}_{one.protocol}".replace("/", "_").strip("_")


@dataclass
class Searches:
    """What was searched for cells without a history, each text under its address."""

    _known: dict[object, str] = field(default_factory=dict)
    _texts: dict[str, list[Element]] = field(default_factory=dict)

    def address(self, asks: str, findings: Sequence[tuple[str, Finding]]) -> str:
        """The address of a text about findings, each with a label; empty if nothing was searched."""
        parts = [part for _, finding in findings for part in finding.parts]
        if not parts:
            return ""
        key = (asks, tuple(findings))
        if key not in self._known:
            name = _file(parts[0])
            texts = self._texts.setdefault(name, [])
            identifier = f"s{len(texts) + 1}"
            texts.append(_section(identifier, asks, findings))
            self._known[key] = f"{SEARCHES}/{name}.html#{identifier}"
        return self._known[key]

    def pages(self) -> Iterator[tuple[str, str]]:
        """The name and the text of each page."""
        about = element("p", ABOUT_SEARCHES, " ", element("a", "The table.", href=INDEX))
        for name, texts in self._texts.items():
            yield f"{SEARCHES}/{name}.html", text_page(f"What was searched: {name}", [about, *texts])


def _section(name: str, asks: str, findings: Sequence[tuple[str, Finding]]) -> Element:
    section = element("section", element("h2", asks), id=name)
    for label, finding in findings:
        title = [element("h3", label)] if label else []
        depth = "" if finding.depth is None else f" {finding.depth}"
        section.extend([*title, element("p", f"{finding.word.value}{depth}, {source_of(finding)}. {finding.note}")])
        section.extend(_searched(finding))
    return section


def _searched(finding: Finding) -> list[Element]:
    """The searches of a finding: faults, reach, states, and the command that repeats each."""
    return [element("ul", *(_part(part) for part in finding.parts))] if finding.parts else []


def _part(part: Part) -> Element:
    bound = None if part.is_exhausted else part.judged
    instance = instance_of(part.model, part.protocol, part.configuration)
    depth = "" if part.depth is None else f" {part.depth}"
    why = f", for {WHY_STOPPED.get(part.stopped, part.stopped)}" if part.stopped else ""
    says = f"{part.says}: {part.word.value}{depth}, {part.reach} ({counted(part.states, 'state')}){why}"
    return element("li", says, element("br"), element("code", command_of(part.model, instance, bound)))
