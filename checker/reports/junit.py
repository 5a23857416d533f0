"""junit.xml: a suite for each search, with a test for each of its properties and one for the search itself.

In:  a `ReportContent` (content.py).
Out: the text of the file, in the format of Ant's schema, which Jenkins and GitLab read.

A VIOLATED property is a failure, with its trace as the text. An UNDECIDED property, or a property whose requested proof
failed, is an error. A property that is PERMITTED, not applicable or not reached, or that fails as recorded in the
matrix, is skipped with its verdict as the message: it neither breaks a build nor looks as if it had passed. If `check`
exits with 0, no test fails; otherwise at least one test fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isrcheck.checker.reports.content import UNFINISHED, Outcome, PropertyResult, ReportContent, SearchReport
from isrcheck.checker.results.run import search_summary
from isrcheck.traces.drawing.markup import Element, append, as_xml, element
from isrcheck.traces.terminal.show import view

ITSELF = "the search itself"
KINDS = {Outcome.FAILED: "failure", Outcome.ERROR: "error", Outcome.SKIPPED: "skipped"}


@dataclass(frozen=True)
class _Test:
    name: str
    outcome: Outcome
    message: str
    text: str = ""
    seconds: float = 0.0


def junit(report: ReportContent, when: str) -> str:
    """Return the text of junit.xml; `when` is the time of writing (UTC) in ISO 8601, without a time zone."""
    suites: list[tuple[str, list[_Test], SearchReport | None]] = [
        (search.title, _tests(search), search) for search in report.searches
    ]
    if report.other_reason or not report.searches:
        outcome = Outcome.ERROR if report.other_reason else Outcome.PASSED
        suites.append(("check", [_Test("exit code", outcome, report.other_reason or UNFINISHED)], None))
    root = element("testsuites")
    for number, (name, tests, search) in enumerate(suites):
        append(root, _suite(number, name, tests, search, report, when))
    return as_xml(root)


def _tests(search: SearchReport) -> list[_Test]:
    seconds = search.run.exploration.seconds if search.run is not None else 0.0
    itself = _Test(ITSELF, search.outcome, search.says, seconds=seconds)
    return [*(_test(one) for one in search.judged), itself]


def _test(judged: PropertyResult) -> _Test:
    message = judged.verdict.text
    if judged.is_recorded:
        message += ", as recorded"
    elif judged.mark:
        message += f": {judged.mark}"
    traces = ["\n".join([*view(one.trace), "", f"trace: traces/{one.path.name}"]) for one in judged.traces]
    return _Test(judged.verdict.prop.name, judged.outcome, message, "\n\n".join(traces))


def _suite(
    number: int, name: str, tests: Sequence[_Test], search: SearchReport | None, report: ReportContent, when: str
) -> Element:
    run = search.run if search is not None else None
    facts = {"command": report.command, "exit code": f"{report.code}: {report.means}"}
    if run is not None:
        facts["this search alone"] = run.command
        facts["bounds and settings"] = search_summary(run)[0]
    counts = {kind: sum(test.outcome is outcome for test in tests) for outcome, kind in KINDS.items()}
    return element(
        "testsuite",
        element("properties", *(element("property", name=key, value=value) for key, value in facts.items())),
        *(_case(name, test) for test in tests),
        element("system-out", report.text if number == 0 else ""),
        element("system-err", report.failure if number == 0 else ""),
        name=name,
        package="isrcheck",
        id=number,
        tests=len(tests),
        failures=counts["failure"],
        errors=counts["error"],
        skipped=counts["skipped"],
        time=f"{sum(test.seconds for test in tests):.3f}",
        timestamp=when,
        hostname="localhost",
    )


def _case(suite: str, test: _Test) -> Element:
    made = element("testcase", name=test.name, classname=f"isrcheck.{suite}", time=f"{test.seconds:.3f}")
    if test.outcome in KINDS:
        text = test.text or test.message
        attributes = {} if test.outcome is Outcome.SKIPPED else {"type": test.outcome.value}
        append(made, element(KINDS[test.outcome], text, message=test.message, **attributes))
    return made
