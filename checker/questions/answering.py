"""Puts an answer together from its searches, whoever made them.

In:  what is asked of each search (`Asked`), and a function that returns its `Result`.
Out: a `Finding`. No model is loaded for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.finding import Finding, History, Part, Source
from isrcheck.checker.questions.question import Question
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import Word

FAILS = (Word.VIOLATED, Word.PERMITTED)

GRAVITY = (
    *(Word.VIOLATED, Word.PERMITTED, Word.UNREACHABLE, Word.UNDECIDED, Word.NO_VIOLATION),
    *(Word.NOT_REACHED, Word.HOLDS, Word.REACHED, Word.NOT_APPLICABLE),
)
"""The words of parts, the one that decides the answer first: what was found counts, whatever else is open."""


class Answerer(Protocol):
    """Answers questions: by search, or from the record."""

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Answer a question about a case. Raises KeyboardInterrupt if Ctrl-C was pressed before."""


@dataclass(frozen=True)
class Asked:
    """What is asked of one search: its faults in words; the model, its generation and its entries; the property (empty:
    all promises); the depth to which it goes (None: to the end), its only initial state (None: all), and whether the
    settings may permit a failure. `choices`, `rule` and `is_witness` are those of a `Scenario`."""

    says: str
    model: str
    protocol: str
    configuration: str
    prop: str
    depth: int | None = None
    initial: int | None = None
    is_permitted: bool = False
    choices: int = 1
    rule: str = ""
    is_witness: bool = False

    @property
    def identity(self) -> str:
        """The search as one line: searches with the same line have the same result."""
        about = self.model, self.protocol, self.configuration, self.prop
        return json.dumps([*about, self.depth, self.initial, self.is_permitted, *(["witness"] * self.is_witness)])


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

    @classmethod
    def not_begun(cls, prop: str, why: str) -> Result:
        """The result of a search that ended before its first state; `why` is the word for what stopped it."""
        return cls(prop, Word.UNDECIDED, None, -1, is_exhausted=False, states=0, stopped=why)


def inexpressible(why: str) -> Finding:
    """The finding of a question that no model expresses."""
    return Finding(Word.NOT_APPLICABLE, "", None, None, (), why)


def assembled(searches: Sequence[Asked], result_of: Callable[[int], Result | None]) -> Finding | None:
    """The finding of these searches, made one after the other until one fails; None if a result is missing.

    The argument of `result_of` is the position of the search. If nothing fails, and a witness is not reached, nothing
    is decided: what was to be searched cannot happen within the bounds.
    """
    found: list[tuple[Asked, Result]] = []
    for position, asked in enumerate(searches):
        result = result_of(position)
        if result is None:
            return None
        found.append((asked, result))
        if result.word in FAILS or result.stopped == "interrupt":
            break
    return _finding(found, len(searches) - len(found))


def _finding(made: Sequence[tuple[Asked, Result]], missing: int) -> Finding:
    found = [one for one in made if not one[0].is_witness]
    asked, result = min(found, key=lambda one: (GRAVITY.index(one[1].word), one[1].judged))
    word, depth, note, history = result.word, result.depth, "", None
    if word in FAILS:
        history = _history(asked, result)
    elif missing or word is Word.UNDECIDED:
        note = f"{result.stopped}; none to depth {result.judged}" if result.judged >= 0 else f"{result.stopped}"
        word, depth = Word.UNDECIDED, None
    witnesses = [one for one in made if one[0].is_witness]
    unreached = next((one for one in witnesses if one[1].word is not Word.REACHED), None)
    if word not in FAILS and unreached is not None:
        word, depth, note = Word.UNDECIDED, None, _why_vacuous(*unreached)
    parts, shown = (tuple(_part(*one) for one in some) for some in (found, witnesses))
    finding = Finding(word, result.prop, depth, history, parts, note, witnesses=shown)
    first = min(one.day for _, one in made)
    if first:
        finding = replace(finding, source=Source.RECORDED, recorded=first)
    if history is not None and asked.rule:
        finding = replace(finding, source=Source.RULE, rule=asked.rule)
    return finding


def _why_vacuous(asked: Asked, result: Result) -> str:
    """Why searches in which nothing failed decide nothing."""
    if result.stopped is not None:
        return f"{result.stopped}; it is not shown that the faults of this search can happen"
    where = "within its bounds" if asked.depth is None else f"within {asked.depth} steps"
    what = result.prop.replace("_", " ") if result.prop else "what it is about"
    return f"{where}, the search does not reach what it has to reach: {what}"


def _part(asked: Asked, result: Result) -> Part:
    return Part(
        says=asked.says,
        model=asked.model,
        protocol=asked.protocol,
        configuration=asked.configuration,
        word=result.word,
        depth=result.depth,
        judged=result.judged,
        is_exhausted=result.is_exhausted,
        states=result.states,
        stopped=result.stopped,
        choices=asked.choices,
    )


def _history(asked: Asked, result: Result) -> History:
    return History(
        model=asked.model,
        protocol=asked.protocol,
        configuration=asked.configuration,
        property_name=result.prop,
        verdict=result.word.value,
        start=result.start,
        steps=result.steps,
        loop=result.loop,
    )
