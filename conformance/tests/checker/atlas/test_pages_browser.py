"""The pages of the atlas in a real browser: filters, the address, three widths, and no request to anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.tests.checker.atlas.small_record import FACTS, SMALL, whole
from conformance.tests.support.browser import Page, contrast
from isrcheck.checker.atlas.pages import defects, folder
from isrcheck.models.kafka.failures.catalogue import failures

pytestmark = pytest.mark.exhaustive
"""A real browser takes seconds."""

WIDTHS = (390, 1280, 1920)

SMALLEST = """() => Math.min(...[...document.querySelectorAll('body *')]
  .filter(one => one.getClientRects().length)
  .filter(one => [...one.childNodes].some(part => part.nodeType === 3 && part.data.trim()))
  .map(one => parseFloat(getComputedStyle(one).fontSize)))"""

CUT = """() => [...document.querySelectorAll('td, th, button, .answer, nav a')]
  .filter(one => one.getClientRects().length && one.scrollWidth > one.clientWidth + 1)
  .map(one => one.textContent)"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("small")
    folder.write(made, folder.files_of([SMALL], FACTS))
    return made


@pytest.fixture(scope="module")
def all_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("atlas")
    folder.write(made, folder.files_of(whole(), FACTS))
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
        page.goto(f"{(small / 'index.html').as_uri()}#acks=<b>&kafka=9.9")
        assert len(shown(page)) == 5, "an unknown value is no filter"
        assert opened.complaints == []
        assert {one.partition("#")[0] for one in opened.requests} == {(small / "index.html").as_uri()}


def test_answers_lead_to_their_pages(browser: Any, small: Path) -> None:
    with Page(browser, small / "index.html") as page:
        page.click("text=lost after 3 steps")
        assert page.url.endswith("/traces/4.1_1.html")
        page.go_back()
        page.click("text=8.24")
        assert page.url.endswith("/defects/missed_demotion.html")
        page.go_back()
        page.click("text=no loss to depth 10")
        assert page.url.endswith("/searches/4.1.html#s1")


def test_the_script_shows_what_the_page_without_a_script_has(browser: Any, all_tables: Path) -> None:
    script = "rows => rows.map(row => row.outerHTML)"
    for name in ("index.html", "producers.html", "transactions.html"):
        with Page(browser, all_tables / name) as page:
            page.click("text=show all")
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
            assert page.evaluate(SMALLEST) >= 12, name
            assert page.evaluate(CUT) == [], name
            opened.keep(f"atlas_{width}_{name.replace('/', '_')}")
            if width == 390 and not name.startswith(("all", "searches")):
                assert not page.is_visible("[name=acks], [name=verification]"), "filters are folded on a telephone"
                page.click("summary:has-text('Filters')")
                assert page.is_visible("[name=replicas]")


OVER_THE_EDGE = """() => [document.documentElement, ...document.querySelectorAll('#controls > *, aside li')]
  .filter(one => one.getBoundingClientRect().right > 390 || one.scrollWidth > 390)
  .map(one => one.id || one.tagName)"""


def test_the_page_of_every_known_failure_fits_a_telephone(browser: Any, tmp_path: Path) -> None:
    """What ends a failure has names of switches, in which only the style breaks a line."""
    made = dict(defects.pages([defects.address(one.name) for one in failures()]))
    folder.write(tmp_path, {name: text.encode() for name, text in made.items()})
    first, *others = sorted(made)
    with Page(browser, tmp_path / first, 390, 844) as page:
        found = {first: page.evaluate(OVER_THE_EDGE)}
        for name in others:
            page.goto((tmp_path / name).as_uri())
            found[name] = page.evaluate(OVER_THE_EDGE)
    assert {name: over for name, over in found.items() if over} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_their_background(browser: Any, all_tables: Path, scheme: str) -> None:
    with Page(browser, all_tables / "index.html", scheme=scheme) as page:
        assert contrast(page, "td, th, p, h1, nav a, label span, summary, button, output") >= 4.5


def test_a_reader_without_scripts_is_led_to_the_whole_table(browser: Any, small: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((small / "index.html").as_uri())
    page.click("tbody >> text=all rows on one page")
    assert page.locator("tbody tr").count() == 5
    context.close()
