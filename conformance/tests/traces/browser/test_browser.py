"""`trace explore --browser` in a real browser: buttons, keys, the browser's own way back, sizes, and hostile text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.browser import DARK, GROUND, SIZES, Page, await_ground, contrast, overlaps
from conformance.tests.support.trace import COMMAND
from conformance.tests.traces.browser.test_walk_page import LOSS, MARKUP, classic, hostile
from conformance.tests.traces.browser.visitor import visiting
from conformance.tests.traces.terminal.test_walk import of_kafka
from isrcheck.traces.browser.site import WalkSite
from isrcheck.traces.format import files
from isrcheck.traces.terminal.walk import Walk

pytestmark = pytest.mark.exhaustive
"""A real browser takes ten seconds; checker/reports/test_browser.py runs one with `make test`."""

WIDTHS = {390: 844, 1280: 800}

PLACES = """
  apart('regions', all(document, 'header, #controls, #state, #next, aside, #ladder'));
  apart('controls', all(document, '#controls > *, #controls button'));
  apart('options', all(document, '#options li > *').filter(([, b]) => b.height));
  for (const button of document.querySelectorAll('#options button')) {
    apart('option', [...button.children].map(box));
    if (button.scrollWidth > button.clientWidth + 1) found.push('a button is too narrow: ' + button.textContent);
  }
"""


def position(page: Any) -> str:
    return str(page.locator("#position").inner_text())


def press(page: Any, words: str) -> None:
    """Press the button of a step, and wait for the page that answers."""
    with page.expect_navigation():
        page.get_by_role("button", name=words).click()


def test_a_walk_in_a_browser(browser: Any, tmp_path: Path) -> None:
    with visiting(WalkSite(classic(4), tmp_path, lambda _: None)) as visitor:
        address = visitor.server.address
        tab = Page(browser, address)
        page = tab.page
        assert (page.url, position(tab.page)) == (f"{address}step-4", "step 4 of 6")
        press(tab.page, "broker 1 restarts so quickly")
        assert (page.url, position(tab.page)) == (f"{address}step-5", "step 5 of 6")
        assert page.locator("#state-title").inner_text().startswith("Step 5: broker 1 restarts so quickly")
        assert page.locator("#lanes .lane").count() == 6
        assert page.locator("#broken").inner_text() == "✗ false here: isr_is_complete"
        assert page.locator(".turn").all_inner_texts() == [LOSS]
        press(tab.page, "the controller takes broker 0 for dead")
        assert (page.locator("h1").inner_text(), position(tab.page)) == (LOSS, "step 6")
        page.keyboard.press("s")
        page.wait_for_selector(".saved")
        (path,) = tmp_path.glob("*_1.itf.json")
        assert files.read(path).property_name == "acked_not_lost"
        page.keyboard.press("ArrowLeft")
        page.wait_for_url("**/step-5")
        page.go_back()
        page.wait_for_url("**/step-6")
        page.locator("#ladder .step").nth(2).click()
        page.wait_for_url("**/step-2")
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**/step-3")
        page.keyboard.press("/")
        page.keyboard.type("crash 2")
        assert page.locator("#options ol > li:visible").count() == 1
        page.keyboard.press("Enter")  # only a button takes a step
        page.keyboard.press("Escape")
        assert page.locator("#options ol > li:visible").count() == page.locator("#options ol > li").count() > 1
        page.keyboard.press("/")
        page.keyboard.type("crash 2")
        page.reload()
        assert page.locator("#filter").input_value() == "", "what is shown is what there is"
        assert page.locator("#options ol > li:visible").count() > 1
        other = Page(browser, address, 390, WIDTHS[390])
        assert position(other.page) == "step 3 of 6", "a second tab shows the present state"
        other.page.goto(f"{address}step-2")
        press(other.page, "broker 2 crashes")
        press(tab.page, "broker 0 crashes")
        assert page.locator(".notice").inner_text().startswith("Nothing was done: in another tab")
        assert all(url.startswith(address) for url in tab.requests + other.requests)
        assert [one for one in tab.complaints if "409" not in one] == other.complaints == []
        tab.context.close()
        other.context.close()


def test_light_or_dark_is_kept_on_the_next_step(browser: Any, tmp_path: Path) -> None:
    with visiting(WalkSite(classic(4), tmp_path, lambda _: None)) as visitor:
        tab = Page(browser, visitor.server.address)
        tab.page.get_by_role("button", name="light / dark").click()
        assert (tab.page.evaluate(GROUND), position(tab.page)) == (DARK, "step 4 of 6")
        press(tab.page, "broker 1 restarts so quickly")
        await_ground(tab.page, DARK)
        assert position(tab.page) == "step 5 of 6"
        assert tab.complaints == []
        tab.context.close()


@pytest.mark.sampled
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_everything_can_be_read(width: int, scheme: str, browser: Any, tmp_path: Path) -> None:
    for name, walk in {"begin": Walk(of_kafka(), COMMAND), "loss": classic(5)}.items():
        with visiting(WalkSite(walk, tmp_path, lambda _: None)) as visitor:
            tab = Page(browser, visitor.server.address, width, WIDTHS[width], scheme)
            for one in tab.page.locator("#options details").all()[:2]:
                one.evaluate("one => { one.open = true; }")
            wanted = PLACES.replace("header, #controls,", "header,") if width == 390 else PLACES  # it is fixed there
            assert overlaps(tab.page, wanted + SIZES) == []
            assert contrast(tab.page, "h1, h2, button:enabled span, button code, .promise, .button[href]") >= 4.5
            assert tab.complaints == []
            tab.keep(f"walk_{name}_{width}_{scheme}")
            tab.context.close()


def test_text_of_a_model_runs_nothing(browser: Any, tmp_path: Path) -> None:
    with visiting(WalkSite(hostile(tmp_path), tmp_path, lambda _: None)) as visitor:
        tab = Page(browser, visitor.server.address)
        assert tab.page.evaluate("() => [document.scripts.length, document.images.length]") == [2, 0]
        assert MARKUP in tab.page.locator("#next").text_content()
        assert MARKUP in tab.page.locator("#state").text_content()
        assert tab.complaints == []
        inserted = "() => { const s = document.createElement('script'); s.text = 'alert(3)'; document.body.append(s); }"
        tab.page.evaluate(inserted)
        assert tab.complaints
        assert all("Content Security Policy" in one for one in tab.complaints), "no script runs but those of the page"
        tab.context.close()
