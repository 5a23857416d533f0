"""`check published`, `check examples/tla`: searches models, and compares the figures with those that TLC reports.

In:  `Options`, and a session.
Out: a `CommandResult`.
"""

from __future__ import annotations

from dataclasses import replace

from isrcheck.checker.analyses import published, tla_examples
from isrcheck.checker.command.check_options import EXAMPLES, PUBLISHED
from isrcheck.checker.command.form import Options
from isrcheck.checker.outcome.exit_codes import SAFE, UNDECIDED, UNEXPECTED, VIOLATED
from isrcheck.checker.outcome.verdict import Word, verdicts
from isrcheck.checker.session import text as report
from isrcheck.checker.session.command_result import CommandResult, was_interrupted
from isrcheck.checker.session.formatting import counted, table
from isrcheck.checker.session.reproduce import command_of
from isrcheck.checker.session.session import SearchSession
from isrcheck.checker.session.text import Run
from isrcheck.models.language.in_range import DEADLOCK, IN_RANGE

COMPARISONS = {PUBLISHED: published.COMPARISON, EXAMPLES: tla_examples.COMPARISON}


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search the model of every row of the recorded figures, and compare."""
    comparison = COMPARISONS[options.form.name]
    lines = [[*comparison.header, *comparison.figures]]
    runs, stopped, differing, cut = [], False, 0, False
    broken: list[str] = []
    equal, reasons = 0, []
    rows = list(comparison.rows())
    limits = options.limits if comparison.deadlock else replace(options.limits, deadlock=False)
    for row in rows:
        instance = row.instance()
        try:
            exploration = session.explore(instance, limits, count_all=True, subject=row.title)
        except KeyboardInterrupt:
            cut = stopped = True
            break
        ours = comparison.figures_of(exploration)
        searched = Run(exploration, verdicts(exploration), command_of(row.target, instance, None), True)
        runs.append(report.as_object(searched) | {"figures": ours, "tlc": dict(row.tlc), "why": row.why})
        if not exploration.is_complete:
            cut = True
            stopped = was_interrupted([exploration])
            if stopped:
                break
            continue
        differing += ours != row.expected
        broken += [one.name for one in (DEADLOCK, IN_RANGE) if one.name in exploration.findings][:1]
        equal += ours == row.tlc
        if row.why:
            reasons.append(f"{row.title}: {row.why}")
        lines.append(comparison.line(row, ours))
    closing = f"{equal} of {len(rows)} rows equal TLC's figures (ours = TLC's; {comparison.means})"
    explained = len(lines) - 1 - equal - differing
    if explained:
        closing = f"{closing}; {explained} differ for the reasons above"
    if cut:
        closing = f"UNDECIDED: {closing}; at least one row was cut short"
    if broken:
        names = ", ".join(dict.fromkeys(broken))
        closing = f"VIOLATED: {names}, which TLC does not check, in {counted(len(broken), 'row')}; {closing}"
    code = VIOLATED if broken else UNEXPECTED if differing else UNDECIDED if cut else SAFE
    words = {SAFE: "as published", UNDECIDED: Word.UNDECIDED.value, VIOLATED: Word.VIOLATED.value}
    text = "\n".join([*table(lines), "", *reasons, *([""] if reasons else []), closing])
    content = {"runs": runs, "verdict": words.get(code, "differs")}
    return CommandResult(text, content, code, is_interrupted=stopped)
