"""The answers to questions, put together from the results of their searches.

Texts, pages and advice are written from a `Finding` alone, without a further search. A failure is kept as a `History`,
the names of its steps. A model is loaded only to replay a history, because loading takes a second. The description of a
history is kept in the cache; its key is a digest of the history and of the packages that describe it (models, traces).
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from isrcheck.checker.failures.searched import events
from isrcheck.checker.resources.cache import cache_folder, hashed_modules, keep, kept
from isrcheck.checker.results.verdict import Word
from isrcheck.models import registry
from isrcheck.models.kafka.failures.catalogue import Failure, History, pairs
from isrcheck.models.language.model import Instance, parse
from isrcheck.models.messages import UsageError

if TYPE_CHECKING:
    from isrcheck.traces.format.trace import Trace


FAILS = (Word.VIOLATED, Word.PERMITTED)

GRAVITY = (
    Word.VIOLATED,
    Word.PERMITTED,
    Word.UNREACHABLE,
    Word.UNDECIDED,
    Word.NO_VIOLATION,
    Word.NOT_REACHED,
    Word.HOLDS,
    Word.REACHED,
    Word.NOT_APPLICABLE,
)
"""The verdicts of searches, the decisive one first: a found failure counts, whatever other searches leave open."""


@dataclass(frozen=True)
class Search:
    """One of the searches that together answer a question: what is searched, and how far."""

    says: str
    """The faults of the search, in words: "one crash"."""
    model: str
    protocol: str
    configuration: str
    """The entries of the model that differ from its generation, as on the command line."""
    prop: str
    """The property in question; empty: all that apply."""
    depth: int | None = None
    """The depth to which the search goes; None: to the end."""
    initial: int | None = None
    """The only initial state to start from; None: all."""
    is_permitted: bool = False
    """Whether the settings may permit a failure; the search then ends at the first such failure."""
    choices: int = 1
    """The number of initial states that `initial` represents: of sets of brokers that are down (WRITES, READS)."""
    rule: str = ""
    """The name of the rule (questions.py) by which the search answers for a case with other settings; empty if the
    settings are the case's."""
    is_witness: bool = False
    """Whether this search is a witness: it shows that another search of the question can find what that looks for
    (planning.py)."""
    unused: tuple[str, ...] = ()
    """Budgets of faults that the behaviour which the search looks for does not need."""

    @property
    def identity(self) -> str:
        """The search as one line: searches with the same line have the same result."""
        about = self.model, self.protocol, self.configuration, self.prop
        return json.dumps([*about, self.depth, self.initial, self.is_permitted, *(["witness"] * self.is_witness)])

    @property
    def instance(self) -> Instance:
        """The instance to search; loads its model. Raises UsageError if the model lacks an entry of `configuration`."""
        return instance_of(self.model, self.protocol, self.configuration)


@dataclass(frozen=True)
class Result:
    """The result of one search: its verdict, how far it went, and the path that shows a failure."""

    prop: str
    word: Word
    """The verdict on the property `prop`."""
    depth: int | None
    """The step at which the property fails or is reached."""
    judged: int
    """The depth to which every state was judged (-1: none was)."""
    is_exhausted: bool
    """Whether no further state exists within these bounds."""
    states: int
    stopped: str | None = None
    """The limit that ended the search early (a key of WHY_STOPPED), or None."""
    start: int = 0
    """The initial state of the path that shows a failure; its `steps`, and the step to which a `loop` returns."""
    steps: tuple[str, ...] = ()
    loop: int | None = None
    day: str = field(default="", compare=False)
    """The day of a recorded search (YYYY-MM-DD), empty for a fresh one."""
    seconds: float = field(default=0.0, compare=False)
    """The seconds that a recorded search took; 0 for a fresh one."""

    @classmethod
    def not_begun(cls, prop: str, why: str) -> Result:
        """The result of a search that ended before its first state; `why` is what stopped it, a key of WHY_STOPPED."""
        return cls(prop, Word.UNDECIDED, None, -1, is_exhausted=False, states=0, stopped=why)

    @property
    def reach(self) -> str:
        """How far the search went: "to the end", "to depth 14", or "not begun"."""
        if self.is_exhausted:
            return "to the end"
        return f"to depth {self.judged}" if self.judged >= 0 else "not begun"


class Searched(NamedTuple):
    """A search that was made, and its result."""

    search: Search
    result: Result


class Source(StrEnum):
    """Where the answer to a question comes from: a new search, the record of the atlas, or a rule (questions.py)."""

    SEARCHED = "searched"
    RECORDED = "recorded"
    RULE = "rule"


@dataclass(frozen=True)
class Finding:
    """The answer to a question: the gravest verdict (`word`) of its searches, and the history of a failure, if any."""

    word: Word
    property_name: str
    depth: int | None
    history: History | None
    parts: tuple[Searched, ...]
    """The searches of the question that were made."""
    note: str = ""
    """Why the word is UNDECIDED or n/a."""
    source: Source = Source.SEARCHED
    rule: str = ""
    """The name of the rule, if the source is one."""
    recorded: str = ""
    """The day of the search in the atlas (YYYY-MM-DD), empty for a fresh one."""
    witnesses: tuple[Searched, ...] = ()
    """The searches which show that the behaviour that the `parts` search can happen."""

    @property
    def fails(self) -> bool:
        """Whether the property fails, even if the settings permit the failure."""
        return self.word in FAILS

    @property
    def is_known(self) -> bool:
        """Whether the question is answered; a search to a limited depth counts as an answer."""
        return self.word is not Word.UNDECIDED

    @property
    def least_depth(self) -> int | None:
        """The least depth to which a search judged all states (-1: none); None if all searches went to the end."""
        return min((result.judged for _, result in self.parts if not result.is_exhausted), default=None)


def is_exposed(failure: Failure, finding: Finding) -> bool:
    """Whether a finding shows that a cluster is exposed to a known failure. The cluster is not exposed if its settings
    do not make the promise that the failure breaks."""
    if finding.word is Word.PERMITTED:
        return failure.history is not None and failure.history.verdict == Word.PERMITTED.value
    return finding.fails


def is_open(failure: Failure, finding: Finding) -> bool:
    """Whether exposure to a failure is undecided: no answer, or a search to fewer steps than the failure takes."""
    if finding.word is not Word.NO_VIOLATION or failure.history is None:
        return not finding.is_known
    return finding.least_depth is not None and finding.least_depth < failure.history.depth


def without_search(word: Word, why: str) -> Finding:
    """The finding of a question without a search: `word` is n/a if no model expresses the question, else UNDECIDED."""
    return Finding(word, "", None, None, (), why)


def assembled(searches: Sequence[Search], result_of: Callable[[int], Result | None]) -> Finding | None:
    """Return the finding from searches that are made in order until one finds a failure; None if a result is missing.
    `result_of` returns the result of the search at a position. A witness is a search that must reach a goal, to show
    that the behaviour in question can happen within the bounds. If no search finds a failure, but a witness does not
    reach its goal, the finding is UNDECIDED."""
    made: list[Searched] = []
    for position, search in enumerate(searches):
        result = result_of(position)
        if result is None:
            return None
        made.append(Searched(search, result))
        if result.word in FAILS or result.stopped == "interrupt":
            break
    return _finding(made, len(searches) - len(made))


def _finding(made: Sequence[Searched], missing: int) -> Finding:
    parts, witnesses = (
        tuple(part for part in made if part.search.is_witness is is_witness) for is_witness in (False, True)
    )
    search, result = min(parts, key=lambda part: (GRAVITY.index(part.result.word), part.result.judged))
    word, depth, note, history = result.word, result.depth, "", None
    if word in FAILS:
        about = search.model, search.protocol, search.configuration, result.prop, word.value
        history = History(*about, result.start, result.steps, result.loop)
    elif missing or word is Word.UNDECIDED:
        note = (
            f"{result.stopped}; nothing found to depth {result.judged}" if result.judged >= 0 else f"{result.stopped}"
        )
        word, depth = Word.UNDECIDED, None
    unreached = next((part for part in witnesses if part.result.word is not Word.REACHED), None)
    if word not in FAILS and unreached is not None:
        word, depth, note = Word.UNDECIDED, None, _why_vacuous(*unreached)
    day = min(result.day for _, result in made)
    rule = search.rule if history is not None else ""
    source = Source.RULE if rule else Source.RECORDED if day else Source.SEARCHED
    return Finding(word, result.prop, depth, history, parts, note, source, rule, day, witnesses)


def _why_vacuous(search: Search, result: Result) -> str:
    """Return why the finding is UNDECIDED if its witness `search` ended with `result` and did not reach its goal."""
    if result.stopped is not None:
        return f"{result.stopped}; the search did not show that its faults can happen"
    where = "within its bounds" if search.depth is None else f"within {search.depth} steps"
    goal = result.prop.replace("_", " ") if result.prop else "its goals"
    return f"{where}, the search does not reach what it must be able to reach: {goal}"


# --- Histories ---


@cache
def instance_of(model: str, protocol: str, configuration: str) -> Instance:
    """Return a model's instance with the NAME=VALUE entries of `configuration`. Raises UsageError for a wrong entry."""
    loaded, _ = registry.load(model)
    texts = pairs(configuration)
    for name in texts:
        if name not in loaded.entries:
            raise UsageError(
                f"{model} has no configuration entry {name}; another version of isrcheck recorded this history"
            )
    return loaded.instance(protocol, {name: parse(name, loaded.entries[name], text) for name, text in texts.items()})


@cache
def trace_of(history: History) -> Trace:
    """Replay a history as a trace. Raises UsageError if a step is impossible, or if the verdict differs from the
    history's verdict."""
    from isrcheck.commands.settings import words_of_name, words_of_values
    from isrcheck.traces.format.certify import behaviour, step_named

    instance = instance_of(history.model, history.protocol, history.configuration)
    command = shlex.join(["check", *words_of_name(history.model, instance), *words_of_values(instance)])
    return behaviour(
        instance,
        history.start,
        [step_named(instance, text) for text in history.steps],
        history.property_name,
        command,
        history.verdict,
        history.loop,
    )


KIND = "histories"
"""The name of the folder in the cache for descriptions of histories."""


@dataclass(frozen=True)
class Description:
    """A history in words: how its failure comes about, and the events that it takes."""

    how: str
    """How the failure comes about, without a full stop."""
    counts: Mapping[str, int]
    """How often each kind of event occurs in the history."""

    @property
    def needs(self) -> str:
        """What the history needs, in words: "1 crash, 1 election"."""
        return events(self.counts)


@cache
def description_of(history: History) -> Description:
    """Return the description of a history, from the cache if it is there. Raises UsageError as `trace_of` does."""
    text = json.dumps(asdict(history), sort_keys=True)
    path = cache_folder() / KIND / hashlib.sha256(f"{_digest()}\0{text}".encode()).hexdigest()
    content = kept(path)
    if content is not None:
        return Description(**json.loads(content))
    from isrcheck.traces.explaining.cause import rarity
    from isrcheck.traces.explaining.presentation import headline

    trace = trace_of(history)
    description = Description(headline(trace), dict(rarity(trace)))
    keep(path, json.dumps(asdict(description)).encode())
    return description


@cache
def _digest() -> str:
    """The digest of the packages, with subpackages, on which the description of a history depends."""
    return hashed_modules({"isrcheck.models": True, "isrcheck.traces": True})
