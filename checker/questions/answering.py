"""Puts an answer together from its searches, whoever makes them.

In:  the `Scenario`s of a question, and a function that returns the `Result` of each.
Out: a `Finding`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from isrcheck.checker.outcome.verdict import Word
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.defects import searches_of_defect
from isrcheck.checker.questions.finding import Finding, History, Part, Source
from isrcheck.checker.questions.generations import written
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.questions.scenarios import Scenario, scenarios

FAILS = (Word.VIOLATED, Word.PERMITTED)

GRAVITY = (
    *(Word.VIOLATED, Word.PERMITTED, Word.UNREACHABLE, Word.UNDECIDED, Word.NO_VIOLATION),
    *(Word.NOT_REACHED, Word.HOLDS, Word.REACHED, Word.NOT_APPLICABLE),
)
"""The words of parts, the one that decides the answer first: what was found counts, whatever else is open."""


@dataclass(frozen=True)
class Result:
    """The result of one search: the verdict on the property `prop`, its depth, how far the search went, and the path
    that shows a failure. `day` is the day of a recorded search (YYYY-MM-DD), empty for a fresh one."""

    prop: str
    word: Word
    depth: int | None
    judged: int
    is_exhausted: bool
    states: int
    stopped: str | None = None
    start: int = 0
    steps: tuple[str, ...] = ()
    loop: int | None = None
    day: str = ""


def identity(scenario: Scenario) -> str:
    """A search as one line: searches with the same line have the same result."""
    instance = scenario.instance
    about = instance.model.name, instance.protocol.name, written(instance), scenario.prop
    return json.dumps([*about, scenario.depth, scenario.initial, scenario.is_permitted])


def planned(case: Case, question: Question) -> Sequence[Scenario] | str:
    """The searches of a question, or the reason why no model has what is asked."""
    if question.topic is Topic.DEFECT:
        return searches_of_defect(case, question.name)
    return scenarios(case, question)


def inexpressible(why: str) -> Finding:
    """The finding of a question that no model expresses."""
    return Finding(Word.NOT_APPLICABLE, "", None, None, (), why)


def assembled(searches: Sequence[Scenario], result_of: Callable[[Scenario, int], Result | None]) -> Finding | None:
    """The finding of these searches, made one after the other until one fails; None if a result is missing.

    The second argument of `result_of` is the number of searches that are left, this one included.
    """
    found: list[tuple[Scenario, Result]] = []
    for number, scenario in enumerate(searches):
        result = result_of(scenario, len(searches) - number)
        if result is None:
            return None
        found.append((scenario, result))
        if result.word in FAILS or result.stopped == "interrupt":
            break
    return _finding(found, len(searches) - len(found))


def _finding(found: Sequence[tuple[Scenario, Result]], missing: int) -> Finding:
    scenario, result = min(found, key=lambda one: (GRAVITY.index(one[1].word), one[1].judged))
    word, depth, note, history = result.word, result.depth, "", None
    if word in FAILS:
        history = _history(scenario, result)
    elif missing or word is Word.UNDECIDED:
        note = f"{result.stopped}; none to depth {result.judged}" if result.judged >= 0 else f"{result.stopped}"
        word, depth = Word.UNDECIDED, None
    finding = Finding(word, result.prop, depth, history, tuple(_part(*one) for one in found), note)
    days = sorted(one.day for _, one in found)
    if days[0]:
        finding = replace(finding, source=Source.RECORDED, recorded=days[0])
    if history is not None and scenario.rule:
        finding = replace(finding, source=Source.RULE, rule=scenario.rule)
    return finding


def _part(scenario: Scenario, result: Result) -> Part:
    instance = scenario.instance
    return Part(
        says=scenario.says,
        model=instance.model.name,
        protocol=instance.protocol.name,
        configuration=written(instance),
        word=result.word,
        depth=result.depth,
        judged=result.judged,
        is_exhausted=result.is_exhausted,
        states=result.states,
        stopped=result.stopped,
        choices=scenario.choices,
    )


def _history(scenario: Scenario, result: Result) -> History:
    instance = scenario.instance
    return History(
        model=instance.model.name,
        protocol=instance.protocol.name,
        configuration=written(instance),
        property_name=result.prop,
        verdict=result.word.value,
        start=result.start,
        steps=result.steps,
        loop=result.loop,
    )
