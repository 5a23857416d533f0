"""`check published`, `check examples/tla`: searches models, and compares the figures with those that TLC reports.

In:  `Options`, and a session.
Out: a `CommandResult`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from isrcheck.checker.analyses import other_models, published, tla_examples
from isrcheck.checker.analyses.comparison import Comparison, equals_published
from isrcheck.checker.command.check_options import EXAMPLES, PUBLISHED
from isrcheck.checker.command.form import Options
from isrcheck.checker.outcome.exit_codes import SAFE, UNDECIDED, UNEXPECTED, VIOLATED
from isrcheck.checker.outcome.verdict import Word, verdicts
from isrcheck.checker.session import text as report
from isrcheck.checker.session.command_result import CommandResult, was_interrupted
from isrcheck.checker.session.formatting import counted, table
from isrcheck.checker.session.reproduce import command_of
from isrcheck.checker.session.session import EVERY_STATE, AskedReduction, SearchSession
from isrcheck.checker.session.text import Run
from isrcheck.models.language.model import DEADLOCK, IN_RANGE

COMPARISONS = {
    PUBLISHED: (published.COMPARISON, other_models.COMPARISON),
    EXAMPLES: (tla_examples.COMPARISON,),
}
ORBITS = AskedReduction(is_sought=True, dead=False)
"""One state of each orbit is visited, as TLC does with SYMMETRY; and nothing else is left out."""


@dataclass
class Tally:
    """What was found in the rows of the comparisons so far."""

    runs: list[Mapping[str, Any]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    differing: int = 0
    cut: bool = False
    stopped: bool = False


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search the model of every row of the recorded figures, and compare."""
    tally = Tally()
    for comparison in COMPARISONS[options.form.name]:
        if not tally.stopped:
            _compare(comparison, options, session, tally)
    closing = tally.texts.pop()
    if tally.cut:
        closing = f"UNDECIDED: {closing}; at least one row was cut short"
    if tally.broken:
        names = ", ".join(dict.fromkeys(tally.broken))
        closing = f"VIOLATED: {names}, which TLC does not check, in {counted(len(tally.broken), 'row')}; {closing}"
    code = VIOLATED if tally.broken else UNEXPECTED if tally.differing else UNDECIDED if tally.cut else SAFE
    words = {SAFE: "as published", UNDECIDED: Word.UNDECIDED.value, VIOLATED: Word.VIOLATED.value}
    text = "\n".join([*tally.texts, closing])
    content = {"runs": tally.runs, "verdict": words.get(code, "differs")}
    return CommandResult(text, content, code, is_interrupted=tally.stopped)


def _compare(comparison: Comparison, options: Options, session: SearchSession, tally: Tally) -> None:
    """Search the models of one comparison; the last text is its closing line."""
    lines = [[*comparison.header, *comparison.figures]]
    equal, differing, reasons = 0, 0, []
    rows = list(comparison.rows())
    limits = options.limits if comparison.deadlock else replace(options.limits, deadlock=False)
    for row in rows:
        instance = row.instance()
        reduction = ORBITS if row.symmetric else EVERY_STATE
        try:
            exploration = session.explore(instance, limits, count_all=True, subject=row.title, reduction=reduction)
        except KeyboardInterrupt:
            tally.cut = tally.stopped = True
            break
        ours = comparison.figures_of(exploration)
        searched = Run(exploration, verdicts(exploration), command_of(row.target, instance, None), True)
        tally.runs.append(report.as_object(searched) | {"figures": ours, "tlc": dict(row.tlc), "why": row.why})
        if not exploration.is_complete:
            tally.cut = True
            tally.stopped = was_interrupted([exploration])
            if tally.stopped:
                break
            continue
        differing += ours != row.expected
        tally.broken += [one.name for one in (DEADLOCK, IN_RANGE) if one.name in exploration.findings][:1]
        equal += equals_published(row, ours)
        if row.why:
            reasons.append(f"{row.title}: {row.why}")
        lines.append(comparison.line(row, ours))
    tally.differing += differing
    closing = f"{equal} of {len(rows)} rows equal TLC's figures (ours = TLC's; {comparison.means})"
    explained = len(lines) - 1 - equal - differing
    if explained > 0:
        closing = f"{closing}; {explained} differ for the reasons above"
    between_tables = [""] if tally.texts else []
    tally.texts += [*between_tables, *table(lines), "", *reasons, *([""] if reasons else []), closing]
