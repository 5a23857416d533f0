"""The matrix as one screen: what breaks in each generation, at which step, and what repaired it.

In:  the recorded runs, the finished runs with the recorded run that each repeats, and the typed command.
Out: at most 40 lines of at most 100 characters.

The headline of a failure's trace says what breaks. The recorded cause of the failure determines its repair. If the
cause is a known failure, that failure's file names the releases with the repair. For any other cause (a JIRA issue),
the repair is in the first later generation for which the record does not have this cause.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from isrcheck.checker.comparisons.matrix_record import (
    CLOSING,
    Match,
    Pair,
    RecordedRun,
    changed_lines,
    has_other_states,
    judged,
    worst,
)
from isrcheck.checker.results.instance_facts import configuration_of
from isrcheck.checker.results.run import Run
from isrcheck.checker.results.terminal import counted, grouped, table, wrapped
from isrcheck.checker.results.verdict import WHY_STOPPED, Verdict, Word
from isrcheck.models.kafka.failures.catalogue import failures
from isrcheck.traces.explaining.presentation import headline
from isrcheck.traces.kafka.failures import permitting
from isrcheck.traces.terminal.show import told

MOST_LINES = 40
WIDEST = 100
"""The height and the greatest width of the screen."""

GENERATION, STEP, REPAIRED = 11, 5, 25
"""The widths of all columns except the third, which has the rest of the screen."""

ISSUE = re.compile(r"(KIP|KAFKA)-\d+")
"""The name of an improvement proposal or of an issue of Kafka."""

LEAST = 30
"""The least width of the third column."""

SHOWN = ("replicas", "acks", "min_insync_replicas")
"""The settings that the first line shows, if the unnamed runs of all generations have the same."""

NAMED = 4
"""The most properties that a line about proofs names."""


@dataclass(frozen=True)
class Row:
    """A row of the screen: what breaks in a generation, in words, at which step, and what repaired it. `others` are
    further properties that break for the same reason."""

    step: str
    what: str
    repaired: str = ""
    others: tuple[str, ...] = ()
    left_out: int = 0
    """How many further rows the screen has no room for."""


def text(records: Sequence[RecordedRun], pairs: Sequence[Pair], words: Sequence[str], width: int) -> str:
    """Return the text of the screen; `words` is the typed command, which the screen proposes again with --details."""
    width = min(width, WIDEST)
    head = _head(records, pairs, width)
    below = [*_permitted(pairs, width), *_proved(records, pairs, width), ""]
    below += [line for one in changed_lines(records) for line in wrapped(one, width)]
    below += [*wrapped(CLOSING[worst(records, pairs)], width), "", *_next(pairs, words)]
    whole = {column: rows_of(records, column, pairs) for column in _columns(records)}
    for most in range(max(map(len, whole.values())), 0, -1):
        shortened = {
            column: [*rows[: most - 1], *(replace(row, left_out=len(rows) - most) for row in rows[most - 1 : most])]
            for column, rows in whole.items()
        }
        groups = _alike(shortened, width)
        body = [line for names, rows in groups for line in _lines(names, rows, width)]
        if len(head) + len(body) + len(below) <= MOST_LINES:
            break
    return "\n".join([*head, *body, *below])


def _columns(records: Sequence[RecordedRun]) -> list[str]:
    return list(dict.fromkeys(record.column for record in records))


def _name(column: str) -> str:
    """Return the generation of a column; the name of the model, if the model has no generations."""
    return column.partition(" ")[2] or column


def _alike(rows: Mapping[str, Sequence[Row]], width: int) -> list[tuple[str, Sequence[Row]]]:
    """Join consecutive generations whose rows have equal text at this width; return each group's name and rows."""
    groups: list[tuple[list[str], Sequence[Row]]] = []
    for column, own in rows.items():
        if groups and _lines("", groups[-1][1], width) == _lines("", own, width):
            groups[-1][0].append(_name(column))
        else:
            groups.append(([_name(column)], own))
    return [(", ".join(names) if len(names) < 3 else f"{names[0]} to {names[-1]}", own) for names, own in groups]


def _head(records: Sequence[RecordedRun], pairs: Sequence[Pair], width: int) -> list[str]:
    depths = {run.explored.limits.depth for _, run in pairs}
    bound = next(iter(depths)) if len(depths) == 1 else None
    far = "as far as is recorded" if bound is None else f"within {counted(bound, 'step')}"
    models = ", ".join(dict.fromkeys(record.instance.model.name for record in records))
    own = [configuration_of(record.instance) for record in records if not record.name]
    shared = [name for name in own[0] if name in SHOWN and all(one.get(name) == own[0][name] for one in own)]
    settings = "".join(f", {name}={own[0][name]}" for name in shared)
    about = f"{models}, {counted(len(_columns(records)), 'generation')}{settings}: what breaks {far}"
    titles = f"{'':{GENERATION}}{'step':{STEP}}what breaks"
    return [*wrapped(about, width), "", f"{titles:<{_start_of_repair(width)}}repaired in"]


def _start_of_repair(width: int) -> int:
    return max(GENERATION + STEP + LEAST, width - REPAIRED)


# ------------------------------------------------------------------------------------------------- what breaks in each


def rows_of(records: Sequence[RecordedRun], column: str, pairs: Sequence[Pair]) -> list[Row]:
    """Return the rows of a generation: first what differs from the record, then one row for each cause of failures."""
    unexpected: list[Row] = []
    failing: list[tuple[str, tuple[Verdict, Run]]] = []
    later: list[tuple[int, str]] = []
    own = [(record, run) for record, run in pairs if record.column == column]
    for record, run in own:
        for verdict, match in zip(run.verdicts, judged(record, run), strict=True):
            if match in (Match.NEW, Match.MISSING):
                unexpected.append(_unexpected(record, verdict, run, match))
            elif verdict.word is Word.VIOLATED:
                failing.append((record.causes.get(verdict.prop.name, verdict.prop.name), (verdict, run)))
        if has_other_states(record, run):
            states = f"{record.states:,} states are recorded, {run.explored.distinct:,} were found"
            unexpected.append(Row("", f"{record.title}: {states}", "NOT FOUND"))
        if not run.explored.exhausted:
            later += [(depth, name) for name, depth in record.violated.items() if depth > run.explored.judged]
    causes = grouped(failing)
    rows = [*unexpected, *(_row(records, column, cause, verdicts) for cause, verdicts in causes.items())]
    is_open = [*_open(own), *([": not searched"] if len(own) < sum(one.column == column for one in records) else [])]
    rows += [Row("", f"{Word.UNDECIDED.value}{one}", "open") for one in is_open[:1]]
    if not rows:
        far = min(run.explored.judged for _, run in own)
        is_whole = all(run.explored.exhausted for _, run in own)
        rows.append(Row("-", "nothing" if is_whole else f"nothing within {counted(far, 'step')}"))
    return [*rows, *_later(records, column, later, causes)]


def _open(own: Sequence[Pair]) -> Iterator[str]:
    for _, run in own:
        if not run.explored.is_complete:
            why, far = WHY_STOPPED[run.explored.stopped or "interrupt"], run.explored.judged
            yield f" beyond step {far}: {why}" if far >= 0 else f": nothing was searched: {why}"


def _unexpected(record: RecordedRun, verdict: Verdict, run: Run, match: Match) -> Row:
    name = verdict.prop.name
    if match is Match.NEW:
        return Row(str(verdict.depth), _words(verdict, run), "NOT RECORDED")
    depth = record.violated.get(name, record.permitted.get(name))
    if depth is None:
        return Row("", f"{name}: {verdict.text}, otherwise than recorded", "NOT FOUND")
    return Row(str(depth), f"{name} is recorded to fail here: {verdict.bare}", "NOT FOUND")


def _row(records: Sequence[RecordedRun], column: str, cause: str, failing: Sequence[tuple[Verdict, Run]]) -> Row:
    (first, run), *others = failing
    also = tuple(f"{verdict.prop.name} at {verdict.depth}" for verdict, _ in others)
    return Row(str(first.depth), _words(first, run), repaired(records, column, cause, first.prop.name), also)


def _words(verdict: Verdict, run: Run) -> str:
    """Return what goes wrong when a property fails: the headline of its trace, or `NAME fails` without a headline."""
    keys = [key for key, *_ in verdict.failing_paths]
    trace = run.histories.get(keys[0]) if keys else None
    if trace is None or not told(trace):
        return f"{verdict.prop.name} fails"
    permitted = " (permitted)" if verdict.word is Word.PERMITTED else ""
    return headline(trace).partition(": ")[0] + permitted


def _later(
    records: Sequence[RecordedRun], column: str, later: Sequence[tuple[int, str]], shown: Mapping[str, object]
) -> list[Row]:
    """Return at most one row: failures recorded beyond the searched depth (`later`) whose causes are not in `shown`."""
    causes = {name: cause for record in records if record.column == column for name, cause in record.causes.items()}
    left = [(depth, name) for depth, name in later if causes.get(name, name) not in shown]
    if not left:
        return []
    order = [prop.name for prop in records[0].instance.model.properties]
    left.sort(key=lambda one: order.index(one[1]) if one[1] in order else len(order))
    (depth, name), *others = left
    text = f"not searched, but recorded: {name}"
    also = tuple(f"{other} at {far}" for far, other in others)
    return [Row(f"({depth})", text, repaired(records, column, causes.get(name, name), name), also)]


def repaired(records: Sequence[RecordedRun], column: str, cause: str, name: str) -> str:
    """Return what repaired a failure: the releases that a known failure (`cause`) names, or a later generation."""
    failure = next((one for one in failures() if one.name == cause), None)
    issue = cause
    if failure is not None:
        issue = next((one for one in failure.known_as if ISSUE.fullmatch(one)), f"failure {failure.number}")
    releases = ", ".join(failure.repaired) if failure is not None else repairing_generation(records, column, name)
    if not releases:
        return f"no release ({issue})"
    return f"{releases} ({issue})" if issue != name else releases


def repairing_generation(records: Sequence[RecordedRun], column: str, name: str) -> str:
    """Return the first generation after `column` where the cause in `column` no longer violates `name`; else empty."""
    columns = _columns(records)
    causes = {(record.column, prop): record.causes.get(prop, prop) for record in records for prop in record.violated}
    own = causes.get((column, name))
    for later in columns[columns.index(column) + 1 :]:
        if causes.get((later, name)) != own:
            return next(one.instance.protocol.name or later for one in records if one.column == later)
    return ""


def _lines(name: str, rows: Sequence[Row], width: int) -> list[str]:
    start = _start_of_repair(width)
    lines = [name] if len(name) >= GENERATION else []
    for row in rows:
        room = start - GENERATION - STEP - 1
        what = textwrap.wrap(_with_others(row, room), room, break_long_words=False)
        fixed = textwrap.wrap(row.repaired, width - start, break_long_words=False)
        for number, (middle, last) in enumerate(zip_longest(what, fixed, fillvalue="")):
            first = f"{'' if lines else name:{GENERATION - 1}} {'' if number else row.step:{STEP}}"
            lines.append(f"{first + middle:<{start}}{last}".rstrip())
    return lines


def _with_others(row: Row, room: int) -> str:
    """Return what breaks and, as far as the line has room, which other properties break for the same reason."""
    causes = f"; {counted(row.left_out, 'other cause')}" if row.left_out else ""
    if not row.others:
        return row.what + causes
    for named in range(len(row.others), -1, -1):
        left = len(row.others) - named
        more = ", ".join([*row.others[:named], *([f"{left} more"] if left else [])])
        text = f"{row.what}; also {more}{causes}"
        if len(text) <= room:
            return text
    return f"{row.what} (+{len(row.others)}){causes}"


# -------------------------------------------------------------------------------------------- what else there is to say


def _permitted(pairs: Sequence[Pair], width: int) -> list[str]:
    """Return lines on failures that the settings permit: each reason, with the generations and properties that fail."""
    groups: dict[str, dict[str, set[str]]] = {}
    for record, run in pairs:
        for verdict in run.verdicts:
            key = next((key for key, _, word in verdict.failing_paths if word == Word.PERMITTED.value), None)
            trace = run.histories.get(key) if key is not None else None
            if trace is not None:
                why = " and ".join(permitting(trace)) or "the model permits it"
                groups.setdefault(why, {}).setdefault(verdict.prop.name, set()).add(_name(record.column))
    order = list(dict.fromkeys(_name(record.column) for record, _ in pairs))
    lines = []
    for why, names in groups.items():
        where = [one for one in order if any(one in columns for columns in names.values())]
        lines += wrapped(f"{why} ({_span(where, order)}): {', '.join(names)}", width, "  ")
    return ["", "Permitted, because the settings promise nothing there:", *lines] if lines else []


def _span(names: Sequence[str], order: Sequence[str]) -> str:
    first = order.index(names[0])
    is_row = list(order[first : first + len(names)]) == list(names)
    return f"{names[0]} to {names[-1]}" if is_row and len(names) > 2 else ", ".join(names)


def _proved(records: Sequence[RecordedRun], pairs: Sequence[Pair], width: int) -> list[str]:
    by_record = [(record.column, name) for record in records for name in record.proved]
    by_run = [(record.column, one.prop.name) for record, run in pairs for one in run.verdicts if one.proof is not None]
    proved = grouped([*by_record, *by_run])
    own = [(tuple(dict.fromkeys(proved[column])), column) for column in _columns(records) if column in proved]
    groups = grouped(own)
    if not groups:
        return []
    best = groups[max(groups, key=len)][0]
    target = next(record.instance for record in records if record.column == best)
    command = ["check", target.model.name, *(["--protocol", target.protocol.name] if target.protocol.name else [])]
    lines = ["", f"Proved for any number of steps ({shlex.join([*command, '--prove'])}):"]
    for group, columns in groups.items():
        shown = ", ".join(group[:NAMED]) + (f" and {len(group) - NAMED} more" if len(group) > NAMED else "")
        lines += wrapped(f"{', '.join(map(_name, columns))}: {shown}", width, "  ")
    return lines


def _next(pairs: Sequence[Pair], words: Sequence[str]) -> list[str]:
    """Return commands to try next: one that shows a failure (preferably unrecorded), `--details`, `check doctor`."""
    shows = [
        (match is not Match.NEW, run.show(run.traces[key]))
        for record, run in pairs
        for verdict, match in zip(run.verdicts, judged(record, run), strict=True)
        for key, *_ in verdict.failing_paths
        if key in run.traces
    ]
    shown = [command for _, command in sorted(shows, key=lambda one: one[0])[:1]]
    commands = [
        *((one, "step by step") for one in shown),
        (shlex.join([*words, "--details"]), "every cell, run and trace"),
        ("check doctor server.properties", "your own cluster"),
    ]
    return ["To go on:", *table([[f"  {command}", f"# {what}"] for command, what in commands])]
