"""The result for one model as one screen: what was checked; last the verdict, a history and the next command.

In:  a `Run`, the words of the command, and the look of the output.
Out: lines of text. Counts, rates and the whole configuration are in checker/session/text.py (`--details`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from isrcheck.checker.outcome.bmc_result import BmcResult
from isrcheck.checker.outcome.verdict import WHY_STOPPED, Word
from isrcheck.checker.screens import history
from isrcheck.checker.screens.next_commands import next_commands
from isrcheck.checker.session import proof_text
from isrcheck.checker.session.causes_text import different_lines
from isrcheck.checker.session.formatting import counted
from isrcheck.checker.session.text import (
    Run,
    agreement_line,
    causes_not_compared,
    never_fired,
    range_lines,
    search_summary,
    title,
    verdict_line,
)
from isrcheck.traces.format.trace import heading
from isrcheck.traces.lanes.table import Look

GRAVEST_FIRST = (Word.VIOLATED, Word.PERMITTED)
"""The verdicts that a history shows."""

MOST_ABSENT = 3
"""The most properties that are named although the configuration does not have what they are about."""


def text(run: Run, words: Sequence[str], look: Look) -> str:
    """Return the screen. `words` are the words of the command."""
    width = look.width
    lines = [*_checked(run, width), "", *_judged(run, width), *range_lines(run.verdicts)]
    lines += _warnings(run, width)
    if run.second is not None:
        lines += ["", *_wrapped(agreement_line(run), width)]
    if run.proving is not None:
        lines += ["", *proof_text.lines(run.proving)]
    lines += [*different_lines(run.different, run.show), *causes_not_compared(run)]
    lines += ["", *_wrapped(verdict_line(run), width)]
    shown = _shown(run)
    if shown is not None:
        lines += ["", *history.lines(run.histories[shown], look)]
    commands = next_commands(run, shown, words)
    if commands:
        lines += ["", "To go on:", *(line for command, what in commands for line in (f"  {command}", f"      {what}"))]
    return "\n".join(lines)


def _wrapped(text: str, width: int, indent: str = "", later: str = "    ") -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )


def _named(rows: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Return rows of a name and a text, the text wrapped in a column of its own if it has room there."""
    column = max((len(name) for name, _ in rows), default=0) + 2
    indent = column if column <= width // 2 else 4
    found = []
    for name, text in rows:
        first = f"{name:<{column}}" if indent == column else f"{name}  "
        found += _wrapped(text, width, first, " " * indent) if text else [name]
    return found


def _checked(run: Run, width: int) -> list[str]:
    """Say what was checked: the model, the searched histories, the settings, the faults, and how much that was."""
    instance = run.exploration.instance
    documentation = instance.model.documentation.splitlines()
    _, faults, search = search_summary(run)
    differs = heading(instance).partition(", ")[2]
    rows = [
        ("search", search.removeprefix("breadth first, ") if run.engine == "local" else search),
        ("settings", differs),
        ("faults", faults),
        ("size", _size(run)),
    ]
    about = f"{title(instance)}: {documentation[0]}" if documentation else title(instance)
    return [*_wrapped(about, width), "", *_named(rows, width)]


def _size(run: Run) -> str:
    exploration = run.exploration
    seconds = f"{exploration.seconds:.2f} s; --details shows counts, actions and all settings"
    if isinstance(exploration, BmcResult):
        return f"every depth to {exploration.judged} by Z3, {seconds}" if exploration.judged >= 0 else seconds
    if not exploration.has_begun:
        return f"nothing was searched, {seconds}"
    what = f"{counted(exploration.distinct, 'state')} to depth {len(exploration.levels) - 1}"
    if exploration.reduction and not exploration.reduction.startswith("no symmetry"):
        what += ", some of which stand for others"
    if not run.counts_once:
        what += ", counted once for each part that found them"
    if exploration.outside:
        what += f", {counted(exploration.outside, 'step')} to states outside the constraint"
    return f"{what}, {seconds}"


def _judged(run: Run, width: int) -> list[str]:
    """Return the properties, grouped by verdict, the gravest first."""
    groups: dict[tuple[int, str], list[str]] = {}
    order = list(Word)
    for verdict in run.verdicts:
        label = verdict.text
        if verdict.word is Word.REACHED or (verdict.word is Word.UNDECIDED and run.exploration.stopped in WHY_STOPPED):
            label = verdict.word.value
        groups.setdefault((order.index(verdict.word), label), []).append(verdict.prop.name)
    absent = groups.pop((order.index(Word.NOT_APPLICABLE), Word.NOT_APPLICABLE.value), [])
    rows = [(label, ", ".join(names)) for (_, label), names in sorted(groups.items(), key=lambda one: one[0][0])]
    if len(absent) > MOST_ABSENT:
        absent = [f"{len(absent)} properties about what this configuration does not have"]
    return _named([*rows, *([(Word.NOT_APPLICABLE.value, ", ".join(absent))] if absent else [])], width)


def _warnings(run: Run, width: int) -> list[str]:
    """Say which actions the search never saw, although the configuration does not rule them out."""
    exploration = run.exploration
    if isinstance(exploration, BmcResult) or not exploration.has_begun or exploration.stopped == "decided":
        return []
    silent = never_fired(exploration)
    return ["", *_wrapped(f"warning: never happened in this search: {', '.join(silent)}", width)] if silent else []


def _shown(run: Run) -> str | None:
    """Return the failure whose history is shown: the first declared one of the gravest verdict."""
    for word in GRAVEST_FIRST:
        for verdict in run.verdicts:
            if verdict.word is word:
                return next((key for key, *_ in verdict.failing_paths if key in run.histories), None)
    return None
