"""Answers questions from the record of the atlas, and by another answerer what is not in it.

In:  a `Case` and a `Question`; the record (models/kafka/atlas).
Out: a `Finding` that says on which day it was searched.

A search is only used if it is the one that would be made now, of the models as they are now. If the files on which that
depends are those of the record, byte by byte, it is; otherwise the searches are planned again, and compared one by one,
with the digests of the models, which leave out comments, docstrings and layout.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from isrcheck.checker.questions.answering import FAILS, Answerer, Asked, Result, assembled, inexpressible
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.concerns import key_of, why_unasked
from isrcheck.checker.questions.finding import Finding
from isrcheck.checker.questions.question import Question
from isrcheck.checker.questions.rules import LEAST, asked_instead, instead_of
from isrcheck.checker.resources.cache import hashed_modules
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.atlas.catalogue import Record
from isrcheck.models.kafka.failures.catalogue import FOLDER, pairs

PACKAGES = {
    **dict.fromkeys(("isrcheck.models", "isrcheck.models.examples"), False),
    **dict.fromkeys(("isrcheck.models.language", "isrcheck.models.kafka", "isrcheck.models.transactions"), True),
    "isrcheck.checker.questions": True,
}
"""The packages on which the searches and their results depend (True: with subpackages)."""


def texts_digest() -> str:
    """The digest of all texts on which the searches of the atlas depend."""
    content = hashlib.sha256(hashed_modules(PACKAGES).encode())
    for path in sorted(FOLDER.glob("*/*.toml")):
        content.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return content.hexdigest()


class Recorded:
    """Answers from the record; `otherwise` answers what is not in it. `outdated` says, after an answer that the record
    has only for other models or searches, why it was not used; empty otherwise."""

    def __init__(self, otherwise: Answerer, record: Record | None = None) -> None:
        """Without a `record`, it is that of the package; one that cannot be read is like an empty one."""
        self.otherwise = otherwise
        self.outdated = ""
        self._given = record

    @cached_property
    def record(self) -> Record | None:
        """The record, or None if there is none."""
        if self._given is not None:
            return self._given
        try:
            return Record()
        except (OSError, ValueError, KeyError):
            return None

    @cached_property
    def _is_as_recorded(self) -> bool:
        return self.record is not None and self.record.header["texts"] == texts_digest()

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Answer a question about a case; a depth in the limits asks for a search. Raises KeyboardInterrupt."""
        found = self.find(case, question) if limits.depth is None else None
        return found if found is not None else self.otherwise.answer(case, question, limits)

    def find(self, case: Case, question: Question) -> Finding | None:
        """The recorded answer, None if there is none, or if it is of other searches or models."""
        self.outdated = ""
        why = why_unasked(case, question)
        if why:
            return inexpressible(why)
        recorded = None if self.record is None else self.record.searches(*key_of(case, question))
        if recorded is None:
            return None
        searched = asked_instead(case, question)[0]
        asked = [] if isinstance(recorded, str) else [asked_of_record(one, searched) for one in recorded]
        if not self._is_as_recorded:
            is_ended = not isinstance(recorded, str) and bool(recorded) and Word(recorded[-1]["word"]) in FAILS
            self.outdated = self._why_outdated(case, question, asked, is_ended=is_ended)
            if self.outdated:
                return None
        if isinstance(recorded, str):
            return inexpressible(recorded)
        return assembled(asked, lambda position: result_of(recorded[position]))

    def _why_outdated(self, case: Case, question: Question, asked: Sequence[Asked], *, is_ended: bool) -> str:
        """Why these searches are not those that would be made now; empty if they are. `is_ended`: a failure was found,
        after which no search is made."""
        from isrcheck.checker.questions.planning import asked_of, planned  # here, because they load the models
        from isrcheck.models import registry

        assert self.record is not None
        digests = self.record.header["models"]
        for name in sorted({one.model for one in asked}):
            if registry.load(name)[0].digest != digests.get(name):
                return f"the model {name} has changed since the record was made"
        searches = planned(case, question)
        now = [] if isinstance(searches, str) else [asked_of(one).identity for one in searches]
        if (now[: len(asked)] if is_ended else now) != [one.identity for one in asked]:
            return "the searches for this question have changed since the record was made"
        return ""


def asked_of_record(content: Mapping[str, Any], case: Case | None = None) -> Asked:
    """What is asked of a recorded search, for a case."""
    rule = says = ""
    if case is not None and "replicas" in content:
        least = int(pairs(content["configuration"]).get("min_insync_replicas", LEAST))
        rule, says = instead_of(case, content["replicas"], least)
    return Asked(
        says=content["says"] + says,
        model=content["model"],
        protocol=content["protocol"],
        configuration=content["configuration"],
        prop=content["asked"],
        depth=content.get("bound"),
        initial=content.get("initial"),
        is_permitted=content.get("is_permitted", False),
        choices=content["choices"],
        rule=rule,
        is_witness=content.get("is_witness", False),
    )


def result_of(content: Mapping[str, Any]) -> Result:
    """The result of a recorded search."""
    return Result(
        prop=content["property"],
        word=Word(content["word"]),
        depth=content.get("depth"),
        judged=content["judged"],
        is_exhausted=content.get("is_exhausted", False),
        states=content["states"],
        stopped=content.get("stopped"),
        start=content.get("start", 0),
        steps=tuple(content.get("steps", ())),
        loop=content.get("loop"),
        day=content["day"],
    )
