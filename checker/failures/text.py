"""What `check failures` prints: a line for each failure, or all that is known of some; and the object of --json.

In:  searched failures.
Out: text; the object, which docs/json.md describes.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from isrcheck.checker.failures.events import events
from isrcheck.checker.failures.found import Searched
from isrcheck.checker.failures.words import history_of, outcome
from isrcheck.checker.outcome.verdict import Word
from isrcheck.checker.session.formatting import counted, table
from isrcheck.commands.exit_codes import SAFE, UNDECIDED
from isrcheck.models.kafka.failures.catalogue import ChangeKind

WIDTH = 100


def text(found: Sequence[Searched], missing: int, code: int, *, is_detailed: bool) -> str:
    """Return the text of all failures that were searched; `missing` were not."""
    lines = [line for one in found for line in detail(one)] if is_detailed else overview(found)
    different = [f"{one.failure.number} {one.failure.name}: {what}" for one in found for what in one.differs]
    return "\n".join([*lines, *different, "", closing(found, missing, code)])


def overview(found: Sequence[Searched]) -> list[str]:
    """Return a line for each failure."""
    rows = [["", "failure", "releases", "shortest history", "gone with"]]
    rows += [
        [
            one.failure.number,
            one.failure.name,
            one.failure.releases,
            history_of(one),
            ", ".join(f"{counted(count, kind.value)}" for kind, count in _ends(one).items()) or "-",
        ]
        for one in found
    ]
    return table(rows)


def detail(one: Searched) -> Iterator[str]:
    """Yield all lines about one failure."""
    failure = one.failure
    yield f"{failure.number}  {failure.title}"
    yield f"      {failure.name}" + "".join(f", {name}" for name in failure.known_as)
    yield f"      releases: {failure.releases}"
    yield ""
    yield from _wrapped(failure.story)
    yield ""
    if failure.history is None:
        yield from _wrapped(f"Not searched: {failure.why_not}")
    else:
        yield f"  shortest history: {history_of(one)}"
        if one.happens is not None:
            yield f"  needs: {events(one.happens)}"
        if one.run is not None:
            yield f"  {one.run.command}"
            for path in one.run.traces.values():
                yield f"  {one.run.show(path)}"
        for ended in one.ended:
            says = "still fails" if ended.fails else "gone"
            yield f"  {says} with the {ended.change.kind.value}: {ended.change.what}"
            yield f"      {ended.change.change}: {outcome(ended)}"
    yield ""
    yield from _wrapped(f"What to do: {failure.advice}")
    yield ""


def closing(found: Sequence[Searched], missing: int, code: int) -> str:
    """Return the last line."""
    searched = [one for one in found if one.failure.history is not None]
    changes = sum(len(one.ended) for one in searched)
    told = (
        f"{counted(len(searched), 'failure')} searched with {counted(changes, 'change')} that end them,"
        f" {len(found) - len(searched)} not expressed"
    )
    if code == SAFE:
        return f"as recorded: {told}"
    if code == UNDECIDED:
        return f"UNDECIDED: a limit ended the search; {told}" + (f"; {missing} not begun" if missing else "")
    return f"NOT AS RECORDED: {counted(sum(bool(one.differs) for one in found), 'failure')}; {told}"


def as_object(found: Sequence[Searched], missing: int, code: int) -> dict[str, Any]:
    """Return the object of --json."""
    words = {SAFE: "as recorded", UNDECIDED: Word.UNDECIDED.value}
    return {
        "failures": [_object(one) for one in found],
        "missing": missing,
        "verdict": words.get(code, "differs"),
    }


def _object(one: Searched) -> dict[str, Any]:
    failure, history = one.failure, one.failure.history
    content: dict[str, Any] = {
        "number": failure.number,
        "name": failure.name,
        "title": failure.title,
        "known_as": list(failure.known_as),
        "since": failure.since,
        "repaired": list(failure.repaired),
        "story": failure.story,
        "advice": failure.advice,
        "why_not": failure.why_not,
        "differs": one.differs,
        "search": None,
    }
    if history is not None and one.run is not None:
        content["search"] = {
            "property": history.property_name,
            "verdict": Word.UNDECIDED.value if one.is_undecided else one.trace.verdict if one.trace else None,
            "depth": one.trace.length if one.trace else None,
            "needs": dict(one.happens or {}),
            "command": one.run.command,
            "traces": [str(path) for path in one.run.traces.values()],
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
                for ended in one.ended
            ],
        }
    return content


def _ends(one: Searched) -> Mapping[ChangeKind, int]:
    return Counter(ended.change.kind for ended in one.ended if not ended.fails)


def _wrapped(paragraph: str) -> Iterator[str]:
    return (f"  {line}" for line in textwrap.wrap(paragraph, WIDTH - 2))
