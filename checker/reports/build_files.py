"""The files of a report for build servers and test runners: junit.xml, results.sarif, test_regressions.py.

junit.xml has a suite for each search, with a test for each of its properties and one for the search itself, in the
format of Ant's schema, which Jenkins and GitLab read. A VIOLATED property is a failure; its text shows the trace. An
UNDECIDED property, or a property whose requested proof failed, is an error. A property that is PERMITTED, not
applicable or not reached, or that fails as recorded in the matrix, is a skipped test with the verdict as its message:
the test neither breaks a build nor looks as if it had passed. If `check` exits with 0, no test fails; otherwise at
least one test fails.

results.sarif has a result for each property that fails or is undecided, in SARIF 2.1.0. The location of a result is the
property's function; the code flow of a result visits the functions of the actions that lead to the failure. VIOLATED
has the level error, PERMITTED has the level note, and UNDECIDED has the kind open. A failure that is recorded in
models/verdicts.toml is suppressed, with the record as justification. A property that holds has no result.

test_regressions.py has a pytest test for each violation. The test fails while the model allows the counterexample, and
passes when the repaired model excludes the counterexample. For the matrix, the test of a failure that is recorded in
models/verdicts.toml passes while the failure is possible. The file has names from models only as string literals.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
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
from isrcheck.checker.results.run import search_summary
from isrcheck.checker.results.verdict import Word
from isrcheck.commands.exit_codes import DEADLOCKED, SAFE, STUCK, UNEXPECTED, VIOLATED
from isrcheck.commands.program import version
from isrcheck.models.language.model import DEADLOCK, Instance, Model, Property
from isrcheck.models.language.reading.reader import Function
from isrcheck.traces.format.files import configuration_digest, is_built_in
from isrcheck.traces.format.trace import label
from isrcheck.traces.lanes.generic_lanes import rows, titles
from isrcheck.traces.pages.markup import Element, as_xml, clean, element
from isrcheck.traces.terminal.show import last_row, view

# ------------------------------------------------------------------------------------------------------------ junit.xml

ITSELF = "the search itself"
TAGS = {Outcome.FAILED: "failure", Outcome.ERROR: "error", Outcome.SKIPPED: "skipped"}


def junit(report: ReportContent, when: str) -> str:
    """Return the text of junit.xml; `when` is the time of writing (UTC) in ISO 8601, without a time zone."""
    suites = [_suite(number, search, report, when) for number, search in enumerate(report.searches)]
    if report.other_reason or not suites:
        outcome = Outcome.ERROR if report.other_reason else Outcome.PASSED
        case = _case("check", "exit code", outcome, report.other_reason or UNFINISHED)
        suites.append(_suite_of(len(suites), "check", [case], report, when, {}, 0.0))
    return as_xml(element("testsuites", *suites))


def _suite(number: int, search: SearchReport, report: ReportContent, when: str) -> Element:
    cases, run = [], search.run
    for judged in search.judged:
        message = judged.verdict.text
        if judged.is_recorded:
            message += ", as recorded"
        elif judged.mark:
            message += f": {judged.mark}"
        traces = ["\n".join([*view(file.trace), "", f"trace: traces/{file.path.name}"]) for file in judged.traces]
        cases.append(_case(search.title, judged.verdict.prop.name, judged.outcome, message, "\n\n".join(traces)))
    seconds = 0.0 if run is None else run.exploration.seconds
    cases.append(_case(search.title, ITSELF, search.outcome, search.says, seconds=seconds))
    facts = {} if run is None else {"this search alone": run.command, "bounds and settings": search_summary(run)[0]}
    return _suite_of(number, search.title, cases, report, when, facts, seconds)


def _suite_of(
    number: int,
    name: str,
    cases: Sequence[Element],
    report: ReportContent,
    when: str,
    facts_of_search: Mapping[str, str],
    seconds: float,
) -> Element:
    facts = {"command": report.command, "exit code": f"{report.code}: {report.means}", **facts_of_search}
    failures, errors, skipped = (sum(case.find(tag) is not None for case in cases) for tag in TAGS.values())
    return element(
        "testsuite",
        element("properties", *(element("property", name=key, value=value) for key, value in facts.items())),
        *cases,
        element("system-out", report.text if number == 0 else ""),
        element("system-err", report.failure if number == 0 else ""),
        name=name,
        package="isrcheck",
        id=number,
        tests=len(cases),
        failures=failures,
        errors=errors,
        skipped=skipped,
        time=f"{seconds:.3f}",
        timestamp=when,
        hostname="localhost",
    )


def _case(suite: str, name: str, outcome: Outcome, message: str, text: str = "", seconds: float = 0.0) -> Element:
    result = None
    if outcome in TAGS:
        kind = None if outcome is Outcome.SKIPPED else outcome.value
        result = element(TAGS[outcome], text or message, message=message, type=kind)
    return element("testcase", result, name=name, classname=f"isrcheck.{suite}", time=f"{seconds:.3f}")


# -------------------------------------------------------------------------------------------------------- results.sarif

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
OURS, HERE = "ISRCHECK", "SRCROOT"
"""The names of the base folders of paths: isrcheck's installation, and the current folder of the command."""

ANSWERED = (SAFE, UNEXPECTED, DEADLOCKED, VIOLATED, STUCK)
"""The exit codes of a command that finished, with or without failures."""

FOUND = (Word.VIOLATED, Word.UNREACHABLE, Word.PERMITTED, Word.UNDECIDED)
"""The verdicts that are always reported as results."""


def sarif(report: ReportContent) -> str:
    """Return the text of results.sarif."""
    rules: dict[str, dict[str, Any]] = {}
    results = []
    for search in report.searches:
        assert search.model is not None or not search.judged
        for judged in search.judged:
            name = f"{search.model.name}/{judged.verdict.prop.name}" if search.model is not None else ""
            rules.setdefault(name, _rule(name, judged))
            if judged.outcome in (Outcome.FAILED, Outcome.ERROR) or judged.verdict.word in FOUND:
                results.append(_result(search, judged, name, list(rules).index(name), report))
    run = {
        "tool": {"driver": {"name": "isrcheck", "version": version(), "rules": list(rules.values())}},
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
        return {clean(key): _cleaned(content) for key, content in value.items()}
    return [_cleaned(content) for content in value] if isinstance(value, list) else value


def _invocation(report: ReportContent) -> dict[str, Any]:
    errors = [error for error in (report.failure, report.other_reason, "" if report.text else UNFINISHED) if error]
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
    is_expected = judged.is_recorded and judged.outcome is Outcome.SKIPPED
    recorded = {"kind": "external", "status": "accepted", "justification": "recorded in models/verdicts.toml"}
    return {
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
            "traces": [f"traces/{file.path.name}" for file in traces],
        },
        **({"codeFlows": [_flow(file) for file in traces]} if traces else {}),
        **({"suppressions": [recorded]} if is_expected else {}),
    }


def _function_of(prop: Property, instance: Instance, traces: Sequence[TraceFile]) -> Function | None:
    """Return the function that results.sarif gives as the location of a result: the property's function; for `in_range`
    the function that leaves a range; for `deadlock` a @terminal function, or None if the model has none."""
    error = traces[0].trace.error if traces else None
    if prop is DEADLOCK:
        return next(iter(instance.model.terminals), None)
    if error is None:
        return prop.function
    if error.step is not None:
        return instance.function(error.step.action_index)
    return next(prop.function for prop in (*instance.properties, DEADLOCK) if prop.name == error.property_name)


def _grade(judged: PropertyResult) -> tuple[str, str]:
    """Return the SARIF kind and level of a result; the level is "none" unless the result is a failure."""
    if judged.verdict.word in (Word.VIOLATED, Word.UNREACHABLE) or judged.outcome is Outcome.FAILED:
        return "fail", "error"
    if judged.verdict.word is Word.PERMITTED:
        return "fail", "note"
    return "open", "none"


def _fingerprint(instance: Instance, prop: Property, word: Word) -> str:
    """Return a fingerprint by which SARIF viewers recognize a result, even if line numbers and depths change."""
    content = [label(instance), configuration_digest(instance), prop.name, word.value]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def _flow(trace_file: TraceFile) -> dict[str, Any]:
    """Return the SARIF code flow of a trace: for each step, its action's function and the changed cells."""
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
    """Return the SARIF location of `function` (of the model's first line, if None), with the message `text`."""
    name, path, number = "", model.path, 1
    if isinstance(function, Function):
        name, path, number = function.name, function.path, function.line
    elif function is not None:
        name, path, number = function.__name__, function.__code__.co_filename, function.__code__.co_firstlineno
    return {
        "physicalLocation": {"artifactLocation": _artifact(Path(path)), "region": {"startLine": number}},
        **({"logicalLocations": [{"name": name, "kind": "function"}]} if name else {}),
        **({"message": {"text": text}} if text else {}),
    }


def _artifact(path: Path) -> dict[str, str]:
    """Return the SARIF form of a path: relative to the current folder or to isrcheck's folder, otherwise absolute."""
    whole = path.resolve()
    for base, folder in ((HERE, Path.cwd()), (OURS, Path(models.__file__).resolve().parents[1])):
        if whole.is_relative_to(folder):
            return {"uri": quote(os.fsencode(whole.relative_to(folder).as_posix())), "uriBaseId": base}
    return {"uri": whole.as_uri()}


# -------------------------------------------------------------------------------------------------- test_regressions.py

HEAD = '''\
"""A test for each counterexample that isrcheck has found.

A test fails while the model allows its counterexample, and passes when the model excludes the counterexample. Repair
the model, see the test pass, and keep the test: it fails again if the counterexample becomes possible again.
"""

from pathlib import Path

import isrcheck
import pytest

FOLDER = Path(__file__).resolve().parent

IMPOSSIBLE, POSSIBLE = "impossible", "possible"

WANTED = IMPOSSIBLE
# For known failures that are intended: WANTED = POSSIBLE. A test then fails when its counterexample is impossible.

COMMAND = {command}
# The command that found the counterexamples.

COUNTEREXAMPLES = [
    # The trace file, your own model file (None for a built-in model; the test executes the file), the wanted outcome.
'''

TAIL = """\
]


@pytest.mark.parametrize(("trace", "model", "wanted"), COUNTEREXAMPLES, ids=[one[0] for one in COUNTEREXAMPLES])
def test_counterexample(trace, model, wanted):
    again = isrcheck.recheck(FOLDER / "traces" / trace, None if model is None else FOLDER / model)
    assert (POSSIBLE if again.is_possible else IMPOSSIBLE) == wanted, again.says
"""


def regressions(report: ReportContent, folder: Path) -> str:
    """Return the text of test_regressions.py; `folder` is the folder of the report."""
    lines: dict[str, None] = {}
    for search in report.searches:
        for judged in search.judged:
            is_strict = judged.outcome is Outcome.FAILED and judged.verdict.word is Word.PERMITTED
            wanted = "POSSIBLE" if judged.is_recorded else "WANTED"
            for trace_file in judged.traces:
                if trace_file.trace.verdict == Word.VIOLATED.value or is_strict:
                    lines[f"    ({trace_file.path.name!a}, {_model(search, folder)!a}, {wanted}),\n"] = None
    return HEAD.format(command=ascii(report.command)) + "".join(lines) + TAIL


def _model(search: SearchReport, folder: Path) -> str | None:
    """Return the path of a user's own model file, relative to the report's folder; None for a built-in model."""
    assert search.model is not None
    if is_built_in(search.model):
        return None
    path = Path(search.model.path).resolve()
    try:
        return Path(os.path.relpath(path, folder.resolve())).as_posix()
    except ValueError:  # the file is on another drive
        return str(path)
