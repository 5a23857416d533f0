"""The pages of the atlas in a real browser: filters, the address, three widths, and no request to anywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.checker.atlas.small_record import FACTS, SMALL, answers, found, part, whole
from conformance.tests.support.browser import DARK, GROUND, LIGHT, Page, await_ground, contrast, follow
from isrcheck.checker.answers.findings import Finding
from isrcheck.checker.answers.questions import Case, Question, Topic
from isrcheck.checker.atlas import folder, proofs
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import failures

pytestmark = pytest.mark.exhaustive
"""A real browser takes seconds."""

WIDTHS = (390, 1280, 1920)

SMALLEST = """() => Math.min(...[...document.querySelectorAll('body *')]
  .filter(one => one.getClientRects().length)
  .filter(one => [...one.childNodes].some(part => part.nodeType === 3 && part.data.trim()))
  .map(one => parseFloat(getComputedStyle(one).fontSize)))"""

SMALLEST_READABLE = 12
"""Pixels of a font."""

CUT = """() => [...document.querySelectorAll('td, th, button, .answer, nav a')]
  .filter(one => one.getClientRects().length && one.scrollWidth > one.clientWidth + 1)
  .map(one => one.textContent)"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("small")
    folder.ATLAS.put(made, folder.files_of([SMALL], FACTS))
    return made


@pytest.fixture(scope="module")
def all_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("atlas")
    folder.ATLAS.put(made, folder.files_of(whole(), FACTS))
    return made


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each case of the first table has an answer of its own, so that none share a row."""
    numbers: dict[object, int] = {}

    def reply(case: Case, question: Question) -> Finding | None:
        if question.topic is not Topic.LOSS:
            return answers(case, question)
        depth = numbers.setdefault(case, len(numbers))
        return found(Word.NO_VIOLATION, part(Word.NO_VIOLATION, depth))

    made = tmp_path_factory.mktemp("many")
    folder.ATLAS.put(made, folder.files_of(whole(reply)[:1], FACTS))
    return made


def shown(page: Any) -> list[str]:
    """The release, acks and min ISR of each row that is shown, with its answer."""
    script = "rows => rows.map(row => [1, 2, 4, 0].map(at => row.cells[at].textContent).join(' '))"
    return list(page.eval_on_selector_all("tbody tr", script))


OF_4_1 = ["4.1 1 2 Can lose records", "4.1 all 2 Known defects"]
OF_4_0 = [
    "3.7 \u2013 4.0 1 2 Can lose records",
    "3.7 \u2013 4.0 all 3 Cannot tell",
    "3.7 \u2013 4.0 all 2 Keeps its promises",
]


def test_filters_and_the_address(browser: Any, small: Path) -> None:
    opened = Page(browser, small / "index.html")
    with opened as page:
        assert shown(page) == OF_4_1
        assert page.inner_text("#shown") == "2 of 5 rows"
        page.click("text=show all")
        assert shown(page) == [OF_4_1[0], OF_4_0[0], OF_4_1[1], *OF_4_0[1:]]
        assert page.url.endswith("#all")
        page.select_option("[name=order]", label="by settings")
        assert shown(page) == [*OF_4_1, OF_4_0[0], OF_4_0[2], OF_4_0[1]]
        page.select_option("[name=order]", label="worst first")
        page.select_option("[name=acks]", label="all")
        page.select_option("[name=min-isr]", label="2")
        assert shown(page) == [OF_4_1[1], OF_4_0[2]]
        page.uncheck("[name=defects]")
        assert shown(page) == [OF_4_0[2]]
        address = page.url
        assert address.endswith("#acks=all&min-isr=2&without=defects")
        page.goto("about:blank")
        page.goto(address)
        assert shown(page) == [OF_4_0[2]]
        # A row stands for both values of a setting that makes no difference.
        page.goto(f"{(small / 'index.html').as_uri()}#acks=1&rebalance=off")
        assert shown(page) == [OF_4_1[0]]
        assert opened.complaints == []
        assert {one.partition("#")[0] for one in opened.requests} == {(small / "index.html").as_uri()}


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("kafka=4.1", OF_4_1),
        ("kafka=4.1.1", OF_4_1),
        ("kafka=3.7 \u2013 4.0", OF_4_0),
        ("kafka=3.7 - 4.0", OF_4_0),
        ("kafka=3.8", OF_4_0),
        ("kafka=3.9.1&acks=-1", OF_4_0[1:]),
        ("kafka=3.8 KRaft&acks=ALL", OF_4_0[1:]),
        ("kafka=4.1&acks=1&rebalance=false", OF_4_1[:1]),
    ],
)
def test_other_spellings_in_an_address(browser: Any, small: Path, words: str, rows: list[str]) -> None:
    with Page(browser, small / "index.html") as page:
        page.goto(f"{(small / 'index.html').as_uri()}#{words}")
        assert shown(page) == rows
        assert not page.is_visible(".told")


def test_a_filter_that_the_table_does_not_have_is_told(browser: Any, small: Path) -> None:
    """Answers of other releases are never shown in its place."""
    with Page(browser, small / "index.html") as page:
        page.goto(f"{(small / 'index.html').as_uri()}#acks=<b>&kafka=9.9&colour=red")
        assert shown(page) == []
        assert page.inner_text("#reasons") == (
            "Kafka 9.9 is not in this table. It has: 4.1, 3.7 \u2013 4.0. acks <b> is not in this table."
            " It has: 1, all. No row fits these filters."
        )
        assert page.inner_text("#unknown").startswith(
            "Left out, because this table has no such filter: colour. It has: kafka, acks, replicas,"
        )
        page.select_option("[name=acks]", label="1")
        assert shown(page) == []
        page.select_option("[name=kafka]", label="4.1")
        assert shown(page) == OF_4_1[:1]
        assert not page.is_visible(".told")
        assert page.url.endswith("#kafka=4.1&acks=1")


PRINTS = "dispatchEvent(new Event('beforeprint'))"
"""A printed page has all of its rows."""

MODES = """() => {
  const select = document.createElement('select');
  select.name = 'kafka';
  for (const [value, text] of [['', 'any'], ...LABELS.map((one, at) => [at, one])]) select.add(new Option(text, value));
  const found = {};
  for (const asked of ASKED) {
    askedFor.choose(select, asked);
    const mask = askedFor.mask(select);
    found[asked] = LABELS.filter((_, at) => mask & (1 << at));
  }
  return found;
}"""


def test_a_release_is_found_in_every_mode(browser: Any, small: Path) -> None:
    """What several options have becomes an option of its own; a patch release is in the range that it continues."""
    kraft, zookeeper, both = "3.7 \u2013 3.9 KRaft", "3.7 \u2013 3.9 ZooKeeper", "3.5 KRaft; 2.9 \u2013 3.5 ZooKeeper"
    labels = ["4.0 \u2013 4.1", kraft, zookeeper, both, "2.8.1 \u2013 2.8.9", "2.8", "0.8.0 \u2013 0.8.2"]
    expected = {
        "3.8": [kraft, zookeeper],
        "3.9.1": [kraft, zookeeper],
        "3.8 KRaft": [kraft],
        "4.0 kraft": labels[:1],
        "3.5": [both],
        "2.8": ["2.8"],
        "2.8.0": ["2.8"],
        "2.8.2": [labels[4]],
        "0.8.2.1": labels[6:],
        **{text: [] for text in ("3.6", "4.2", "3", "", "all")},
    }
    with Page(browser, small / "index.html") as page:
        script = MODES.replace("LABELS", json.dumps(labels)).replace("ASKED", json.dumps([*expected]))
        assert page.evaluate(script) == expected


def test_a_combination_that_is_no_case_has_no_row(browser: Any, all_tables: Path) -> None:
    """A row of one replica says any min.insync.replicas, of which it has one."""
    address = f"{(all_tables / 'index.html').as_uri()}#kafka=4.1&acks=all&replicas=1"
    with Page(browser, all_tables / "index.html") as page:
        page.goto(f"{address}&min-isr=1")
        assert len(shown(page)) > 0
        page.goto(f"{address}&min-isr=5")
        assert shown(page) == []
        assert page.inner_text("#told") == "No row fits these filters. clear the filters"
        page.click("text=clear the filters")
        assert len(shown(page)) > 0
        assert page.url.endswith("#all")
        assert not page.is_visible("#told")


AT_ONCE = 100
"""How many rows the script of the page makes at once."""


def test_rows_are_made_as_they_come_near(browser: Any, many_rows: Path) -> None:
    """A browser takes seconds to lay out some thousand rows."""
    with Page(browser, many_rows / "index.html") as page:
        page.click("text=show all")
        count = int(page.inner_text("#shown").split()[0])
        assert count > 2 * AT_ONCE
        assert len(shown(page)) == AT_ONCE
        assert page.inner_text("#rest") == f"{count - AT_ONCE} more rows follow as you scroll."
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        page.wait_for_function(f"() => document.querySelectorAll('tbody tr').length > {AT_ONCE}")
        page.evaluate(PRINTS)
        assert len(shown(page)) == count
        assert not page.is_visible("#rest")
        page.evaluate("scrollTo(0, 0)")  # at the end of the page, more rows would come near at once
        page.select_option("[name=acks]", label="all")
        assert len(shown(page)) == AT_ONCE


def test_a_link_that_has_the_focus_is_not_hidden(browser: Any, all_tables: Path) -> None:
    """On the way back, the window scrolls upwards: filters and headings stay above the rows."""
    script = """() => {
      const one = document.activeElement, box = one.getBoundingClientRect();
      return !one.closest('tbody') || one.contains(document.elementFromPoint(box.left + 3, box.top + 3));
    }"""
    for name in ("index.html", "all_index.html"):
        with Page(browser, all_tables / name) as page:
            page.evaluate("scrollTo(0, 1500)")
            page.evaluate("document.querySelectorAll('tbody a')[120].focus()")
            for step in range(30):
                page.keyboard.press("Shift+Tab")
                assert page.evaluate(script), (name, step)


def test_answers_lead_to_their_pages(browser: Any, small: Path) -> None:
    with Page(browser, small / "index.html") as page:
        follow(page, "text=lost after 3 steps")
        assert page.url.endswith("/traces/4.1_1.html")
        page.go_back()
        follow(page, "text=8.24")
        assert page.url.endswith("/defects/missed_demotion.html")
        page.go_back()
        follow(page, "text=no loss to depth 10")
        assert page.url.endswith("/searches/4.1.html#s1")


def test_light_or_dark_is_kept_on_every_page(browser: Any, small: Path) -> None:
    opened = Page(browser, small / "index.html")
    with opened as page:
        assert page.evaluate(GROUND) == LIGHT
        page.click("text=light / dark")
        assert page.evaluate(GROUND) == DARK
        names = ("index", "all_index", "traces/4.1_1", "searches/4.1", "defects/missed_demotion")
        for name in names:
            page.goto((small / f"{name}.html").as_uri())
            await_ground(page, DARK)
            assert page.is_visible("#theme"), name
            page.emulate_media(media="print")
            assert not page.is_visible("#theme"), name
            page.emulate_media(media="screen")
        assert opened.complaints == []


SEEN = """() => {
  const box = document.getElementById(location.hash.slice(1)).getBoundingClientRect();
  return box.top >= document.querySelector('nav').getBoundingClientRect().bottom && box.bottom <= innerHeight;
}"""
"""Whether that to which the address leads is in the window, and not under the links that stay above."""


def test_a_legend_says_what_the_words_of_the_searches_mean(browser: Any, small: Path) -> None:
    with Page(browser, small / "searches" / "4.1.html", 1280, 1000) as page:
        page.goto(f"{(small / 'searches' / '4.1.html').as_uri()}#s3")
        follow(page, "text=what the words mean")
        assert page.evaluate(SEEN)
        words = page.eval_on_selector_all(".legend dt", "all => all.map(one => one.textContent)")
        assert words == [
            *("the first line", "VIOLATED 6", "UNREACHABLE", "PERMITTED 2", "NO VIOLATION TO DEPTH 14", "HOLDS"),
            *("REACHED 1", "to the end", "to depth 14", "1,482 states"),
        ]
        follow(page, "text=the table")
        assert page.url.endswith("/index.html")


def test_searches_that_answer_again_stand_once(browser: Any, small: Path) -> None:
    with Page(browser, small / "searches" / "4.1.html") as page:
        link = page.locator("section a", has_text="Its searches.").first
        again = link.evaluate("one => one.parentNode.textContent.replace(' Its searches.', '')")
        with page.expect_navigation():
            link.click()
        assert page.evaluate(SEEN)
        section = page.locator("section", has=page.locator(page.url[page.url.index("#") :]))
        assert again in section.locator("p").all_inner_texts()
        assert section.locator("li code").first.inner_text().startswith("check kafka --protocol 4.1")


def test_the_script_shows_what_the_page_without_a_script_has(browser: Any, all_tables: Path) -> None:
    script = "rows => rows.map(row => row.outerHTML)"
    for name in ("index.html", "producers.html", "transactions.html"):
        with Page(browser, all_tables / name) as page:
            page.click("text=show all")
            page.evaluate(PRINTS)
            made = page.eval_on_selector_all("tbody tr", script)
        with Page(browser, all_tables / f"all_{name}") as page:
            assert page.eval_on_selector_all("tbody tr", script) == made
            assert made


@pytest.mark.parametrize("width", WIDTHS)
def test_everything_is_readable_at_every_width(browser: Any, all_tables: Path, width: int) -> None:
    for name in ("index.html", "all_transactions.html", "searches/4.1.html"):
        opened = Page(browser, all_tables / name, width, 844 if width == 390 else 1000)
        with opened as page:
            assert page.evaluate("document.documentElement.scrollWidth") == width, name
            assert page.evaluate(SMALLEST) >= SMALLEST_READABLE, name
            assert page.evaluate(CUT) == [], name
            opened.keep(f"atlas_{width}_{name.replace('/', '_')}")
            if width == 390 and not name.startswith(("all", "searches")):
                assert not page.is_visible("[name=acks], [name=verification]"), "filters are folded on a telephone"
                page.click("summary:has-text('Filters')")
                assert page.is_visible("[name=replicas]")


OVER_THE_EDGE = """() => [document.documentElement, ...document.querySelectorAll('#controls > *, aside li')]
  .filter(one => one.getBoundingClientRect().right > 390 || one.scrollWidth > 390)
  .map(one => one.id || one.tagName)"""


@pytest.mark.sampled
@pytest.mark.parametrize("part", range(4))
def test_the_page_of_every_known_failure_fits_a_telephone(browser: Any, tmp_path: Path, part: int) -> None:
    """What ends a failure has names of switches, in which only the style breaks a line."""
    made = dict(proofs.defect_pages([one.name for one in failures()][part::4]))
    folder.ATLAS.put(tmp_path, {name: text.alone().encode() for name, text in made.items()})
    first, *others = sorted(made)
    with Page(browser, tmp_path / first, 390, 844) as page:
        wide = {first: page.evaluate(OVER_THE_EDGE)}
        for name in others:
            page.goto((tmp_path / name).as_uri())
            wide[name] = page.evaluate(OVER_THE_EDGE)
    assert {name: over for name, over in wide.items() if over} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_their_background(browser: Any, all_tables: Path, scheme: str) -> None:
    with Page(browser, all_tables / "index.html", scheme=scheme) as page:
        assert contrast(page, "td, th, p, h1, nav a, label span, summary, button, output, .told, #rest") >= 4.5


def test_a_reader_without_scripts_is_led_to_the_whole_table(browser: Any, small: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((small / "index.html").as_uri())
    follow(page, "tbody >> text=all rows on one page")
    assert page.locator("tbody tr").count() == 5
    context.close()
