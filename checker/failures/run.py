"""`check failures`: searches for known failures, and compares the results with the library's records.

In:  `Options`: names, numbers, KIPs or JIRA issues of failures (all if none are given), and a release; a session.
Out: a `CommandResult`; trace files; with --page, a page for each failure; on stderr, the failure now searched for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from isrcheck.checker.cluster.releases import version_of_binaries
from isrcheck.checker.command.options import Options
from isrcheck.checker.failures import pages
from isrcheck.checker.failures.searched import Searched, events, history_of, outcome, search
from isrcheck.checker.results.run import CommandResult
from isrcheck.checker.results.terminal import ProgressLine, counted, table, wrapped
from isrcheck.checker.results.verdict import Word
from isrcheck.checker.running.comparing import Comparison, search_rows
from isrcheck.checker.running.session import SearchSession
from isrcheck.checker.running.trace_writer import TraceWriter
from isrcheck.commands.exit_codes import SAFE, UNDECIDED
from isrcheck.models.kafka.failures.catalogue import NO_RELEASE, Failure, failures, refusal
from isrcheck.models.messages import UsageError

WIDTH = 100

TOLD = ("number", "name", "title", "known_as", "since", "repaired", "story", "advice", "why_not")
"""The fields of a `Failure` that the object of --json contains."""

FailureComparison = Comparison[Failure, Searched]


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search for the chosen failures. Raises UsageError for an unknown failure, or if a page cannot be written."""
    folder, wanted = options.own["page"], chosen(options)
    if folder is not None:
        pages.begin(folder)
    progress, writers = ProgressLine("failures"), list[TraceWriter]()

    def search_one(failure: Failure) -> Searched:
        if len(wanted) > 1 and failure.history is not None:
            progress.announce(f"{failure.number} {failure.name}, {wanted.index(failure) + 1} of {len(wanted)}")
        writers.append(TraceWriter(options.output.folder))
        return search(failure, session, options.limits, writers[-1])

    comparison = search_rows(wanted, search_one)
    if folder is not None:
        pages.write(folder, [searched for _, searched in comparison.answers])
    return CommandResult(
        text(comparison, is_detailed=bool(options.model.target)),
        as_object(comparison),
        comparison.code(),
        next((traces.failure for traces in writers if traces.failure), ""),
        comparison.is_interrupted,
    )


def chosen(options: Options) -> list[Failure]:
    """Return the failures that the arguments name (all if they name none); if a release is given, only those that it
    has. Raises UsageError for an unknown name or release, or if the release has none of the named failures."""
    words = [word for word in (options.model.target, *options.model.rest) if word is not None]
    named = list(failures())
    for word in words:
        if word.startswith("-"):
            raise UsageError(f"{word.partition('=')[0]} is no option of check failures; see check failures --help")
        if not any(failure.is_called(word) for failure in named):
            raise UsageError(refusal(word))
    if words:
        named = [one for one in named if any(one.is_called(word) for word in words)]
    if options.cluster.kafka_version is None:
        return named
    try:
        version = version_of_binaries(options.cluster.kafka_version)
    except ValueError as error:
        raise UsageError(f"--kafka-version: {error}") from None
    had = [one for one in named if one.since != NO_RELEASE and version.is_affected(one.since, one.repaired)]
    if words and not had:
        raise UsageError(
            f"Kafka {options.cluster.kafka_version} does not have the failure {' or '.join(words)};"
            " leave --kafka-version out"
        )
    return had


# ------------------------------------------------------------------------------------------------------ text and object


def text(comparison: FailureComparison, *, is_detailed: bool) -> str:
    """Return the text on all searched failures: a table or, with `is_detailed`, all lines about each failure."""
    failures = [searched for _, searched in comparison.answers]
    lines = [line for searched in failures for line in detail(searched)] if is_detailed else overview(failures)
    different = [
        f"{searched.failure.number} {searched.failure.name}: {what}"
        for searched in failures
        for what in searched.differs
    ]
    return "\n".join([*lines, *different, "", closing(comparison)])


def overview(failures: Sequence[Searched]) -> list[str]:
    """Return a table with a line for each failure."""
    rows = [["", "failure", "releases", "shortest history", "gone with"]]
    rows += [
        [
            searched.failure.number,
            searched.failure.name,
            searched.failure.releases,
            history_of(searched),
            ", ".join(counted(count, kind) for kind, count in _ends(searched).items()) or "-",
        ]
        for searched in failures
    ]
    return table(rows)


def detail(searched: Searched) -> Iterator[str]:
    """Yield all lines about one failure."""
    failure = searched.failure
    yield f"{failure.number}  {failure.title}"
    yield f"      {failure.name}" + "".join(f", {name}" for name in failure.known_as)
    yield f"      releases: {failure.releases}"
    yield ""
    yield from _paragraph(failure.story)
    yield ""
    if failure.history is None:
        yield from _paragraph(f"Not searched: {failure.why_not}")
    else:
        yield f"  shortest history: {history_of(searched)}"
        if searched.happens is not None:
            yield f"  needs: {events(searched.happens)}"
        if searched.run is not None:
            yield f"  {searched.run.command}"
            for path in searched.run.traces.values():
                yield f"  {searched.run.show(path)}"
        for ended in searched.ended:
            says = "still fails" if ended.fails else "gone"
            yield f"  {says} with the {ended.change.kind.value}: {ended.change.what}"
            yield f"      {ended.change.change}: {outcome(ended)}"
    yield ""
    yield from _paragraph(f"What to do: {failure.advice}")
    yield ""


def closing(comparison: FailureComparison) -> str:
    """Return the last line: whether the results are as the library records, and the numbers of failures and changes."""
    expressed = [searched for _, searched in comparison.answers if searched.failure.history is not None]
    code, missing = comparison.code(), len(comparison.unanswered)
    changes = sum(len(searched.ended) for searched in expressed)
    counts = (
        f"{counted(len(expressed), 'failure')} searched with {counted(changes, 'change')} that end them,"
        f" {len(comparison.answers) - len(expressed)} not expressed"
    )
    if code == SAFE:
        return f"as recorded: {counts}"
    if code == UNDECIDED:
        return f"UNDECIDED: a limit ended the search; {counts}" + (f"; {missing} not begun" if missing else "")
    return f"NOT AS RECORDED: {counted(len(comparison.differing()), 'failure')}; {counts}"


def as_object(comparison: FailureComparison) -> dict[str, Any]:
    """Return the object of --json, which docs/json.md describes."""
    return {
        "failures": [_object(searched) for _, searched in comparison.answers],
        "missing": len(comparison.unanswered),
        "verdict": comparison.verdict(),
    }


def _object(searched: Searched) -> dict[str, Any]:
    failure, history = searched.failure, searched.failure.history
    content: dict[str, Any] = {name: getattr(failure, name) for name in TOLD}
    search = None
    if history is not None and searched.run is not None:
        search = {
            "property": history.property_name,
            "verdict": Word.UNDECIDED.value
            if searched.is_undecided
            else searched.trace.verdict
            if searched.trace
            else None,
            "depth": searched.trace.length if searched.trace else None,
            "needs": dict(searched.happens or {}),
            "command": searched.run.command,
            "traces": [str(path) for path in searched.run.traces.values()],
            "changes": [
                {
                    "kind": ended.change.kind.value,
                    "what": ended.change.what,
                    "change": ended.change.change,
                    "verdict": ended.verdict.word.value,
                    "states": ended.run.explored.distinct,
                    "exhausted": ended.run.explored.exhausted,
                    "command": ended.run.command,
                }
                for ended in searched.ended
            ],
        }
    return content | {"differs": searched.differs, "search": search}


def _ends(searched: Searched) -> Counter[str]:
    return Counter(ended.change.kind.value for ended in searched.ended if not ended.fails)


def _paragraph(text: str) -> list[str]:
    return wrapped(text, WIDTH, "  ", "  ")
