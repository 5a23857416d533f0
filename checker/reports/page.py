"""The report as one HTML page, which has no script and loads no file; text from models and traces is escaped.

The page has two kinds of plots, both SVG: a line over depths, and labelled bars. Every point and bar has its value as a
tooltip, and every plot has a text that describes it. Colours and strokes are attributes, so that a plot is readable
even if a server removes the style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from isrcheck.checker.reports.content import Cell, Grid, Outcome, PropertyResult, ReportContent, SearchReport, TraceFile
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
from isrcheck.commands.exit_codes import INTERRUPTED, SAFE, UNDECIDED
from isrcheck.commands.program import product
from isrcheck.traces.pages.markup import Content, Element, append, beside, element
from isrcheck.traces.pages.parts import meanings, row_heading, table
from isrcheck.traces.pages.shell import Page

MOST_PLOTTED = 40
"""At most this many searches have plots; a sweep can have thousands of searches."""

MOST_OPEN = 3
"""The most searches that the page shows expanded; if there are more, all are collapsed."""

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


def page(report: ReportContent, when: str) -> Page:
    """Return the HTML page of a report, written at time `when`; it has no scripts, as build servers remove them."""
    content: list[Content] = [
        element("h1", report.heading),
        element("p", element("code", report.command), class_="quiet"),
    ]
    content += _banners(report)
    if report.grid.rows:
        content += [element("h2", "Verdicts"), element("div", _table(report), class_="wide"), _legend(report.grid)]
    content += [*_timings(report), *_searches(report)]
    if report.text:
        content += [element("h2", "The result as text"), element("pre", report.text)]
    files: list[Content] = [f"Written {when} by {product()}. For build servers: "]
    for name, says in (("junit.xml", "JUnit"), ("results.sarif", "SARIF"), ("test_regressions.py", "pytest")):
        files += [element("a", name, href=name), f" ({says})", ", "]
    content.append(element("p", *files[:-1], class_="quiet"))
    return Page(report.heading, content, "results", [beside(__package__, "page.css")], has_scripts=False)


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


# ---------------------------------------------------------------------------------------------------------- the table


def _table(report: ReportContent) -> Element:
    grid = report.grid
    anchors = {search.title: f"#search-{number}" for number, search in enumerate(report.searches)}
    columns = (element("a", name, href=anchors[name]) if name in anchors else name for name in grid.columns)
    rows = []
    for row in grid.rows:
        is_over_all = len(row.cells) == 1 < len(grid.columns)
        cells = (_cell(cell, len(grid.columns) if is_over_all else 1) for cell in row.cells)
        rows.append([*map(row_heading, row.headings), *cells])
    return table([*grid.corner, *columns], rows)


def _cell(cell: Cell, columns: int) -> Element:
    attributes = {"colspan": columns} if columns > 1 else {}
    if isinstance(cell, str):
        return element("td", cell, class_="says", **attributes)
    sign, kind, _ = LOOKS[cell.verdict.word]
    own = next(iter(cell.shown), None)
    text = element("a", cell.text, href=_page_of(own)) if own is not None else cell.text
    content: list[Content] = [element("span", element("span", sign, class_="sign"), text, class_="answer")]
    if own is not None:
        content.append(element("small", _file_of(own)))
    for trace_file in cell.traces:
        if trace_file is not own:
            says = f"{trace_file.trace.verdict} at step {trace_file.trace.length}"
            content.append(element("small", element("a", says, href=_page_of(trace_file)), ", ", _file_of(trace_file)))
    if cell.mark:
        content.append(element("small", f"\u2190 {cell.mark}"))
    elif cell.is_recorded:
        content.append(element("small", "as recorded"))
    return element("td", *content, class_=kind, **attributes)


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
    verdict = element("span", f"{sign} {word.value}{far}", class_=f"answer {kind}")
    heading = element("summary", search.title, " ", verdict)
    section = element("details", heading, id=f"search-{number}")
    if is_open:
        section.set("open", "open")
    if search.says:
        append(section, element("p", search.says))
    if run is not None:
        configuration, faults, bounds = search_summary(run)
        command: Content = element("code", run.command)
        facts = [("command", command), ("configuration", configuration), ("faults", faults), ("search", bounds)]
        append(section, element("p", verdict_line(run)), meanings(facts), *_totals(search, run))
        if is_drawn:
            append(section, *_plots(run))
    if search.lines:
        append(section, element("h3", "Proofs"), element("pre", "\n".join(search.lines)))
    for trace_file in search.others:
        link = element("a", trace_file.shows or trace_file.name, href=_page_of(trace_file))
        append(section, element("p", f"{trace_file.trace.verdict}: ", link, ", ", _file_of(trace_file)))
    return section


def _totals(search: SearchReport, run: Run) -> Iterator[Element]:
    """Yield the counts of a search, as the command prints them, and then the unreached `sometimes` properties."""
    if isinstance(run.exploration, BmcResult):
        lines = unrolled_lines(run.exploration)
    else:
        lines = totals(run.exploration, counts_once=run.counts_once)
        spark = run.part(SparkSummary)
        lines += [] if spark is None else spark.lines(run)
    second = run.part(Z3Agreement)
    lines += [] if second is None else unrolled_lines(second.result)
    yield element("p", *(content for text in lines for content in (text, element("br"))))
    sought = [result for result in search.judged if result.verdict.word in (Word.NOT_REACHED, Word.UNREACHABLE)]
    if sought:
        goals = "; ".join(f"{result.verdict.prop.name}: {result.text}" for result in sought)
        yield element("p", f"not reached, but required: {goals}")


def _plots(run: Run) -> Iterator[Element]:
    if isinstance(run.exploration, BmcResult):
        if len(run.exploration.times) > 1:
            says = "seconds of Z3 at each depth"
            yield _figure(line(says, run.exploration.times), says)
        return
    levels = run.exploration.levels
    if len(levels) > 1:
        top = max(levels)
        says = f"{counted(len(levels), 'level')}, the largest with {top:,} new states at depth {levels.index(top)}"
        linear = _figure(line(says, levels), "new states in each level")
        log = _figure(line(says, levels, is_log=True), "new states in each level, logarithmic")
        yield element("div", linear, log, class_="plots")
    if any(run.exploration.fired):
        yield _figure(bars("how often each action fired", _actions(run.exploration)), _coverage(run.exploration))


def _actions(exploration: Exploration) -> list[Bar]:
    instance, off, silent = exploration.instance, disabled_actions(exploration.instance), never_fired(exploration)
    rows = []
    for slot, action in enumerate(instance.model.actions):
        if instance.alternatives[slot] is None:
            continue
        fired, new = exploration.fired[slot], exploration.new[slot]
        says, kind = f"{fired:,} fired, {new:,} new", "bar"
        if slot in off:
            says, kind = "disabled by the configuration", "off"
        elif action.name in silent:
            says, kind = "\u26a0 never fired", "never"
        rows.append(Bar(action.name, fired, new, says, kind))
    return rows


def _coverage(exploration: Exploration) -> str:
    silent = never_fired(exploration)
    says, actions = "how often each action fired, and (darker) how many new states it reached", len(silent)
    if silent and exploration.stopped == "decided":
        return f"{says}; the search ended when every property was decided, before {counted(actions, 'action')} fired"
    return f"{says}; {counted(actions, 'action')} never fired" if silent else says


def _figure(plot: Element, caption: str) -> Element:
    return element("figure", plot, element("figcaption", caption))


# ---------------------------------------------------------------------------------------------------------------- plots

WIDTH, HEIGHT = 520, 260
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 12, 40
TICKS = 5
"""The approximate number of ticks on an axis."""

BARS, BAR, LABELS = 860, 18, 330
"""The width of a bar plot, the height of a bar with its gap, and the maximum width of the names."""

LETTER = 7.3
"""The width of a letter in a plot, with a margin. A name that does not fit is cut; its tooltip is the whole name."""


@dataclass(frozen=True)
class Bar:
    """A bar of a plot, of length `value`, between texts `name` (left) and `says` (right); `part` of it is darker."""

    name: str
    value: float
    part: float
    """The part of the value that is drawn darker."""
    says: str
    """The text after the bar."""
    kind: str = "bar"
    """The CSS class."""


def ticks(most: float) -> list[float]:
    """Return the marks of an axis: round numbers at equal distances from 0, up to the first that is at least `most`."""
    if most <= 0:
        return [0.0, 1.0]
    rough = most / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    count = math.ceil(most / step * (1 - 1e-9))
    return [round(step * number, 10) for number in range(count + 1)]


def log_ticks(most: float) -> list[float]:
    """Return the marks of a logarithmic axis: 1, 10 and further powers of ten, until one is at least `most`."""
    return [10.0**power for power in range(max(1, math.ceil(math.log10(max(most, 1)) * (1 - 1e-9))) + 1)]


def short(value: float) -> str:
    """Return a number in few characters, such as 950, 1.5k or 20M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def line(says: str, values: Sequence[float], *, is_log: bool = False) -> Element:
    """Draw a line plot of one value per depth, from 0; a logarithmic plot omits zeros. `says` describes the plot."""
    marks = log_ticks(max(values, default=1)) if is_log else ticks(max(values, default=1))
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    last = max(len(values) - 1, 1)

    def x(position: float) -> float:
        return round(LEFT + width * position / last, 1)

    def y(value: float) -> float:
        share = math.log10(value) / math.log10(marks[-1]) if is_log else value / marks[-1]
        return round(TOP + height * (1 - share), 1)

    body: list[Content] = []
    for mark in marks[:: max(1, math.ceil(len(marks) / 8))]:
        body.append(_rule(LEFT, y(mark), WIDTH - RIGHT, y(mark)))
        body.append(_text(short(mark), LEFT - 8, y(mark) + 4, "end"))
    for mark in dict.fromkeys(round(mark) for mark in ticks(last) if mark <= last):
        body.append(_rule(x(mark), HEIGHT - BOTTOM, x(mark), HEIGHT - BOTTOM + 5, "axis"))
        body.append(_text(f"{mark}", x(mark), HEIGHT - BOTTOM + 18, "middle"))
    body.append(_rule(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "axis"))
    body.append(_text("depth", LEFT + width / 2, HEIGHT - 5, "middle"))
    points = [(position, value) for position, value in enumerate(values) if value > 0 or not is_log]
    path = " ".join(f"{x(position)},{y(value)}" for position, value in points)
    body.append(element("polyline", points=path, fill="none", stroke="currentColor", stroke_width=2, class_="line"))
    for position, value in points:
        name = f"depth {position}: {value:,.10g}"
        body.append(element("circle", element("title", name), cx=x(position), cy=y(value), r=3, class_="dot"))
    return _plot(says, WIDTH, HEIGHT, body)


def bars(says: str, rows: Sequence[Bar]) -> Element:
    """Draw a plot of horizontal bars, one below the other; `says` describes the plot."""
    most = max((row.value for row in rows), default=0) or 1
    left = min(LABELS, max((len(row.name) for row in rows), default=1) * LETTER + 12)
    room = max(BARS - left - max((len(row.says) for row in rows), default=1) * LETTER - 12, BAR)
    body: list[Content] = []
    for position, row in enumerate(rows):
        top = TOP + position * BAR
        length, part = (round(room * value / most, 1) for value in (row.value, row.part))
        tooltip = element("title", f"{row.name}: {row.says}")
        shown = row.name if len(row.name) * LETTER <= left else row.name[: int(left / LETTER) - 2] + "\u2026"
        parts = [
            tooltip,
            _text(shown, left - 8, top + 12, "end"),
            _bar(left, top, max(length, 1), 0.4),
            _bar(left, top, part, 1),
            _text(row.says, left + max(length, 1) + 6, top + 12, "start"),
        ]
        body.append(element("g", *parts, class_=row.kind))
    return _plot(says, BARS, TOP * 2 + BAR * len(rows), body)


def _plot(says: str, width: float, height: float, body: Sequence[Content]) -> Element:
    view, about = f"0 0 {width} {height}", {"role": "img", "aria_label": says, "class_": "plot"}
    return element("svg", *body, viewBox=view, width=width, height=height, **about)


def _bar(left: float, top: float, length: float, opacity: float) -> Element:
    look: dict[str, str | float] = {"fill": "currentColor", "fill_opacity": opacity, "class_": "length"}
    return element("rect", x=left, y=top + 2, width=length, height=BAR - 6, **look)


def _rule(x1: float, y1: float, x2: float, y2: float, kind: str = "rule") -> Element:
    opacity = 0.15 if kind == "rule" else 0.6
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke="currentColor", stroke_opacity=opacity, class_=kind)


def _text(text: str, x: float, y: float, anchor: str) -> Element:
    return element("text", text, x=round(x, 1), y=round(y, 1), text_anchor=anchor, fill="currentColor", font_size=12)
