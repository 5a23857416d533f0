"""The pages of reports in a real browser: one screen, from which every part and file is reached."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.tests.support.browser import Page, contrast, follow
from conformance.tests.support.places import PROJECT
from isrcheck.models.kafka.failures.report import reported

pytestmark = pytest.mark.exhaustive
"""A real browser takes ten seconds."""

REPORTS = PROJECT / "docs" / "reports"
WIDTH, HEIGHT = 1280, 800
"""The screen of a small laptop."""


@pytest.mark.sampled
@pytest.mark.parametrize("name", reported())
def test_a_page_is_one_screen(name: str, browser: Any) -> None:
    opened = Page(browser, REPORTS / name / "index.html", WIDTH, HEIGHT)
    with opened as shown:
        assert shown.evaluate("document.documentElement.scrollHeight") <= HEIGHT
        assert shown.locator("details[open]").count() == 0
        parts = shown.locator("summary")
        assert parts.count() == 7
        for number in range(7):
            parts.nth(number).click()
        assert shown.evaluate("document.documentElement.scrollHeight") > 2 * HEIGHT
        assert shown.evaluate("document.documentElement.scrollWidth") <= WIDTH
        assert contrast(shown, "p, dt, dd, li, th, td, summary, code") >= 4.5
        follow(shown, "text=history.html")
        assert shown.locator("#position").inner_text() != ""
        follow(shown, "text=index")
        assert shown.url.endswith(f"/{name}/index.html")
        assert opened.complaints == []


@pytest.mark.parametrize("width", [390, 1920])
def test_the_index_leads_to_each_report_at_every_width(width: int, browser: Any) -> None:
    opened = Page(browser, REPORTS / "index.html", width, 844)
    with opened as shown:
        for name, failure in reported().items():
            follow(shown, f'a[href="{name}/index.html"]')
            assert shown.locator("h1").inner_text().startswith(f"{failure.number}: ")
            assert shown.evaluate("document.documentElement.scrollWidth") <= width
            shown.go_back()
        assert opened.complaints == []
