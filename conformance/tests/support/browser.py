"""A real headless browser for the tests of pages; without one they are skipped, with the way to get one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.places import PROJECT

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARTEFACTS = PROJECT / ".artefacts"
"""The folder for screenshots, for inspection."""

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


APART = """() => {
  const found = [];
  const apart = (what, boxes) => boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
    const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (wide > 1 && high > 1) found.push(what + ': ' + a + ' and ' + b);
  }));
  const name = (one) => one.id || one.getAttribute('href') || one.textContent.slice(0, 40);
  const box = (one) => [name(one), one.getBoundingClientRect()];
  const all = (root, selector) => [...root.querySelectorAll(selector)].map(box);
"""
"""The beginning of a script that looks for overlaps."""

FOUND = """
  if (document.documentElement.scrollWidth > innerWidth) found.push('the page is wider than the window');
  return found;
}"""
"""And its end."""

SIZES = """
  for (const one of document.querySelectorAll('body *')) {
    const isText = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const size = parseFloat(getComputedStyle(one).fontSize);
    if (isText && size < 12) found.push(name(one) + ' has ' + size + ' px');
  }
"""
"""All text has at least 12 pixels."""

CONTRAST = """(selector) => {
  const light = text => {
    const part = value => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = text.match(/[0-9.]+/g).map(Number);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const filled = one => {
    const colour = one.matches('rect, circle') ? getComputedStyle(one).fill : 'none';
    return colour !== 'none' ? colour : one.previousElementSibling ? filled(one.previousElementSibling) : null;
  };
  const back = one => {
    const drawn = one instanceof SVGElement ? filled(one) : null;
    if (drawn) return drawn;
    const colour = getComputedStyle(one).backgroundColor;
    return colour === 'rgba(0, 0, 0, 0)' && one.parentElement ? back(one.parentElement) : colour;
  };
  const texts = [...document.querySelectorAll(selector)];
  return texts.length && Math.min(...texts.map(one => {
    const colour = getComputedStyle(one)[one instanceof SVGElement ? 'fill' : 'color'];
    const [dark, bright] = [light(colour), light(back(one))].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  }));
}"""


@contextmanager
def chromium() -> Iterator[Any]:
    """A running browser."""
    program = next((path for name in NAMES if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip(
            "no chromium here; get one with: apt-get install -y --no-install-recommends chromium fonts-dejavu-core"
        )
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'isrcheck[browser]'")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Page:
    """A page of a file or at an address, with its console messages, its dialogs and its network requests."""

    def __init__(
        self, browser: Any, place: Path | str, width: int = 1280, height: int = 800, scheme: str = "light"
    ) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(place.as_uri() if isinstance(place, Path) else place)

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def keep(self, name: str) -> Path:
        """Keep a screenshot."""
        ARTEFACTS.mkdir(exist_ok=True)
        path = ARTEFACTS / f"{name}.png"
        self.page.screenshot(path=path)
        return path


def follow(page: Any, link: str) -> None:
    """Click on the link or button that a selector finds, and wait for the place or page that it leads to."""
    with page.expect_navigation():
        page.click(link)


GROUND = "() => getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(20, 23, 28)"
"""The background of every page, in both themes."""


def await_ground(page: Any, colour: str) -> None:
    """Wait until a page that was just opened has this background. A choice that was made on the page before it reaches
    the browser's storage a moment later, so that the page may have to be loaded again."""
    for _ in range(50):
        if page.evaluate(GROUND) == colour:
            return
        page.wait_for_timeout(100)
        page.reload()
    assert page.evaluate(GROUND) == colour, page.url


def overlaps(page: Any, places: str) -> list[str]:
    """The elements of a page that overlap or lie outside, but must not. The script names these elements with
    `apart(what, all(document, selector))`, and may put more into `found`."""
    return list(page.evaluate(APART + places + FOUND))


def contrast(page: Any, selector: str) -> float:
    """The smallest contrast between text and its background, as accessibility guidelines define it; 4.5 is required.

    In a drawing, the background of a text is drawn before it in the same group.
    """
    return float(page.evaluate(CONTRAST, selector))
