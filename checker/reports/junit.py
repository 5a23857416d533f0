"""junit.xml: one suite for each search, one test for each of its properties, and one for the search itself.

In:  a `Told` (told.py). Out: the text of the file, in the form that Ant's schema describes and Jenkins and GitLab read.

VIOLATED fails, with the history as its text. UNDECIDED, and what was to be proved and is not, is an error. What is
PERMITTED, says nothing here, was not reached so far, or fails as the record of the matrix says it should, is skipped
with its verdict as the message: no build breaks of it, and it does not read as passed. Where `check` exits with 0
nothing fails; where it does not, something does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isrcheck.checker.reports.content import UNFINISHED, Judged, Outcome, Search, Told
from isrcheck.checker.session.text import asked_of
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


def junit(told: Told, when: str) -> str:
    """The file; `when` is the time at which it was written, without a zone."""
    suites: list[tuple[str, list[_Test], Search | None]] = [
        (search.title, _tests(search), search) for search in told.searches
    ]
    if told.beside or not told.searches:
        outcome = Outcome.ERROR if told.beside else Outcome.PASSED
        suites.append(("check", [_Test("exit code", outcome, told.beside or UNFINISHED)], None))
    root = element("testsuites")
    for number, (name, tests, search) in enumerate(suites):
        append(root, _suite(number, name, tests, search, told, when))
    return as_xml(root)


def _tests(search: Search) -> list[_Test]:
    seconds = search.run.exploration.seconds if search.run is not None else 0.0
    itself = _Test(ITSELF, search.outcome, search.says, seconds=seconds)
    return [*(_test(one) for one in search.judged), itself]


def _test(judged: Judged) -> _Test:
    message = judged.verdict.text
    if judged.is_recorded:
        message += ", as recorded"
    elif judged.mark:
        message += f": {judged.mark}"
    histories = ["\n".join([*view(one.trace), "", f"trace: traces/{one.path.name}"]) for one in judged.histories]
    return _Test(judged.verdict.prop.name, judged.outcome, message, "\n\n".join(histories))


def _suite(number: int, name: str, tests: Sequence[_Test], search: Search | None, told: Told, when: str) -> Element:
    run = search.run if search is not None else None
    facts = {"command": told.words, "exit code": f"{told.code}: {told.means}"}
    if run is not None:
        facts["this search alone"] = run.command
        facts["bounds and settings"] = asked_of(run)[0]
    counts = {kind: sum(test.outcome is outcome for test in tests) for outcome, kind in KINDS.items()}
    return element(
        "testsuite",
        element("properties", *(element("property", name=key, value=value) for key, value in facts.items())),
        *(_case(name, test) for test in tests),
        element("system-out", told.text if number == 0 else ""),
        element("system-err", told.failure if number == 0 else ""),
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
