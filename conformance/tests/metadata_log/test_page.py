"""The page of a history: its tables and marks, hostile names, and its filter and keys in a real browser."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from conformance.tests.metadata_log.building import (
    REAL,
    change,
    folder,
    metadata,
    partition,
    records,
    spelled_id,
    topic,
)
from conformance.tests.support.browser import Page, chromium, contrast
from isrcheck.commands.exit_codes import DONE, USAGE


def tags(page: Path, tag: str) -> list[str]:
    """The texts of all elements of a page with this tag."""
    found = re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", page.read_text(encoding="utf-8"))
    return [re.sub(r"<[^>]*>", "", text) for text in found]


def test_the_page_has_the_table(capsys, tmp_path):
    page = tmp_path / "history.html"
    told = metadata(capsys, REAL / "unclean", "--topic", "t", "--page", page)
    assert (told.code, told.errors) == (DONE, "")
    assert told.out.splitlines()[-1] == f"written: {page}"
    (title, events) = tags(page, "summary")
    assert title.endswith(": 10 states1 unclean election2 states without a leader")
    assert events == "Brokers, topics, settings and features"
    text = page.read_text(encoding="utf-8")
    row = text[text.index(">139</th>") :].partition("</tr>")[0]
    assert re.findall(r"<td(?: class=\"([^\"]*)\")?>([^<]*)", row) == [
        ("", "62.022 s"),
        ("", "4"),
        ("changed", "2"),
        ("changed e2", "2"),
        ("changed", "2"),
        ("changed", "-"),
        ("changed", "-"),
        ("", "1,2,3"),
        ("", "ISR, ELR, last known ELR, leader, recovery, UNCLEAN ELECTION"),
    ]
    marks = Counter(re.findall(r"<th class=\"(\w+)\" scope=\"row\"|<th scope=\"row\" class=\"(\w+)\"", text))
    assert sorted((a or b, number) for (a, b), number in marks.items()) == [("leaderless", 2), ("unclean", 1)]


def test_the_page_loads_nothing_and_runs_only_its_own_script(capsys, tmp_path):
    page = tmp_path / "history.html"
    metadata(capsys, REAL / "unclean", "--page", page)
    text = page.read_text(encoding="utf-8")
    assert "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" in text
    assert not re.search(r"<(?:link|img|iframe)|(?:src|href)=", text)


def test_the_object_stays_whole(capsys, tmp_path):
    page = tmp_path / "history.html"
    assert metadata(capsys, REAL / "unclean", "--json", "--page", page).json["verdict"] == "READ"
    assert page.exists()


def test_a_page_is_not_overwritten(capsys, tmp_path):
    page = tmp_path / "history.html"
    page.write_text("kept")
    told = metadata(capsys, REAL / "unclean", "--page", page)
    refused = f"conform: {page}: it exists already and is not overwritten; give another --page FILE.html\n"
    assert (told.code, told.out, told.errors) == (USAGE, "", refused)
    assert page.read_text() == "kept"


HOSTILE = "<script>alert(1)</script>\"' onload=x \u202e"


def test_a_hostile_name_is_text(capsys, tmp_path):
    name = topic("t").replace(b"\x02t", bytes([len(HOSTILE.encode()) + 1]) + HOSTILE.encode(), 1)
    page = tmp_path / "history.html"
    metadata(capsys, folder(tmp_path, records(name, partition("t", 0, 1, 2))), "--page", page)
    text = page.read_text(encoding="utf-8")
    assert "<script>alert" not in text and "\u202e" not in text
    escaped = "&lt;script&gt;alert(1)&lt;/script&gt;\"' onload=x \ufffd"
    assert f"<summary>{escaped}-0 (topic id {spelled_id('t')}): 1 state</summary>" in text


def test_of_many_partitions_those_that_matter(capsys, tmp_path):
    values = [topic("t"), *(partition("t", number, 1, 2) for number in range(1001))]
    values.append(change("t", 700, isr=(), leader=-1))
    page = tmp_path / "history.html"
    metadata(capsys, folder(tmp_path, records(*values)), "--page", page)
    assert [title.partition(" ")[0] for title in tags(page, "summary")[:-1]] == ["t-700"]
    assert "1,000 more partitions are not on this page: name them with --topic or --partition." in tags(page, "p")


@pytest.mark.exhaustive
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(capsys, tmp_path, scheme):
    """The filter, the keys, both colours, a narrow window, and no request but for the page."""
    values = [topic("orders"), topic("t"), *(partition("t", number, 1, 2) for number in range(20))]
    values += [partition("orders", 0, 1, 2), change("orders", 0, isr=(), leader=-1, elr=(1,), last_known_elr=(1,))]
    values += [change("t", 3, isr=(2,), leader=2), change("t", 3, isr=(), leader=-1), change("t", 3, leader=1)]
    path = tmp_path / "history.html"
    metadata(capsys, folder(tmp_path, records(*values)), "--page", path)
    with chromium() as browser:
        visit = Page(browser, path, width=390, scheme=scheme)
        with visit as page:
            assert page.text_content("#shown") == "21 of 21 partitions"
            assert page.eval_on_selector_all("main > details[open]", "all => all.map(one => one.dataset.name)") == [
                "orders-0",
                "t-3",
            ]
            for selector in ("td", "th", ".sign", "p", ".legend span"):
                assert contrast(page, selector) >= 4.5, selector
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            page.keyboard.press("n")
            page.keyboard.press("n")
            assert page.evaluate("document.activeElement.closest('details').dataset.name") == "t-3"
            page.keyboard.press("n")
            assert "UNCLEAN ELECTION" in page.evaluate("document.activeElement.closest('tr').textContent")
            page.keyboard.press("/")
            page.keyboard.type("ORDERS-")
            assert page.text_content("#shown") == "1 of 21 partitions"
            page.fill("#name", "")
            page.check("#notable")
            assert page.text_content("#shown") == "2 of 21 partitions"
            visit.keep(f"history-{scheme}")
        assert (visit.complaints, len(visit.requests)) == ([], 1)
