"""The gallery of known failures: the command makes it again, byte for byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.tests.support.places import PROJECT
from conformance.tests.traces.test_cli import complaint
from isrcheck.traces.cli import main
from isrcheck.traces.command.gallery import EXHIBITS

GALLERY = PROJECT / "docs" / "gallery"
MOST_BYTES = 50_000
"""The pages are part of the repository."""

SHARED = {"style.css", "script.js"}
LINK = re.compile(r'<(?:link rel="stylesheet" href|script src)="([^"]+)" nonce="([^"]+)">')


def test_the_gallery_is_what_the_command_makes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--rewrite-golden"):
        assert main(["gallery", "-o", str(GALLERY), "--force"]) == 0
    assert main(["gallery", "-o", str(tmp_path / "made")]) == 0
    made = {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()}
    kept = {path.name: path.read_bytes() for path in GALLERY.iterdir()}
    assert made.keys() == kept.keys() == {"index.html", *SHARED, *(f"{name}.html" for name in EXHIBITS)}
    for name, content in made.items():
        assert content == kept[name], f"{name}: rewrite with: trace gallery -o docs/gallery --force"
        assert len(content) < MOST_BYTES


def test_the_pages_share_one_style_and_one_script_and_load_nothing_else() -> None:
    nonces = set()
    for path in GALLERY.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        links = LINK.findall(text)
        assert {name for name, _ in links} == SHARED
        (nonce,) = {nonce for _, nonce in links}
        assert (
            f"default-src 'none'; style-src-elem 'nonce-{nonce}'; style-src-attr 'unsafe-inline';"
            f" script-src 'nonce-{nonce}'\""
        ) in text
        assert "<style" not in text
        nonces.add(nonce)
    assert len(nonces) == 1 + len(EXHIBITS), "each page has a nonce of its own"


def test_others_are_shown_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["gallery", "9.1", "unclean_election", "-o", "shown"]) == 0
    assert capsys.readouterr().out.split() == [
        f"shown/{name}" for name in ("index.html", "unclean_election.html", "acks_0.html", "style.css", "script.js")
    ]
    index = Path("shown/index.html").read_text(encoding="utf-8")
    assert '<a href="acks_0.html">' in index
    assert index.count('<span class="verdict PERMITTED">PERMITTED</span>') == 2
    assert "An acknowledged record is lost: it never reaches a broker" in index
    text = Path("shown/acks_0.html").read_text(encoding="utf-8")
    assert '<a href="index.html">index</a>' in text
    assert '<code class="command">check failures 9.1</code>' in text


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert complaint(capsys, "gallery", "KIP-9999", "-o", "x") == (
        "no known failure KIP-9999; similar names: KIP-966, KIP-903, KIP-890; check failures lists them all"
    )
    assert complaint(capsys, "gallery", "zzz", "-o", "x") == "no known failure zzz; check failures lists them all"
    assert complaint(capsys, "gallery", "alter_partition_races", "-o", "x") == (
        "alter_partition_races has no history: the model has only the repaired rule; leave it out"
    )
    Path("mine").mkdir()
    Path("mine/index.html").write_text("mine", encoding="utf-8")
    assert complaint(capsys, "gallery", "9.1", "-o", "mine") == (
        "mine: has files, which are not overwritten; give a new folder with -o DIR, or add --force"
    )
    assert Path("mine/index.html").read_text(encoding="utf-8") == "mine"
    for force in ([], ["--force"]):
        assert complaint(capsys, "gallery", "9.1", "-o", "mine/index.html", *force) == (
            "mine/index.html: a file, where a folder is needed; give another name with -o DIR"
        )
    assert not Path("x").exists()
