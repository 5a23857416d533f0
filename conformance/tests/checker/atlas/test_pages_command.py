"""`isrcheck atlas -o DIR`: what it writes, what it says, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from conformance.tests.checker.atlas.small_record import CLUSTERS, DAY
from conformance.tests.checker.atlas.test_pages import followed_links
from conformance.tests.support.engine import checking
from isrcheck import __main__ as isrcheck
from isrcheck.checker import cli
from isrcheck.checker.answers.questions import Case, Question, Topic
from isrcheck.checker.atlas import folder
from isrcheck.commands.exit_codes import SAFE, USAGE

pytestmark = pytest.mark.sampled

ASKED = {"model": "kafka", "protocol": "4.1", "configuration": "acks=1 replicas=3", "says": "a broker crashes"}
ASKED |= {"replicas": 3, "asked": "acked_not_lost", "bound": None, "initial": None, "is_permitted": True, "choices": 1}
FOUND = {"property": "acked_not_lost", "word": "HOLDS", "depth": None, "judged": 9, "is_exhausted": True}
FOUND |= {"states": 4321, "day": DAY, "seconds": 0.5}


class SmallRecord:
    """A record in which one question about topics with acks=1 is answered."""

    def __init__(self) -> None:
        models = {"kafka": "0123456789abcdef"}
        self.header = {"cells": 1, "searches": 1, "limit": 60.0, "models": models, "texts": "as they are"}

    def searches(self, group: str, settings: str) -> object:
        """The searches of a question."""
        return [ASKED | FOUND] if group.startswith("loss | protocol=4.1 ") and settings == "1 3 1 0 1" else None


@pytest.fixture
def atlas(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(folder, "Record", SmallRecord)
    monkeypatch.setattr(folder, "clusters", lambda: CLUSTERS[1:])
    monkeypatch.setattr("isrcheck.checker.answers.recorded.texts_digest", lambda: "as they are")
    return checking(cli.main, capsys)


def test_the_folder_and_what_is_said(atlas, tmp_path):
    code, text, error = atlas("atlas", "-o", "pages")
    lines = text.splitlines()
    assert (code, error, lines[0]) == (SAFE, "", "pages/index.html")
    assert lines[1].endswith(": 180 cases of topics, 180 cases of producers, 15 cases of transactions")
    names = {one.relative_to(tmp_path / "pages").as_posix() for one in (tmp_path / "pages").rglob("*.*")}
    assert {"index.html", "all_producers.html", "searches/4.1.html", "isrcheck-atlas.json"} <= names
    page = (tmp_path / "pages" / "index.html").read_text()
    assert f"recorded {DAY}" in page
    assert "model <code>0123456789ab</code>" in page
    assert "1 question answered by 1 search, each of at most 60 seconds" in page
    assert "four are searched to depth 10 at most, and five to depth 8" in page
    assert '"no loss, to the end"' in page
    assert "check kafka --protocol 4.1 --acks 1" in (tmp_path / "pages/searches/4.1.html").read_text()


@pytest.mark.exhaustive
def test_an_earlier_atlas_is_replaced_and_nothing_else(atlas, tmp_path):
    made = tmp_path / "pages"
    made.mkdir()
    assert atlas("atlas", "-o", "pages")[0] == SAFE
    (made / "mine.txt").write_text("mine")
    (made / "searches" / "9.9.html").write_text("mine")
    marker = made / folder.ATLAS.marker
    marker.write_text(marker.read_text().replace("index.html", "../mine.html", 1))
    (tmp_path / "mine.html").write_text("mine")
    assert atlas("atlas", "-o", "pages")[0] == SAFE
    assert (made / "mine.txt").read_text() == (made / "searches" / "9.9.html").read_text() == "mine"
    assert (tmp_path / "mine.html").read_text() == "mine"


def test_without_pyarrow_one_line_says_so(atlas, monkeypatch):
    monkeypatch.setattr(folder, "is_installed", lambda: False)
    code, text, _ = atlas("atlas", "-o", "pages")
    assert code == SAFE
    assert text.splitlines()[-1] == (
        "atlas.parquet was left out, because the package pyarrow is not installed: pip install 'isrcheck[spark]'"
    )
    assert not Path("pages/atlas.parquet").exists()
    assert "parquet" not in Path("pages/index.html").read_text()


def test_a_record_of_another_model_is_not_used(atlas, monkeypatch):
    monkeypatch.setattr("isrcheck.checker.answers.recorded.texts_digest", lambda: "changed")
    code, text, _ = atlas("atlas", "-o", "pages")
    assert code == SAFE
    assert text.splitlines()[-1].endswith("left out: the models or the searches have changed since")
    assert '"no loss, to the end"' not in Path("pages/index.html").read_text()


def test_each_question_is_looked_up_once(monkeypatch):
    asked = []
    reading = folder.Reading(SmallRecord())
    monkeypatch.setattr(reading.recorded, "find", lambda case, question: asked.append(question))
    for _ in range(2):
        assert reading.answer(Case("4.1"), Question(Topic.LOSS)) is None
    assert asked == [Question(Topic.LOSS)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("atlas", "atlas writes a folder of pages; name the folder with -o, as in: isrcheck atlas -o DIR"),
        ("atlas -o full", f"full: contains files, but no atlas from isrcheck; {folder.ATLAS.cure}"),
        ("atlas -o file.txt", "file.txt: not a folder; name a folder with -o DIR"),
        ("atlas -o file.txt/pages", "file.txt/pages: Not a directory; give another folder with -o DIR"),
        ("atlas kafka -o new", "kafka: atlas takes no model; leave it out, as in: isrcheck atlas -o DIR"),
        ("atlas -o new --acks 1", "--acks 1: name the model first, as in: check kafka --acks 1"),
        ("atlas -o new --bound 3", "--bound 3 does not go with atlas, which searches nothing; leave the option out"),
        ("atlas -o new --json", "--json does not go with atlas, which searches nothing; leave the option out"),
        ("atlas --bogus", "--bogus: atlas has no such option; see isrcheck atlas --help"),
        ("atlas -o new --bounce", "--bounce: atlas has no such option; see isrcheck atlas --help"),
        ("atlas -o new --outputs", "--outputs: atlas has no such option; see isrcheck atlas --help"),
        ("kafka atlas", "atlas must be the first argument, as in: isrcheck atlas -o DIR"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(atlas, words, message):
    Path("full").mkdir()
    Path("full/mine.txt").write_text("mine")
    Path("file.txt").write_text("mine")
    assert atlas(*words.split()) == (USAGE, "", f"check: {message}\n")
    assert not Path("new").exists()


def test_without_a_record_one_line_says_so(atlas, monkeypatch):
    monkeypatch.setattr(folder, "Record", Mock(side_effect=FileNotFoundError("record.jsonl")))
    message = "check: the record of the atlas cannot be read (record.jsonl); install isrcheck again\n"
    assert atlas("atlas", "-o", "new") == (USAGE, "", message)


MOST_BYTES_OF_A_PAGE, MOST_BYTES = 1_000_000, 17_500_000
"""For all releases; more would mean that the pages repeat what rows share."""


@pytest.mark.recorded
def test_the_pages_of_the_record(tmp_path, monkeypatch, capsys):
    """Every history of the record is taken again, every link leads to a page, and the pages stay small."""
    monkeypatch.chdir(tmp_path)
    code, text, _ = checking(cli.main, capsys)("atlas", "-o", "pages")
    assert (code, len(text.splitlines())) == (SAFE, 2), "nothing is outdated"
    made = tmp_path / "pages"
    files = {one.relative_to(made).as_posix(): one.read_bytes() for one in made.rglob("*") if one.is_file()}
    followed, missing = followed_links(files)
    assert missing == []
    assert followed > len(files)
    assert len(files["index.html"]) < MOST_BYTES_OF_A_PAGE
    assert sum(map(len, files.values())) < MOST_BYTES


@pytest.mark.exhaustive
def test_isrcheck_atlas_is_the_same_command(atlas, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["isrcheck", "atlas", "-o", "pages"])
    assert isrcheck.main() == SAFE
    assert capsys.readouterr().out.startswith("pages/index.html\n")
