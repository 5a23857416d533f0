"""`check published`: searches the published models, and compares the figures with TLC's.

In:  `Options`, and a session.
Out: a `CommandResult`.
"""

from __future__ import annotations

from isrcheck.checker.analyses import published
from isrcheck.checker.command.form import Options
from isrcheck.checker.outcome.exit_codes import SAFE, UNDECIDED, UNEXPECTED, VIOLATED
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.verdict import Word, verdicts
from isrcheck.checker.session import text as report
from isrcheck.checker.session.command_result import CommandResult, was_interrupted
from isrcheck.checker.session.formatting import counted, table
from isrcheck.checker.session.reproduce import command_of
from isrcheck.checker.session.session import SearchSession
from isrcheck.checker.session.text import Run
from isrcheck.models.language.in_range import IN_RANGE


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search the model of every row of models/published/tlc.csv, and compare the figures."""
    lines = [["variant", *published.SIZES, *published.FIGURES]]
    runs, stopped, differing, broken, cut = [], False, 0, 0, False
    rows = list(published.rows())

    def explored(row: published.PublishedRow) -> Exploration:
        return session.explore(row.instance(), options.limits, count_all=True, subject=row.title)

    for row in rows:
        try:
            exploration, ours = published.compare(row, explored)
        except KeyboardInterrupt:
            cut = stopped = True
            break
        searched = Run(
            exploration, verdicts(exploration), command_of(f"published/{row.variant}", row.instance(), None), True
        )
        runs.append(report.as_object(searched) | {"figures": ours, "tlc": row.figures})
        if not exploration.is_complete:
            cut = True
            stopped = was_interrupted([exploration])
            if stopped:
                break
            continue
        differing += ours != row.figures
        broken += IN_RANGE.name in exploration.findings
        lines.append(published.line(row, ours))
    same = len(lines) - 1 - differing
    closing = f"{same} of {len(rows)} rows equal TLC's figures (ours = TLC's; states@level of the first violation)"
    if cut:
        closing = f"UNDECIDED: {closing}; at least one row was cut short"
    if broken:
        closing = f"VIOLATED: {IN_RANGE.name}, which TLC does not check, in {counted(broken, 'row')}; {closing}"
    code = VIOLATED if broken else UNEXPECTED if differing else UNDECIDED if cut else SAFE
    words = {SAFE: "as published", UNDECIDED: Word.UNDECIDED.value, VIOLATED: Word.VIOLATED.value}
    text = "\n".join([*table(lines), "", closing])
    content = {"runs": runs, "verdict": words.get(code, "differs")}
    return CommandResult(text, content, code, is_interrupted=stopped)
