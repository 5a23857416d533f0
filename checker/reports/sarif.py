"""results.sarif: a finding for each property that fails or is left open, in the form of SARIF 2.1.0.

In:  a `Told` (told.py). Out: the text of the file.

A finding points at the property's function, and its code flow goes through the functions of the actions that lead
there. VIOLATED is an error, PERMITTED a note, UNDECIDED is open, as SARIF calls it; what fails as the record of the
matrix says it should is suppressed with that reason. What holds has no finding.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from isrcheck import models
from isrcheck.checker.kafka_config.answer import first_sentence
from isrcheck.checker.outcome.verdict import SAFE, UNEXPECTED, VIOLATED, Word
from isrcheck.checker.reports.content import UNFINISHED, History, Judged, Outcome, Search, Told
from isrcheck.models.language.model import Instance, Model, Property
from isrcheck.models.language.syntax import Function
from isrcheck.models.version import version
from isrcheck.traces.drawing.markup import clean
from isrcheck.traces.format.itf import configuration_digest, label
from isrcheck.traces.lanes.generic_lanes import rows, titles
from isrcheck.traces.terminal.show import erring_row, view

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
OURS, HERE = "ISRCHECK", "SRCROOT"
"""The folders that paths start from: where isrcheck is installed, and where the command was given."""

ANSWERED = (SAFE, UNEXPECTED, VIOLATED)
"""Exit codes of a check that came to its end, whatever it found."""

FOUND = (Word.VIOLATED, Word.UNREACHABLE, Word.PERMITTED, Word.UNDECIDED)
"""Verdicts that are findings, however they count."""


def sarif(told: Told) -> str:
    """The file."""
    ids: dict[str, int] = {}
    rules: list[dict[str, Any]] = []
    results = []
    for search in told.searches:
        assert search.model is not None or not search.judged
        for judged in search.judged:
            name = _rule_id(search.model, judged.verdict.prop) if search.model is not None else ""
            if name not in ids:
                ids[name] = len(rules)
                rules.append(_rule(name, judged))
            if _is_finding(judged):
                results.append(_result(search, judged, name, ids[name], told))
    run = {
        "tool": {"driver": {"name": "isrcheck", "version": version(), "rules": rules}},
        "invocations": [_invocation(told)],
        "originalUriBaseIds": {
            OURS: {"description": {"text": "The folder in which isrcheck is installed, or checked out."}},
            HERE: {"description": {"text": "The folder in which the command was given."}},
        },
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    content = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(_cleaned(content), indent=1, ensure_ascii=False) + "\n"


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _cleaned(one) for key, one in value.items()}
    return [_cleaned(one) for one in value] if isinstance(value, list) else value


def _invocation(told: Told) -> dict[str, Any]:
    errors = [one for one in (told.failure, told.beside, "" if told.text else UNFINISHED) if one]
    errors += [
        f"{search.title}: {search.says or Word.UNDECIDED.value}"
        for search in told.searches
        if search.outcome in (Outcome.ERROR, Outcome.FAILED)
    ]
    return {
        "commandLine": told.words,
        "exitCode": told.code,
        "exitCodeDescription": told.means,
        "executionSuccessful": told.code in ANSWERED,
        "toolExecutionNotifications": [{"level": "error", "message": {"text": text}} for text in dict.fromkeys(errors)],
    }


# -------------------------------------------------------------------------------------------------------------- rules


def _rule_id(model: Model, prop: Property) -> str:
    return f"{model.name}/{prop.name}"


def _rule(name: str, judged: Judged) -> dict[str, Any]:
    prop = judged.verdict.prop
    says = first_sentence(judged.verdict) or prop.name
    return {
        "id": name,
        "shortDescription": {"text": says},
        "fullDescription": {"text": " ".join(prop.function.documentation.split()) or prop.name},
        "defaultConfiguration": {"level": "error"},
        "properties": {"kind": prop.kind.value},
    }


# ------------------------------------------------------------------------------------------------------------ findings


def _is_finding(judged: Judged) -> bool:
    return judged.outcome in (Outcome.FAILED, Outcome.ERROR) or judged.verdict.word in FOUND


def _result(search: Search, judged: Judged, name: str, index: int, told: Told) -> dict[str, Any]:
    assert search.instance is not None
    verdict, instance = judged.verdict, search.instance
    kind, level = _grade(judged)
    text = f"{search.title}: {verdict.prop.name}: {verdict.text}" + (f" ({judged.mark})" if judged.mark else "")
    histories = judged.histories
    if histories:
        text += "\n\n" + "\n".join(view(histories[0].trace))
    found: dict[str, Any] = {
        "ruleId": name,
        "ruleIndex": index,
        "kind": kind,
        "level": level,
        "message": {"text": text},
        "locations": [_location(instance.model, _function_of(verdict.prop, instance, histories))],
        "partialFingerprints": {"isrcheck/v1": _fingerprint(instance, verdict.prop, verdict.word)},
        "properties": {
            "verdict": verdict.word.value,
            "depth": verdict.depth,
            "command": search.run.command if search.run is not None else told.words,
            "traces": [f"traces/{one.path.name}" for one in histories],
        },
    }
    if histories:
        found["codeFlows"] = [_flow(one) for one in histories]
    if judged.is_recorded and judged.outcome is Outcome.SKIPPED:
        found["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": "recorded in models/verdicts.toml"}
        ]
    return found


def _function_of(prop: Property, instance: Instance, histories: Sequence[History]) -> Function | None:
    """The function that a finding is about: of `in_range`, the one that leaves the declaration."""
    error = histories[0].trace.error if histories else None
    if error is None:
        return prop.function
    if error.step is not None:
        return instance.function(error.step.action_index)
    return next(one.function for one in instance.properties if one.name == error.property_name)


def _grade(judged: Judged) -> tuple[str, str]:
    """The kind and the level of a finding: only what fails has a level."""
    if judged.verdict.word in (Word.VIOLATED, Word.UNREACHABLE) or judged.outcome is Outcome.FAILED:
        return "fail", "error"
    if judged.verdict.word is Word.PERMITTED:
        return "fail", "note"
    return "open", "none"


def _fingerprint(instance: Instance, prop: Property, word: Word) -> str:
    """What stays the same when lines move and depths change."""
    content = [label(instance), configuration_digest(instance), prop.name, word.value]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def _flow(history: History) -> dict[str, Any]:
    """The steps of a history, each at the function of its action, with what it changed."""
    trace = history.trace
    instance, columns = trace.instance, titles(trace.instance)
    locations = []
    for row in (*rows(trace), *erring_row(trace, columns)):
        function = instance.function(trace.every_step[row.number - 1].action_index) if row.number else None
        text = f"{row.number} {row.step}"
        changed = {title: {"text": "\n".join(cell)} for title, cell in zip(columns, row.cells, strict=True) if cell}
        locations.append(
            {
                "location": _location(instance.model, function or instance.model.start, text),
                "executionOrder": row.number + 1,
                "importance": "essential",
                **({"state": changed} if changed else {}),
            }
        )
    says = f"{trace.property_name}: {trace.verdict} at step {trace.length}"
    return {"message": {"text": says}, "threadFlows": [{"locations": locations}]}


def _location(model: Model, function: Function | Callable[..., Any] | None, text: str = "") -> dict[str, Any]:
    """Where a function stands; of a model without one for its initial states, where the model begins."""
    name, path, number = "", model.path, 1
    if isinstance(function, Function):
        name, path, number = function.name, function.path, function.line
    elif function is not None:
        name, path, number = function.__name__, function.__code__.co_filename, function.__code__.co_firstlineno
    found: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": _artifact(Path(path)), "region": {"startLine": number}}
    }
    if name:
        found["logicalLocations"] = [{"name": name, "kind": "function"}]
    return found | ({"message": {"text": text}} if text else {})


def _artifact(path: Path) -> dict[str, str]:
    """A file by its path below the current folder, or below the one of isrcheck; any other one by its whole path."""
    whole = path.resolve()
    for base, folder in ((HERE, Path.cwd()), (OURS, Path(models.__file__).resolve().parents[1])):
        if whole.is_relative_to(folder):
            return {"uri": quote(os.fsencode(whole.relative_to(folder).as_posix())), "uriBaseId": base}
    return {"uri": whole.as_uri()}
