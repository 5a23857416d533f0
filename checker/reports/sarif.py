"""results.sarif: a result for each property that fails or is undecided, in SARIF 2.1.0.

In:  a `ReportContent` (content.py). Out: the text of the file.

The location of a result is the property's function; its code flow visits the functions of the actions that lead to the
failure. VIOLATED has the level error, PERMITTED the level note, and UNDECIDED the kind open. A failure that is recorded
in models/verdicts.toml is suppressed, with the record as justification. A property that holds has no result.
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
from isrcheck.checker.reports.content import (
    UNFINISHED,
    Outcome,
    PropertyResult,
    ReportContent,
    SearchReport,
    TraceFile,
    first_sentence,
)
from isrcheck.checker.results.exit_codes import DEADLOCKED, SAFE, STUCK, UNEXPECTED, VIOLATED
from isrcheck.checker.results.verdict import Word
from isrcheck.commands.program import version
from isrcheck.models.language.model import DEADLOCK, Instance, Model, Property
from isrcheck.models.language.reading.reader import Function
from isrcheck.traces.drawing.markup import clean
from isrcheck.traces.format.files import configuration_digest
from isrcheck.traces.format.trace import label
from isrcheck.traces.lanes.generic_lanes import rows, titles
from isrcheck.traces.terminal.show import last_row, view

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
OURS, HERE = "ISRCHECK", "SRCROOT"
"""The names of the base folders of paths: isrcheck's installation, and the current folder of the command."""

ANSWERED = (SAFE, UNEXPECTED, DEADLOCKED, VIOLATED, STUCK)
"""The exit codes of a command that finished, with or without failures."""

FOUND = (Word.VIOLATED, Word.UNREACHABLE, Word.PERMITTED, Word.UNDECIDED)
"""The verdicts that are always reported as results."""


def sarif(report: ReportContent) -> str:
    """Return the text of results.sarif."""
    ids: dict[str, int] = {}
    rules: list[dict[str, Any]] = []
    results = []
    for search in report.searches:
        assert search.model is not None or not search.judged
        for judged in search.judged:
            name = _rule_id(search.model, judged.verdict.prop) if search.model is not None else ""
            if name not in ids:
                ids[name] = len(rules)
                rules.append(_rule(name, judged))
            if _is_finding(judged):
                results.append(_result(search, judged, name, ids[name], report))
    run = {
        "tool": {"driver": {"name": "isrcheck", "version": version(), "rules": rules}},
        "invocations": [_invocation(report)],
        "originalUriBaseIds": {
            OURS: {"description": {"text": "The folder in which isrcheck is installed or checked out."}},
            HERE: {"description": {"text": "The current folder of the command."}},
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


def _invocation(report: ReportContent) -> dict[str, Any]:
    errors = [one for one in (report.failure, report.other_reason, "" if report.text else UNFINISHED) if one]
    errors += [
        f"{search.title}: {search.says or Word.UNDECIDED.value}"
        for search in report.searches
        if search.outcome in (Outcome.ERROR, Outcome.FAILED)
    ]
    return {
        "commandLine": report.command,
        "exitCode": report.code,
        "exitCodeDescription": report.means,
        "executionSuccessful": report.code in ANSWERED,
        "toolExecutionNotifications": [{"level": "error", "message": {"text": text}} for text in dict.fromkeys(errors)],
    }


# -------------------------------------------------------------------------------------------------------------- rules


def _rule_id(model: Model, prop: Property) -> str:
    return f"{model.name}/{prop.name}"


def _rule(name: str, judged: PropertyResult) -> dict[str, Any]:
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


def _is_finding(judged: PropertyResult) -> bool:
    return judged.outcome in (Outcome.FAILED, Outcome.ERROR) or judged.verdict.word in FOUND


def _result(
    search: SearchReport, judged: PropertyResult, name: str, index: int, report: ReportContent
) -> dict[str, Any]:
    assert search.instance is not None
    verdict, instance = judged.verdict, search.instance
    kind, level = _grade(judged)
    text = f"{search.title}: {verdict.prop.name}: {verdict.text}" + (f" ({judged.mark})" if judged.mark else "")
    traces = judged.traces
    if traces:
        text += "\n\n" + "\n".join(view(traces[0].trace))
    found: dict[str, Any] = {
        "ruleId": name,
        "ruleIndex": index,
        "kind": kind,
        "level": level,
        "message": {"text": text},
        "locations": [_location(instance.model, _function_of(verdict.prop, instance, traces))],
        "partialFingerprints": {"isrcheck/v1": _fingerprint(instance, verdict.prop, verdict.word)},
        "properties": {
            "verdict": verdict.word.value,
            "depth": verdict.depth,
            "command": search.run.command if search.run is not None else report.command,
            "traces": [f"traces/{one.path.name}" for one in traces],
        },
    }
    if traces:
        found["codeFlows"] = [_flow(one) for one in traces]
    if judged.is_recorded and judged.outcome is Outcome.SKIPPED:
        found["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": "recorded in models/verdicts.toml"}
        ]
    return found


def _function_of(prop: Property, instance: Instance, traces: Sequence[TraceFile]) -> Function | None:
    """Return the function that is the location of a result: for `in_range`, the one that leaves a range; for
    `deadlock`, the one that says where the model may end, if it has one."""
    error = traces[0].trace.error if traces else None
    if prop is DEADLOCK:
        return next(iter(instance.model.terminals), None)
    if error is None:
        return prop.function
    if error.step is not None:
        return instance.function(error.step.action_index)
    asked = (*instance.properties, DEADLOCK)
    return next(one.function for one in asked if one.name == error.property_name)


def _grade(judged: PropertyResult) -> tuple[str, str]:
    """Return the SARIF kind and level of a result; only a failure has a level."""
    if judged.verdict.word in (Word.VIOLATED, Word.UNREACHABLE) or judged.outcome is Outcome.FAILED:
        return "fail", "error"
    if judged.verdict.word is Word.PERMITTED:
        return "fail", "note"
    return "open", "none"


def _fingerprint(instance: Instance, prop: Property, word: Word) -> str:
    """Return a fingerprint of a result that does not depend on line numbers and depths."""
    content = [label(instance), configuration_digest(instance), prop.name, word.value]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def _flow(trace_file: TraceFile) -> dict[str, Any]:
    """Return the code flow of a trace: each step at the function of its action, with the cells that it changed."""
    trace = trace_file.trace
    instance, columns = trace.instance, titles(trace.instance)
    locations = []
    for place, row in enumerate((*rows(trace), *last_row(trace, columns))):
        # Without a number, the row says where a lasso goes on; that is what breaks the property.
        function = trace.prop.function if trace.prop is not None and row.number == "" else None
        if isinstance(row.number, int) and row.number:
            function = instance.function(trace.every_step[row.number - 1].action_index)
        text = f"{row.number} {row.step}".strip()
        changed = {title: {"text": "\n".join(cell)} for title, cell in zip(columns, row.cells, strict=True) if cell}
        locations.append(
            {
                "location": _location(instance.model, function or instance.model.start, text),
                "executionOrder": place + 1,
                "importance": "essential",
                **({"state": changed} if changed else {}),
            }
        )
    says = f"{trace.property_name}: {trace.verdict} at step {trace.length}"
    return {"message": {"text": says}, "threadFlows": [{"locations": locations}]}


def _location(model: Model, function: Function | Callable[..., Any] | None, text: str = "") -> dict[str, Any]:
    """Return the location of a function, or the first line of the model if there is no function."""
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
    """Return a file as a path relative to the current folder or to isrcheck's folder; otherwise as an absolute path."""
    whole = path.resolve()
    for base, folder in ((HERE, Path.cwd()), (OURS, Path(models.__file__).resolve().parents[1])):
        if whole.is_relative_to(folder):
            return {"uri": quote(os.fsencode(whole.relative_to(folder).as_posix())), "uriBaseId": base}
    return {"uri": whole.as_uri()}
