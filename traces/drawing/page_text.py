"""The text beside the steps of a page: why the property is false, who lost what, and which properties fail when.

In:  a certified Trace.
Out: a `PageText` of elements, in which every mention of a step is a link to the step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance
from isrcheck.models.language.states import spell_element
from isrcheck.traces.drawing.markup import Content, Element, element
from isrcheck.traces.format.certify import continuation_text, judgements, lasso_lines
from isrcheck.traces.format.trace import NOT_INDUCTIVE, PERMITTED, VIOLATED, Trace, says
from isrcheck.traces.format.why_false import Reason, why_broken
from isrcheck.traces.kafka import failures
from isrcheck.traces.kafka.lanes import shown_fields

STEP = re.compile(r"\bstep (\d+)\b")


@dataclass(frozen=True)
class PageText:
    """The verdict, what happened, the reason in the terms of the model, the command, and for each state the false
    properties.

    A property is listed for a state if it is false there, or on the step to that state. `indices` lists the labels of
    the indices of each variable.
    """

    verdict: str = ""
    told: Sequence[Content] = ()
    why: Sequence[Content] = ()
    command: str = ""
    broken: Sequence[Sequence[str]] = field(default=())
    indices: Sequence[Sequence[str]] = field(default=())
    about: Sequence[Content] = field(default=())


def page_text_of(trace: Trace) -> PageText:
    """Return the text for the page of a trace."""
    indices = indices_of(trace.instance)
    return PageText(trace.verdict or "", _told(trace), _why(trace), trace.command, _broken(trace), indices)


def indices_of(instance: Instance) -> list[list[str]]:
    """Return the labels of the indices of each variable; none for a variable that is a single value."""
    return [
        [spell_element(one) if place.field.over[0].letters else str(one) for one in range(place.sizes[0])]
        if place.sizes
        else []
        for place in shown_fields(instance)
    ]


def _told(trace: Trace) -> list[Content]:
    """What happened: who promised a record and which step removed it; how an endless behaviour goes on."""
    prop = trace.prop
    if prop is None:
        return []
    parts: list[Content] = []
    if trace.error is not None:
        return [element("p", trace.error.message)]
    if prop.kind is Kind.ALWAYS_POSSIBLE and trace.verdict in (VIOLATED, PERMITTED):
        parts.append(element("p", continuation_text(trace.instance, prop, trace.states[-1])))
    parts += (element("p", *_linked(line)) for line in lasso_lines(trace))
    if trace.verdict == NOT_INDUCTIVE:
        told = "The first state may be unreachable: the proof does not exclude it."
        parts.append(element("p", told))
    lines = failures.lines(trace)
    if lines:
        items = (
            element("li", *_linked(line.strip()), class_="deeper" * line.startswith(" ") or None) for line in lines
        )
        parts.append(element("ul", *items, class_="told"))
    return parts


def _why(trace: Trace) -> list[Content]:
    """The property, and the part of it that is false."""
    prop = trace.prop
    if prop is None:
        return []
    parts: list[Content] = [element("p", f"{prop.name}{says(prop.function.documentation)}")]
    if trace.error is None and trace.verdict in (VIOLATED, PERMITTED, NOT_INDUCTIVE):
        parts.append(element("div", element("ul", _reason(why_broken(trace))), class_="why"))
    return parts


def _reason(reason: Reason) -> Element:
    """The tree of a reason's expressions, down to the cells that decide the property."""
    truth = "true" if reason.truth else "false"
    where = f" for {', '.join(binding.text for binding in reason.bindings)}" if reason.bindings else ""
    parts: list[Content] = [element("code", reason.source), " is ", element("span", truth, class_=truth), where]
    if reason.conditions:
        parts.append(element("div", f"given {' and '.join(reason.conditions)}", class_="with"))
    if reason.readings:
        parts.append(element("div", ", ".join(reason.shown_readings), class_="with"))
    if reason.deeper:
        parts.append(element("ul", *(_reason(one) for one in reason.deeper)))
    return element("li", *parts)


def _linked(line: str) -> list[Content]:
    """The pieces of a line, in which every mention of a step is a link to the step."""
    pieces: list[Content] = []
    at = 0
    for match in STEP.finditer(line):
        pieces.append(line[at : match.start()])
        pieces.append(element("a", match.group(), href=f"#step={match.group(1)}"))
        at = match.end()
    return [*pieces, line[at:]]


def _broken(trace: Trace) -> list[list[str]]:
    """For each state, the properties that are false in the state or on the step to it."""
    found: list[list[str]] = [[] for _ in trace.states]
    for prop in (*trace.instance.properties, DEADLOCK):
        if prop.kind is Kind.SOMETIMES:
            continue
        for names, judgement in zip(found, judgements(trace.instance, prop, trace.states, trace.steps), strict=True):
            if judgement is not None:
                names.append(prop.name if judgement == VIOLATED else f"{prop.name} (permitted)")
    if trace.erring is not None:
        found.append([])
    if trace.error is not None:
        found[-1].append(IN_RANGE.name)
    if trace.loop is not None and trace.property_name is not None:
        found[-1].append(trace.property_name if trace.verdict == VIOLATED else f"{trace.property_name} (permitted)")
    return found
