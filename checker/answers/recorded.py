"""Answers questions from the record of the atlas (models/kafka/atlas).

The README.md of that folder describes the lines of record.jsonl, which are decoded on demand. A recorded search counts
only if the same search, of the same models, would be made today. That is certain if the files on which the search
depends have not changed by a byte since the record was made. Otherwise the searches are planned again and compared with
the recorded searches, as are the digests of the models, which leave out comments, docstrings and layout.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from isrcheck.checker.answers.findings import FAILS, Finding, Result, Search, assembled, without_search
from isrcheck.checker.answers.questions import LEAST, Case, Question, asked_instead, instead_of, key_of, why_unasked
from isrcheck.checker.resources.cache import hashed_modules
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.atlas import RECORD
from isrcheck.models.kafka.failures.catalogue import FOLDER, pairs

PACKAGES = {
    **dict.fromkeys(("isrcheck.models", "isrcheck.models.examples"), False),
    **dict.fromkeys(("isrcheck.models.language", "isrcheck.models.kafka", "isrcheck.models.transactions"), True),
}
"""The packages on which the searches and their results depend (True: with subpackages)."""

PLANS = ("findings", "planning", "questions", "recorded", "searching")
"""The modules of this folder on which the searches and their results depend."""


def texts_digest() -> str:
    """The digest of all files, byte by byte, on which the searches of the atlas depend."""
    content = hashlib.sha256(hashed_modules(PACKAGES).encode())
    room = Path(__file__).parent
    for path in (*(room / f"{name}.py" for name in PLANS), *sorted(FOLDER.glob("*/*.toml"))):
        content.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return content.hexdigest()


class Recorded:
    """Answers questions from the record. If an answer was recorded with other models or searches, it is not used, and
    `outdated` says why; otherwise `outdated` is empty."""

    def __init__(self, record: Record | None = None) -> None:
        """Without a `record`, the record of the package is used; if it cannot be read, it counts as empty."""
        self.outdated = ""
        self._given = record

    @cached_property
    def record(self) -> Record | None:
        """The record that answers are read from; None if there is no record, or if it cannot be read."""
        if self._given is not None:
            return self._given
        try:
            return Record()
        except (OSError, ValueError, KeyError):
            return None

    @cached_property
    def _is_as_recorded(self) -> bool:
        return self.record is not None and self.record.header["texts"] == texts_digest()

    def find(self, case: Case, question: Question) -> Finding | None:
        """The recorded answer; None if the record lacks it, or if its searches or models have changed since."""
        self.outdated = ""
        why = why_unasked(case, question)
        if why:
            return without_search(Word.NOT_APPLICABLE, why)
        recorded = None if self.record is None else self.record.searches(*key_of(case, question))
        if recorded is None:
            return None
        searched = asked_instead(case, question)[0]
        searches = [] if isinstance(recorded, str) else [search_of_record(content, searched) for content in recorded]
        if not self._is_as_recorded:
            is_ended = not isinstance(recorded, str) and bool(recorded) and Word(recorded[-1]["word"]) in FAILS
            self.outdated = self._why_outdated(case, question, searches, is_ended=is_ended)
            if self.outdated:
                return None
        if isinstance(recorded, str):
            return without_search(Word.NOT_APPLICABLE, recorded)
        return assembled(searches, lambda position: result_of(recorded[position]))

    def _why_outdated(self, case: Case, question: Question, searches: Sequence[Search], *, is_ended: bool) -> str:
        """Why the recorded searches differ from the searches that would be made now; empty if they do not. With
        `is_ended`, the last recorded search found a failure, after which no further search was made."""
        from isrcheck.checker.answers.planning import planned  # here, because it loads the models
        from isrcheck.models import registry

        assert self.record is not None
        digests = self.record.header["models"]
        for name in sorted({search.model for search in searches}):
            if registry.load(name)[0].digest != digests.get(name):
                return f"the model {name} has changed since the record was made"
        plan = planned(case, question)
        now = [] if isinstance(plan, str) else [search.identity for search in plan]
        if (now[: len(searches)] if is_ended else now) != [search.identity for search in searches]:
            return "the searches for this question have changed since the record was made"
        return ""


_FIELDS_OF_SEARCH = """
    model protocol configuration says asked=prop bound=depth initial is_permitted choices is_witness
"""
_FIELDS_OF_RESULT = """
    property=prop word depth judged is_exhausted states stopped day seconds start steps loop
"""


def _names(text: str) -> dict[str, str]:
    return {name: field or name for name, _, field in (word.partition("=") for word in text.split())}


_OF_SEARCH, _OF_RESULT = _names(_FIELDS_OF_SEARCH), _names(_FIELDS_OF_RESULT)
"""The names in the record, in their order, each with the field of a `Search` or a `Result` that it stands for."""


def search_of_record(content: Mapping[str, Any], case: Case | None = None) -> Search:
    """Make a search from its object in the record; with a `case`, name the rule that applies its result to the case."""
    fields = {field: content[name] for name, field in _OF_SEARCH.items() if name in content}
    if case is not None and "replicas" in content:
        least = int(pairs(content["configuration"]).get("min_insync_replicas", LEAST))
        rule, says = instead_of(case, content["replicas"], least)
        fields |= {"rule": rule, "says": content["says"] + says}
    return Search(**fields)


def result_of(content: Mapping[str, Any]) -> Result:
    """Make the result of a recorded search from its object in the record."""
    fields = {field: content[name] for name, field in _OF_RESULT.items() if name in content}
    of_types = {"word": Word(content["word"]), "steps": tuple(content.get("steps", ()))}
    return Result(**{"depth": None, "is_exhausted": False} | fields | of_types)


def written(search: Search, result: Result) -> dict[str, Any]:
    """Return the record's object for a search and its result; fields that are absent or false are left out."""
    replicas = dict(search.instance.configuration.items()).get("replicas")
    says = search.says.rpartition(", with ")[0] if search.rule else search.says
    fields: dict[str, Any] = {}
    for name, field in _OF_SEARCH.items():
        fields[name] = getattr(search, field)
        if name == "says":
            fields |= {"says": says, "replicas": replicas}
    fields |= {name: getattr(result, field) for name, field in _OF_RESULT.items()}
    fields |= {"word": result.word.value, "steps": list(result.steps)}
    of_failure = ("start", "steps", "loop")
    return {
        name: value
        for name, value in fields.items()
        if value is not None and value is not False and (result.word in FAILS or name not in of_failure)
    }


# --- The file ---


class Record:
    """The record of the atlas in a file. Raises OSError if the file is missing, and ValueError if a line is damaged."""

    def __init__(self, path: Path = RECORD) -> None:
        self._lines = path.read_text(encoding="utf-8").splitlines()
        self.header: Mapping[str, Any] = json.loads(self._lines[0])
        self._first_search = 1 + int(self.header["groups"])

    def searches(self, group: str, settings: str) -> Sequence[Mapping[str, Any]] | str | None:
        """The searches that answer a question with these settings, in their order, or the reason why no model can
        answer the question; None if no answer is recorded. `group` and `settings` are the two texts of `key_of`: the
        question with the values that belong to a release, and the values of the other settings."""
        line = self._group_lines.get(group)
        if line is None:
            return None
        numbers = json.loads(line)["cells"].get(settings)
        if numbers is None or isinstance(numbers, str):
            return numbers
        return [json.loads(self._lines[self._first_search + number]) for number in numbers]

    @cached_property
    def _group_lines(self) -> Mapping[str, str]:
        # A group line begins with its name, so that the others need not be decoded.
        decode, begin = json.JSONDecoder().raw_decode, '{"group": '
        return {decode(line, len(begin))[0]: line for line in self._lines[1 : self._first_search]}

    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        """Every group (a question with the values of a release) by its name: an object with `settings` and `cells`."""
        return {name: json.loads(line) for name, line in self._group_lines.items()}

    def every_search(self) -> Sequence[Mapping[str, Any]]:
        """Every recorded search, in the order of the numbers by which `cells` refer to searches."""
        return [json.loads(line) for line in self._lines[self._first_search :]]
