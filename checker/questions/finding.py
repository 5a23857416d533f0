"""The answer to a question about a case, as plain data.

In:  the searches of a question (searching.py), a line of the atlas (models/kafka/atlas), or a rule.
Out: `Finding`, from which texts, pages and advice are made without a further search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from isrcheck.checker.results.verdict import Word


class Source(StrEnum):
    """Where an answer comes from."""

    SEARCHED = "searched"
    RECORDED = "recorded"
    RULE = "rule"


@dataclass(frozen=True)
class History:
    """A shortest history, as the steps of a model: enough to take every step again in plain Python.

    `configuration` are entries of the model as on the command line (`acks=all crashes=1`); `start` is the number of the
    initial state; `loop` is the step to which an endless behaviour returns.
    """

    model: str
    protocol: str
    configuration: str
    property_name: str
    verdict: str
    start: int
    steps: tuple[str, ...]
    loop: int | None = None


@dataclass(frozen=True)
class Part:
    """One search of a question.

    `says` are its faults in words ("one crash"); `configuration` are the entries of the model as on the command line.
    `judged` is the depth to which every state was judged; `is_exhausted` says that no further state exists within these
    bounds. `stopped` is the limit that ended the search early (a key of WHY_STOPPED), or None. `choices` counts the
    sets of brokers that are down for which this search stands (WRITES, READS).
    """

    says: str
    model: str
    protocol: str
    configuration: str
    word: Word
    depth: int | None
    judged: int
    is_exhausted: bool
    states: int
    stopped: str | None = None
    choices: int = 1

    @property
    def reach(self) -> str:
        """How far the search went: "to the end", "to depth 14", or "not begun"."""
        if self.is_exhausted:
            return "to the end"
        return f"to depth {self.judged}" if self.judged >= 0 else "not begun"


@dataclass(frozen=True)
class Finding:
    """The answer to a question: the gravest word of its parts, with the shortest history that shows it, if any.

    `witnesses` are the searches which show that what the parts have searched can happen. `note` explains a word
    UNDECIDED or n/a. `source` says where the answer comes from; for RULE, `rule` is its name,
    and `recorded` is the day of the search in the atlas (YYYY-MM-DD), empty for a fresh one.
    """

    word: Word
    property_name: str
    depth: int | None
    history: History | None
    parts: tuple[Part, ...]
    note: str = ""
    source: Source = Source.SEARCHED
    rule: str = ""
    recorded: str = ""
    witnesses: tuple[Part, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether the property fails, permitted or not."""
        return self.word in (Word.VIOLATED, Word.PERMITTED)

    @property
    def is_known(self) -> bool:
        """Whether the question is answered; an answer to a depth counts, and says so."""
        return self.word is not Word.UNDECIDED

    @property
    def least_depth(self) -> int | None:
        """The depth to which every state of every search was judged (-1: none was); None if all went to the end."""
        return min((part.judged for part in self.parts if not part.is_exhausted), default=None)

    def as_object(self) -> dict[str, Any]:
        """The finding as a JSON object."""
        return asdict(self)

    @staticmethod
    def of_object(content: Mapping[str, Any]) -> Finding:
        """The finding that `as_object` has written. Raises TypeError, KeyError or ValueError for other content."""
        history = content["history"]
        return Finding(
            **{
                **content,
                "word": Word(content["word"]),
                "source": Source(content["source"]),
                "history": None if history is None else History(**{**history, "steps": tuple(history["steps"])}),
                **{
                    name: tuple(Part(**{**one, "word": Word(one["word"])}) for one in content[name])
                    for name in ("parts", "witnesses")
                },
            }
        )
