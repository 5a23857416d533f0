"""Trace pages in a real browser: loading, control by mouse and keyboard, agreement with the trace."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support import trace as trace_support
from conformance.tests.support.browser import DARK, GROUND, LIGHT, SIZES, Page, await_ground, contrast, follow, overlaps
from conformance.tests.support.places import PROJECT
from conformance.tests.traces.drawing.test_drawing import EVIL, SHOWN, evil
from isrcheck.traces.drawing.page import PageText, page, page_of
from isrcheck.traces.drawing.scene import scene_of, variable_parts
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.kafka.lanes import shown_fields
from isrcheck.traces.kafka.scene import BAD

pytestmark = [pytest.mark.exhaustive, pytest.mark.sampled]
"""A real browser takes ten seconds; checker/reports/test_browser.py runs one with `make test`."""

WIDTHS = (390, 1280, 1920)
LAST = len(trace_support.READ_TWICE)
"""The number of the last step of the page that most tests open."""

EMPTY_PICTURE = 10_000
"""More bytes than a picture of an empty page has."""

CONTRAST = 4.5
"""The least contrast of text by WCAG 2.2, 1.4.3."""

long_walk = lru_cache(trace_support.long_walk)
"""60 steps on 5 brokers, in which everything happens that a random walk does."""


def read_twice() -> Trace:
    return trace_support.kafka(trace_support.READ_TWICE, "consistent_read", None, "0.11")


TRACES = {
    "read_twice": read_twice,
    "long_walk": long_walk,
    "transaction": lambda: trace_support.kafka(
        trace_support.TRANSACTION, None, None, "2.1", transactions=1, log_size=3
    ),
    "missed_demotion": lambda: trace_support.kafka(
        trace_support.MISSED_DEMOTION, "isr_is_complete", None, "2.1", elections=3, preferred_elections=1
    ),
    "another_model": trace_support.weak_isr,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    for name, trace in TRACES.items():
        (made / f"{name}.html").write_text(page(trace()).alone(), encoding="utf-8")
    return made


@pytest.fixture
def opened(browser: Any, folder: Path) -> Iterator[Any]:
    """The page of a trace in which readers see another record than before."""
    with Page(browser, folder / "read_twice.html") as page_of_trace:
        yield page_of_trace


def shown(browser_page: Any) -> dict[str, str]:
    """The table of variables that the page shows."""
    script = "r => [r.cells[0].textContent, r.cells[1].dataset.value]"
    return dict(browser_page.evaluate(f"() => [...document.querySelectorAll('#variables tr')].map({script})"))


def texts(browser_page: Any, selector: str) -> list[str]:
    found: list[str] = browser_page.evaluate(
        f"() => [...document.querySelectorAll('{selector}')].map(r => r.innerText)"
    )
    return found


def position(browser_page: Any) -> int:
    return int(browser_page.evaluate("() => document.body.dataset.step"))


def await_step(browser_page: Any, step: int) -> None:
    """Wait until the page shows a step: it follows a change of its address a moment later."""
    browser_page.wait_for_selector(f"body[data-step='{step}']")


@pytest.mark.parametrize("name", TRACES)
def test_a_page_loads_without_further_requests(name: str, browser: Any, folder: Path) -> None:
    opened = Page(browser, folder / f"{name}.html")
    with opened as shown_page:
        assert position(shown_page) == 0
        assert opened.complaints == []
        assert opened.requests == [(folder / f"{name}.html").as_uri()]


@pytest.mark.parametrize("name", ["read_twice", "transaction"])
def test_every_value_matches_the_trace_at_every_step(name: str, browser: Any, folder: Path) -> None:
    trace = TRACES[name]()
    with Page(browser, folder / f"{name}.html") as opened:
        for number, cells in enumerate(trace.states):
            assert position(opened) == number
            expected = [
                part for place in shown_fields(trace.instance) for part in variable_parts(trace.instance, place, cells)
            ]
            found = shown(opened)
            assert list(found.values()) == expected
            assert len(found) == len(expected), "every part has a name of its own"
            opened.keyboard.press("ArrowRight")
        assert position(opened) == trace.length


def test_changed_variables_show_their_former_values(opened: Any) -> None:
    opened.keyboard.press("ArrowRight")
    opened.click("summary")
    changed = texts(opened, "#variables .changed")
    assert changed == [
        "log_record[0]\t[none none] → [a none]",
        "log_epoch[0]\t[none none] → [0 none]",
        "epoch_cache[0]\t[none none none] → [0 none none]",
        "log_end_offset[0]\t0 → 1",
        "next_record\t0 → 1",
        "pending[a]\tnone → 0",
    ]


def test_keys_and_the_way_back(opened: Any) -> None:
    keys = ("ArrowLeft", "ArrowRight", "ArrowDown", "j", "k", "ArrowUp", "End", "ArrowRight", "Home")
    for key, expected in zip(keys, (0, 1, 2, 3, 2, 1, LAST, LAST, 0), strict=True):
        opened.keyboard.press(key)
        assert position(opened) == expected
        assert opened.evaluate("() => location.hash") in ("", f"#step={expected}")
    opened.focus("#slider")
    opened.keyboard.press("ArrowRight")
    assert position(opened) == 1, "one step, also where the slider has the focus"
    opened.click("#next")
    opened.go_back()
    await_step(opened, 1)  # the way back leads to the step before
    opened.go_back()
    await_step(opened, 0)


def test_play_and_pause(opened: Any) -> None:
    opened.keyboard.press("End")
    entries = opened.evaluate("() => history.length")
    opened.evaluate("() => { window.setInterval = (step) => { window.tick = step; return 1; }; }")
    opened.keyboard.press(" ")
    assert (position(opened), opened.locator("#play").inner_text()) == (0, "⏸ pause"), "from the start again"
    for expected in range(1, LAST + 1):
        opened.evaluate("() => window.tick()")
        assert position(opened) == expected
        assert opened.evaluate("() => location.hash") == f"#step={expected}"
    assert opened.locator("#play").inner_text() == "▶ play"
    assert opened.evaluate("() => history.length") == entries, "steps that pass by are not on the way back"
    opened.click("#play")
    opened.keyboard.press(" ")
    assert opened.locator("#play").inner_text() == "▶ play"


def test_the_mouse(opened: Any) -> None:
    box = opened.locator("#slider").bounding_box()
    opened.mouse.move(box["x"] + 8, box["y"] + box["height"] / 2)
    opened.mouse.down()
    opened.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2, steps=5)
    opened.mouse.up()
    assert position(opened) == LAST
    assert opened.locator("#slider").input_value() == str(LAST)
    opened.click("#back")
    assert position(opened) == LAST - 1
    opened.click("#first")
    opened.click("#next")
    assert position(opened) == 1
    opened.click("#last")
    assert position(opened) == LAST
    opened.click("#row-2 .step")  # a link
    await_step(opened, 2)
    opened.click("aside .told a >> nth=0")
    await_step(opened, LAST - 1)  # the first step that the explanation names


def test_the_address_of_a_page_selects_a_step(opened: Any) -> None:
    opened.goto(f"{opened.url}#step=8")
    assert position(opened) == 8
    assert opened.locator("#broken").inner_text() == "✗ false here: acked_not_lost, isr_is_complete"
    assert texts(opened, "#fates tr") == ["a\tsent @1 acked @4 committed @4 exposed @4 lost @8"]
    assert texts(opened, "#fates .bad") == ["lost @8"]
    assert set(BAD) == {"duplicated", "lost"}


def test_a_step_that_removes_a_record_shows_what_is_gone(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "classic.html"
    path.write_text(page(trace_support.kafka(trace_support.CLASSIC, "acked_not_lost")).alone(), encoding="utf-8")
    with Page(browser, path) as opened:
        opened.goto(f"{path.as_uri()}#step=5")
        gone = "() => [...document.querySelectorAll('#state .gone')].map(c => [c.textContent, c.className])"
        assert opened.evaluate(gone) == [["a0", "cell free gone changed"]]
        opened.keyboard.press("ArrowRight")
        assert opened.evaluate(gone) == []
        elected = opened.evaluate("() => document.querySelector('#state .lane.elected').innerText.split('\\n')[0]")
        assert elected == "broker 1"
        assert opened.locator("#row-6 .mark.election").all_inner_texts() == ["elects 1", "elected"]


ROLES = """() => [...document.querySelectorAll('.lane .role')].map((one) =>
  [one.textContent, one.parentNode.className, one.classList.contains('changed')])"""


def test_a_line_that_says_the_same_as_before_is_not_changed(browser: Any, folder: Path) -> None:
    """An election makes a stale leader of another broker, whose variables stay: the border of its card tells."""
    with Page(browser, folder / "missed_demotion.html") as opened:
        before, borders = opened.evaluate(ROLES), 0
        for _ in trace_support.MISSED_DEMOTION:
            opened.keyboard.press("ArrowRight")
            now = opened.evaluate(ROLES)
            for (old, was, _), (new, kind, is_changed) in zip(before, now, strict=True):
                assert is_changed == (old != new), new
                borders += old == new and was != kind
            before = now
    assert borders > 1


def test_the_page_shows_the_reason(opened: Any) -> None:
    assert opened.locator("h1").inner_text() == (
        "Readers see record b at offset 0, where others saw record a: broker 2 takes broker 1 out of the ISR"
    )
    why = opened.locator("aside .why").inner_text()
    assert "consistent_read is false" in why
    assert "for leader = 2, offset = 0" in why
    assert "s.log_record[2][0] = b, s.exposed_record[0] = a" in why
    told = opened.locator("aside .told").inner_text()
    assert "offset 0: broker 2 shows record b, where record a was read first" in told
    assert "not permitted: no unclean election" in told
    assert opened.locator(".command").inner_text() == trace_support.COMMAND
    signs = opened.locator(".legend dd").all_inner_texts()
    for sign in ("changed by this step", "a stale leader", "high watermark", "log end offset", "the followers'"):
        assert any(one.startswith(sign) for one in signs), sign


PLACES = """
  apart('regions', all(document, 'header, #controls, #ladder, #state, aside').filter(([name]) =>
    innerWidth >= 1000 || (name !== 'state' && name !== 'controls')));
  apart('header', all(document, 'header > *'));
  apart('controls', all(document, '#controls > *').filter(([, b]) => b.height));
  apart('beside', all(document, 'aside > *').filter(([, b]) => b.height));
  apart('cards', all(document, '#lanes > *'));
  for (const card of document.querySelectorAll('#lanes > *')) {
    apart('card', [...card.children].filter((one) => !one.matches('.pointers')).map(box));
    apart('pointers', all(card, '.pointer'));
    const around = card.getBoundingClientRect();
    for (const [name, b] of all(card, '.cell, .pointer, li')) {
      const isInside = b.left >= around.left && b.right <= around.right && b.bottom <= around.bottom;
      if (!isInside) found.push(name + ' leaves its card');
    }
  }
  for (const row of document.querySelectorAll('.moment')) {
    apart('row ' + row.id, all(row, '.words, .step code, .messages .text'));
    const around = row.getBoundingClientRect();
    for (const [name, b] of all(row, '.messages .text, .messages .line')) {
      if (b.left < around.left - 1 || b.right > around.right + 1) found.push(name + ' leaves the ladder');
    }
  }
"""
"""Nothing overlaps, and nothing leaves its frame."""

PLACES += SIZES

ENTRIES = (
    """
  for (const entry of document.querySelectorAll('.entries > li')) apart('entry', all(entry, ':scope > *'));
"""
    + SIZES
)

IN_STEP = """() => {
  const row = document.querySelector('.moment.current'), state = document.getElementById('state');
  const seen = row.querySelector('.step').getBoundingClientRect();
  return [row.id, row.querySelector('.words').textContent, document.getElementById('state-title').textContent,
    row.contains(state), seen.top >= 0 && seen.bottom <= innerHeight];
}"""
"""The step of the ladder and of the state, whether the state stands in the ladder, and whether its step is visible."""


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        *(("read_twice", width, "light") for width in WIDTHS),
        ("transaction", 390, "dark"),
        ("another_model", 390, "light"),
        ("long_walk", 1280, "dark"),
    ],
)
def test_every_width(name: str, width: int, scheme: str, browser: Any, folder: Path) -> None:
    opened = Page(browser, folder / f"{name}.html", width, 844 if width < 1000 else width * 5 // 8, scheme)
    words = scene_of(TRACES[name]()).moments
    with opened as shown_page:
        for key in ("ArrowRight", "End"):
            shown_page.keyboard.press(key)
            assert overlaps(shown_page, PLACES) == []
            at = position(shown_page)
            said = words[at].words
            assert shown_page.evaluate(IN_STEP) == [f"row-{at}", said, f"Step {at}: {said}", width < 1000, True]
        assert contrast(shown_page, "p, td, dt, dd, li, h1, h2, h3, .words, code, .step .number, .role") >= CONTRAST
        assert opened.keep(f"trace_page_{name}_{width}").stat().st_size > EMPTY_PICTURE


@pytest.mark.parametrize("width", WIDTHS)
def test_the_gallery_at_every_width(width: int, browser: Any) -> None:
    opened = Page(browser, PROJECT / "docs" / "gallery" / "index.html", width, 844)
    with opened as shown_page:
        assert overlaps(shown_page, ENTRIES) == []
        assert contrast(shown_page, "p, h1, h2 a, .mark, .verdict, .facts span") >= CONTRAST
        follow(shown_page, "text=A stale metadata record")
        assert shown_page.url.endswith("/docs/gallery/stale_record.html")
        shown_page.keyboard.press("End")
        assert overlaps(shown_page, PLACES) == []
        follow(shown_page, "text=index")
        assert shown_page.url.endswith("/docs/gallery/index.html")
        assert opened.complaints == []


def test_a_window_that_becomes_narrow_keeps_ladder_and_state_in_step(opened: Any) -> None:
    opened.keyboard.press("End")
    # The browser tells the page of its new width a little later.
    opened.set_viewport_size({"width": 390, "height": 844})
    opened.wait_for_function(f"() => ({IN_STEP})()[3]")
    opened.set_viewport_size({"width": 1280, "height": 800})
    opened.wait_for_function(f"() => !({IN_STEP})()[3]")


def test_the_check_for_overlaps_detects_one(opened: Any) -> None:
    opened.evaluate("() => { document.querySelector('#ladder').style.marginTop = '-60px'; }")
    assert overlaps(opened, PLACES)[0].startswith("regions: ")
    opened.evaluate("() => { document.querySelector('#ladder').style.marginTop = ''; }")
    opened.evaluate("() => { document.querySelector('h1').style.fontSize = '11px'; }")
    assert overlaps(opened, PLACES)[0].endswith(" has 11 px")


REFUSED = """Object.defineProperty(window, 'localStorage', {
  get() { throw new DOMException('Access is denied for this document.', 'SecurityError'); }
})"""
"""What a browser does that keeps nothing, as in a private window."""


def test_light_and_dark(browser: Any, folder: Path) -> None:
    for scheme, ground, other in (("dark", DARK, LIGHT), ("light", LIGHT, DARK)):
        with Page(browser, folder / "read_twice.html", scheme=scheme) as opened:
            assert opened.evaluate(GROUND) == ground
            opened.click("#theme")
            assert opened.evaluate(GROUND) == other


def test_light_or_dark_is_kept_on_the_next_page(browser: Any) -> None:
    opened = Page(browser, PROJECT / "docs" / "gallery" / "index.html")
    with opened as shown_page:
        assert shown_page.evaluate(GROUND) == LIGHT
        shown_page.click("#theme")
        assert shown_page.evaluate(GROUND) == DARK
        follow(shown_page, "text=A stale metadata record")
        await_ground(shown_page, DARK)
        shown_page.click("#theme")
        assert shown_page.evaluate(GROUND) == LIGHT
        shown_page.go_back()
        await_ground(shown_page, LIGHT)
        # A browser may have kept the page itself, as it was before the choice.
        shown_page.evaluate("() => { document.documentElement.dataset.theme = 'dark'; }")
        shown_page.evaluate("() => { dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })); }")
        assert shown_page.evaluate(GROUND) == LIGHT
        assert opened.complaints == []


def test_where_nothing_can_be_kept_a_choice_is_that_of_one_page(browser: Any, folder: Path) -> None:
    opened = Page(browser, folder / "read_twice.html")
    with opened as shown_page:
        shown_page.add_init_script(REFUSED)
        shown_page.reload()
        shown_page.click("#theme")
        assert shown_page.evaluate(GROUND) == DARK
        shown_page.keyboard.press("End")
        assert position(shown_page) == LAST
        shown_page.reload()
        assert shown_page.evaluate(GROUND) == LIGHT
        assert opened.complaints == []


def test_without_scripts_there_is_no_button_that_does_nothing(browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((PROJECT / "docs" / "gallery" / "index.html").as_uri())
    assert page.locator("h1").is_visible()
    assert not page.locator("#theme").is_visible()
    context.close()


ON_TOP = """() => {
  const box = document.activeElement.getBoundingClientRect();
  return document.activeElement.contains(document.elementFromPoint(box.left + 3, box.top + 3));
}"""


@pytest.mark.whole
@pytest.mark.parametrize("width", WIDTHS)
def test_a_step_that_has_the_focus_is_not_hidden(width: int, browser: Any, folder: Path) -> None:
    """The names of the lanes stay above the ladder."""
    with Page(browser, folder / "long_walk.html", width, 844) as opened:
        opened.locator("#ladder .step").last.focus()
        for step in range(30):
            opened.keyboard.press("Shift+Tab")
            assert opened.evaluate(ON_TOP), step


def test_printed_pages_are_light_and_fit_the_sheet(browser: Any, folder: Path) -> None:
    sheet = 720
    with Page(browser, folder / "read_twice.html", width=sheet, scheme="dark") as opened:
        opened.evaluate("() => { document.documentElement.dataset.theme = 'dark'; }")
        opened.emulate_media(media="print")
        assert opened.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert opened.evaluate("() => document.documentElement.scrollWidth") == sheet
        assert not opened.locator("#theme").is_visible()


def test_names_and_values_are_never_markup(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "evil.html"
    telling = PageText("VIOLATED", (), (), EVIL, [[EVIL]], [[]])
    path.write_text(page_of(evil(), telling).alone(), encoding="utf-8")
    opened = Page(browser, path)
    with opened as shown_page:
        shown_page.keyboard.press("End")
        assert opened.complaints == []
        assert shown_page.locator("h1").inner_text() == SHOWN
        assert shown_page.locator(".command").text_content() == SHOWN
        assert shown_page.evaluate("() => document.scripts.length") == 2
        assert "<script>alert(" in next(iter(shown(shown_page)))


def test_sixty_steps_on_five_brokers_are_less_than_a_megabyte(folder: Path) -> None:
    steps, megabyte = 60, 1_000_000
    assert long_walk().length == steps
    assert (folder / "long_walk.html").stat().st_size < megabyte
