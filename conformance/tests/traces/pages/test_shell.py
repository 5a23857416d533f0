"""The shell of every page: escaping, content policy, colours; alone, or with a style and a script in the folder."""

from __future__ import annotations

import colorsys
from pathlib import Path

import pytest

from conformance.tests.support.markup import Parts
from isrcheck.models.messages import UsageError
from isrcheck.traces.pages.folder import begin, sharing, write_all
from isrcheck.traces.pages.markup import Element, append, as_html, as_xml, clean, data, element
from isrcheck.traces.pages.parts import index_of, meanings, row_heading, table
from isrcheck.traces.pages.shell import COLOURS, Page, text_page

EVIL = "</script><script>alert(1)</script>\x1b"


def spelled(made: Element) -> str:
    return as_html(made).removeprefix("<!DOCTYPE html>\n").rstrip("\n")


def test_text_is_escaped_once() -> None:
    assert spelled(element("a", "1 < 2 & 3", href='"x"')) == '<a href="&quot;x&quot;">1 &lt; 2 &amp; 3</a>'
    assert spelled(element("p", element("b", "<"), "!", class_="x", id=None)) == '<p class="x"><b>&lt;</b>!</p>'
    assert spelled(element("g", x=1.041, y=2.0, fill_opacity=0.15)) == '<g x="1.04" y="2" fill-opacity="0.15"></g>'
    assert append(element("p"), "x", "y").text == "xy"
    assert clean("a\x1b[31m\x00\x85\u202e\ud800\ufffe b\t\n") == "a\ufffd[31m" + "\ufffd" * 5 + " b\t\n"
    assert as_xml(element("a", "\x1b")) == '<?xml version="1.0" encoding="UTF-8"?>\n<a>\ufffd</a>\n'


def test_a_page_alone_runs_its_own_script_and_loads_nothing() -> None:
    page = Page(EVIL, [element("p", EVIL), data("data", {"text": EVIL})], scripts=["let x = 1;\n"])
    parts = Parts(page.alone())
    assert parts.addresses == []
    assert parts.tags.count("script") == 2
    assert parts.policy == page.policy
    assert page.policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
    assert page.policy != Page(EVIL, page.content).policy, "the policy names this script"
    assert "script-src" not in Page(EVIL, (), has_scripts=False).policy
    assert "\x1b" not in parts.page


def test_pages_of_a_folder_share_one_style_and_one_script() -> None:
    pages = {
        "index.html": text_page("one", [EVIL]),
        "deep/two.html": Page("two", [EVIL], styles=["p{}\n"], scripts=["let x = 1;\n"]),
        "notes.txt": "as it is",
    }
    texts = sharing(pages)
    assert list(texts) == [*pages, "style.css", "script.js"]
    assert texts["notes.txt"] == "as it is"
    assert texts["style.css"].endswith("p{}\n") and texts["script.js"].endswith("let x = 1;\n")
    index, deep = Parts(texts["index.html"]), Parts(texts["deep/two.html"])
    assert index.addresses == ["style.css", "script.js"]
    assert deep.addresses == ["../style.css", "../script.js"]
    for parts in (index, deep):
        (nonce,) = {one.attributes["nonce"] for one in parts.found if "nonce" in one.attributes}
        assert parts.policy == (
            f"default-src 'none'; style-src-elem 'nonce-{nonce}'; style-src-attr 'unsafe-inline';"
            f" script-src 'nonce-{nonce}'"
        )
    assert index.policy != deep.policy
    assert texts["deep/two.html"] == sharing(pages)["deep/two.html"], "the same page each time"


def test_a_table_has_headings_and_an_index_its_verdicts() -> None:
    made = table(["", "what"], [[row_heading("a"), EVIL]], "caption", id="rows")
    assert Parts(spelled(made)).rows == [["", "what"], ["a", clean(EVIL)]]
    assert Parts(spelled(made)).tags == ["table", "caption", "thead", "tr", "th", "th", "tbody", "tr", "th", "td"]
    assert spelled(meanings([("a", "b")])) == "<dl><dt>a</dt><dd>b</dd></dl>"
    assert Parts(index_of("none", (), ()).alone()).named("li") == []


def test_a_folder_that_has_files_is_refused(tmp_path: Path) -> None:
    begin(tmp_path / "new", "with -o DIR")
    assert write_all(tmp_path / "new", {"a.html": "text"}) == [tmp_path / "new" / "a.html"]
    with pytest.raises(UsageError, match=r"has files, which are not overwritten; give a new folder with -o DIR$"):
        begin(tmp_path / "new", "with -o DIR")


# ------------------------------------------------------------------------------------------------------------- colours


def test_changed_and_lost_have_different_hues() -> None:
    """At least a quarter of the circle apart."""
    for side in (0, 1):
        hues = []
        for name in ("changed", "bad"):
            parts = [int(COLOURS[name][side][at : at + 2], 16) / 255 for at in (1, 3, 5)]
            hues.append(colorsys.rgb_to_hsv(*parts)[0])
        apart = abs(hues[0] - hues[1])
        assert min(apart, 1 - apart) > 0.25


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    ("front", "back"),
    [
        *(("ink", name) for name in ("paper", "panel", "band", *(f"e{epoch}" for epoch in range(8)))),
        *(("faint", name) for name in ("paper", "panel")),
        *((name, f"{name}paper") for name in ("bad", "warn", "good")),
        *((name, "paper") for name in ("bad", "warn", "good", "accent", "changed")),
    ],
)
def test_text_has_enough_contrast(front: str, back: str, side: int) -> None:
    """WCAG 2.2, 1.4.3: a contrast of at least 4.5."""
    lighter, darker = sorted((luminance(COLOURS[front][side]), luminance(COLOURS[back][side])), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5
