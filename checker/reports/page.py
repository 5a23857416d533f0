"""The report as one HTML page: no network, no script; all text from models and traces is escaped.

In:  a `ReportContent` (content.py). Out: the text of index.html.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from isrcheck.checker.reports.content import Cell, Grid, Outcome, PropertyResult, ReportContent, SearchReport, TraceFile
from isrcheck.checker.reports.plots import Bar, bars, line
from isrcheck.checker.reports.style import STYLE
from isrcheck.checker.results.exit_codes import INTERRUPTED, SAFE, UNDECIDED
from isrcheck.checker.results.exploration import BmcResult, Exploration
from isrcheck.checker.results.instance_facts import disabled_actions
from isrcheck.checker.results.run import (
    Run,
    Z3Agreement,
    never_fired,
    search_summary,
    totals,
    unrolled_lines,
    verdict_line,
)
from isrcheck.checker.results.terminal import counted
from isrcheck.checker.results.verdict import Word
from isrcheck.checker.spark.summary import SparkSummary
from isrcheck.commands.program import product
from isrcheck.traces.drawing.markup import Content, Element, append, as_html, element, page_head

MOST_PLOTTED = 40
"""At most this many searches have plots; a sweep can have thousands of searches."""

MOST_OPEN = 3
"""Up to this many searches are shown expanded; with more, all are collapsed."""

LOOKS = {
    Word.VIOLATED: ("\u2717", "bad", "a promise that the configuration makes is broken"),
    Word.UNREACHABLE: ("\u2717", "bad", "the model must be able to reach such a state, but cannot"),
    Word.UNDECIDED: ("?", "open", "no answer: a limit or the user ended the search, or the mechanism is not modelled"),
    Word.PERMITTED: ("\u25b2", "permitted", "the property fails, but only where this configuration makes no promise"),
    Word.NO_VIOLATION: (
        "\u25cb",
        "bounded",
        "no violation within this number of steps; longer behaviours were not searched",
    ),
    Word.NOT_REACHED: ("\u25cb", "bounded", "not reached within this number of steps"),
    Word.HOLDS: ("\u2713", "good", "the whole state space within these bounds was searched"),
    Word.PROVED: ("\u2713\u2713", "good", "true at any depth, proved by induction"),
    Word.REACHED: ("\u2713", "good", "the model reaches such a state"),
    Word.NOT_APPLICABLE: ("\u2013", "none", "the property does not apply: its mechanism is off"),
}
"""For each verdict: its symbol, its CSS class, and its meaning."""


def page(report: ReportContent, when: str) -> str:
    """Return the text of the page; `when` is the time of writing, as shown on the page."""
    head = page_head(report.heading, STYLE)
    body = element("body", element("h1", report.heading), element("p", element("code", report.command), class_="quiet"))
    append(body, *_banners(report))
    if report.grid.rows:
        append(body, *_table(report))
    append(body, *_timings(report), *_searches(report))
    if report.text:
        append(body, element("h2", "The result as text"), element("pre", report.text))
    links = [("junit.xml", "JUnit"), ("results.sarif", "SARIF"), ("test_regressions.py", "pytest")]
    files: list[Content] = [f"Written {when} by {product()}. For build servers: "]
    for position, (name, says) in enumerate(links):
        files += [", " if position else None, element("a", name, href=name), f" ({says})"]
    append(body, element("p", *files, class_="quiet"))
    return as_html(element("html", head, body, lang="en"))


def _banners(report: ReportContent) -> Iterator[Element]:
    kind = {SAFE: "none", UNDECIDED: "open", INTERRUPTED: "open"}.get(report.code, "bad") if report.text else "open"
    if report.code == SAFE and report.gravest is not None:
        kind = LOOKS[report.gravest][1]
    code = f"exit code {report.code}: {report.means}"
    yield element(
        "p",
        report.summary,
        element("small", code if report.text else "the exit code is not known yet"),
        class_=f"banner {kind}",
    )
    if report.is_cut:
        yield element("p", "INTERRUPTED: these are the results up to the interruption", class_="banner open")
    if report.failure:
        yield element("p", report.failure, class_="banner bad")
    for note in report.notes:
        yield element("p", note, class_="banner open")


# ---------------------------------------------------------------------------------------------------------- the table


def _table(report: ReportContent) -> Iterator[Element]:
    grid = report.grid
    anchors = {search.title: f"#search-{number}" for number, search in enumerate(report.searches)}
    headings = [element("th", title, scope="col") for title in grid.corner]
    for column in grid.columns:
        title = element("a", column, href=anchors[column]) if column in anchors else column
        headings.append(element("th", title, scope="col"))
    body = element("tbody")
    for row in grid.rows:
        cells = [element("th", text, scope="row") for text in row.headings]
        is_over_all = len(row.cells) == 1 < len(grid.columns)
        cells += [_cell(cell, len(grid.columns) if is_over_all else 1) for cell in row.cells]
        body.append(element("tr", *cells))
    yield element("h2", "Verdicts")
    yield element("div", element("table", element("thead", element("tr", *headings)), body), class_="wide")
    yield _legend(grid)


def _cell(cell: Cell, columns: int) -> Element:
    more = {"colspan": columns} if columns > 1 else {}
    if isinstance(cell, str):
        return element("td", cell, class_="says", **more)
    sign, kind, _ = LOOKS[cell.verdict.word]
    own = next(iter(cell.shown), None)
    text = element("a", cell.text, href=_page_of(own)) if own is not None else cell.text
    content: list[Content] = [element("span", element("span", sign, class_="sign"), text, class_="verdict")]
    if own is not None:
        content.append(element("small", _file_of(own)))
    for one in cell.traces:
        if one is not own:
            says = f"{one.trace.verdict} at step {one.trace.length}"
            content.append(element("small", element("a", says, href=_page_of(one)), ", ", _file_of(one)))
    if cell.mark:
        content.append(element("small", f"\u2190 {cell.mark}"))
    elif cell.is_recorded:
        content.append(element("small", "as recorded"))
    return element("td", *content, class_=kind, **more)


def _page_of(trace_file: TraceFile) -> str:
    return f"traces/{quote(trace_file.name)}.html"


def _file_of(trace_file: TraceFile) -> Element:
    return element("a", "trace file", href=f"traces/{quote(trace_file.path.name)}")


def _legend(grid: Grid) -> Element:
    words = {cell.verdict.word for row in grid.rows for cell in row.cells if isinstance(cell, PropertyResult)}
    signs = [(word, *LOOKS[word]) for word in Word if word in words]
    return element(
        "ul",
        *(element("li", f"{sign} {word.value}: {says}", class_=kind) for word, sign, kind, says in signs),
        class_="legend",
    )


# -------------------------------------------------------------------------------------------------------- the searches


def _timings(report: ReportContent) -> Iterator[Element]:
    rows = [_timing(search.title, search.run) for search in report.searches if search.run is not None]
    if len(rows) > 1:
        yield element("h2", "Timings")
        shown, left = rows[:MOST_PLOTTED], len(rows) - MOST_PLOTTED
        yield _figure(bars("seconds of each search", shown), "seconds of each search")
        if left > 0:
            yield element("p", f"{left} more searches are not shown", class_="quiet")


def _timing(name: str, run: Run) -> Bar:
    seconds = run.exploration.seconds
    says = f"{seconds:.2f} s"
    if isinstance(run.exploration, Exploration):
        rate = run.exploration.distinct / max(seconds, 1e-9)
        says += f", {run.exploration.distinct:,} states, {rate:,.0f}/s"
    return Bar(name, seconds, seconds, says)


def _searches(report: ReportContent) -> Iterator[Element]:
    if report.searches:
        yield element("h2", "Searches")
    drawn = 0
    for number, search in enumerate(report.searches):
        drawn += search.run is not None
        yield _search(search, number, is_drawn=drawn <= MOST_PLOTTED, is_open=len(report.searches) <= MOST_OPEN)
    if drawn > MOST_PLOTTED:
        yield element("p", f"only the first {MOST_PLOTTED} searches have plots", class_="quiet")


def _search(search: SearchReport, number: int, *, is_drawn: bool, is_open: bool) -> Element:
    run = search.run
    word = Word.UNDECIDED if search.outcome is Outcome.ERROR else Word.NOT_APPLICABLE if run is None else run.word
    sign, kind, _ = LOOKS[word]
    far = f" {run.exploration.judged}" if run is not None and word in (Word.NO_VIOLATION, Word.NOT_REACHED) else ""
    verdict = element("span", f"{sign} {word.value}{far}", class_=f"verdict {kind}")
    heading = element("summary", search.title, " ", verdict)
    section = element("details", heading, id=f"search-{number}")
    if is_open:
        section.set("open", "open")
    if search.says:
        append(section, element("p", search.says))
    if run is not None:
        append(section, element("p", verdict_line(run)), _asked(run), *_found(search, run))
        if is_drawn:
            append(section, *_plots(run))
    if search.lines:
        append(section, element("h3", "Proofs"), element("pre", "\n".join(search.lines)))
    for one in search.others:
        link = element("a", one.shows or one.name, href=_page_of(one))
        append(section, element("p", f"{one.trace.verdict}: ", link, ", ", _file_of(one)))
    return section


def _asked(run: Run) -> Element:
    configuration, faults, search = search_summary(run)
    made = element("dl", element("dt", "command"), element("dd", element("code", run.command)))
    for name, says in (("configuration", configuration), ("faults", faults), ("search", search)):
        append(made, element("dt", name), element("dd", says))
    return made


def _found(search: SearchReport, run: Run) -> Iterator[Element]:
    """Yield the totals of a search, as in the printed text, and the `sometimes` properties that were not reached."""
    if isinstance(run.exploration, BmcResult):
        lines = unrolled_lines(run.exploration)
    else:
        lines = totals(run.exploration, counts_once=run.counts_once)
        spark = run.part(SparkSummary)
        lines += [] if spark is None else spark.lines(run)
    second = run.part(Z3Agreement)
    lines += [] if second is None else unrolled_lines(second.result)
    yield element("p", *(one for text in lines for one in (text, element("br"))))
    sought = [one for one in search.judged if one.verdict.word in (Word.NOT_REACHED, Word.UNREACHABLE)]
    if sought:
        yield element(
            "p", f"not reached, but required: {'; '.join(f'{one.verdict.prop.name}: {one.text}' for one in sought)}"
        )


def _plots(run: Run) -> Iterator[Element]:
    if isinstance(run.exploration, BmcResult):
        if len(run.exploration.times) > 1:
            says = "seconds of Z3 at each depth"
            yield _figure(line(says, run.exploration.times, across="depth"), says)
        return
    levels = run.exploration.levels
    if len(levels) > 1:
        top = max(levels)
        says = f"{counted(len(levels), 'level')}, the largest with {top:,} new states at depth {levels.index(top)}"
        linear = _figure(line(says, levels, across="depth"), "new states in each level")
        log = _figure(line(says, levels, across="depth", is_log=True), "new states in each level, logarithmic")
        yield element("div", linear, log, class_="plots")
    if any(run.exploration.fired):
        yield _figure(bars("how often each action fired", _actions(run.exploration)), _coverage(run.exploration))


def _actions(exploration: Exploration) -> list[Bar]:
    instance, off, silent = exploration.instance, disabled_actions(exploration.instance), never_fired(exploration)
    rows = []
    for slot, one in enumerate(instance.model.actions):
        if instance.alternatives[slot] is None:
            continue
        fired, new = exploration.fired[slot], exploration.new[slot]
        says, kind = f"{fired:,} fired, {new:,} new", "bar"
        if slot in off:
            says, kind = "disabled by the configuration", "off"
        elif one.name in silent:
            says, kind = "\u26a0 never fired", "never"
        rows.append(Bar(one.name, fired, new, says, kind))
    return rows


def _coverage(exploration: Exploration) -> str:
    silent = never_fired(exploration)
    says = "how often each action fired, and (darker) how many new states it reached"
    if silent and exploration.stopped == "decided":
        return (
            f"{says}; the search ended when every property was decided, before {counted(len(silent), 'action')} fired"
        )
    return f"{says}; {counted(len(silent), 'action')} never fired" if silent else says


def _figure(plot: Element, caption: str) -> Element:
    return element("figure", plot, element("figcaption", caption))
