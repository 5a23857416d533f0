"""The report in a real headless browser: it loads nothing, runs no script, and everything is visible."""

from __future__ import annotations

import pytest

from conformance.tests.support.browser import Page, contrast
from conformance.tests.support.engine import checking
from conformance.tests.support.report import HOSTILE, NAME
from isrcheck.checker import cli
from isrcheck.commands.exit_codes import VIOLATED


@pytest.mark.sampled
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(browser, tmp_path, monkeypatch, capsys, scheme):
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).write_text(HOSTILE, encoding="utf-8")
    assert checking(cli.main, capsys)(NAME, "--report", "DIR")[0] == VIOLATED
    path = tmp_path / "DIR" / "index.html"
    opened = Page(browser, path, scheme=scheme)
    page = opened.page
    assert (opened.complaints, opened.requests) == ([], [path.as_uri()])
    assert page.evaluate("document.documentElement.scrollWidth === innerWidth"), "nothing is wider than the window"
    assert page.locator("td.bad").count() == 2
    assert page.locator("td.bad .sign").all_inner_texts() == ["\u2717", "\u2717"]
    assert page.evaluate("document.querySelectorAll('script, img').length") == 0
    assert contrast(page, "td, th, p, li, dt, dd, h1, h2, summary, figcaption, pre") >= 4.5
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
    assert dark == (scheme == "dark")
    # Every text of a plot stands inside of it.
    outside = """() => [...document.querySelectorAll('svg')].map(svg => {
      const room = svg.getBoundingClientRect();
      return [...svg.querySelectorAll('text')].filter(text => {
        const box = text.getBoundingClientRect();
        return box.left < room.left - 1 || box.right > room.right + 1 || box.bottom > room.bottom + 1;
      }).length;
    })"""
    assert page.evaluate(outside) == [0, 0, 0]
    with page.expect_navigation():
        page.get_by_role("link", name="VIOLATED at step 3").click()
    assert page.url.startswith((tmp_path / "DIR" / "traces").as_uri())
    assert page.evaluate("document.querySelectorAll('img, iframe').length") == 0
    opened.context.close()
