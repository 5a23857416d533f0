"""Files are written in folders that others can write to: links in them are not followed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.tests.support.trace import weak_isr
from isrcheck.checker.cli import main as check
from isrcheck.models.messages import UsageError
from isrcheck.traces.format import folder, output

MINE = "mine\n"


def lay_links(where: Path, names: list[str], target: Path) -> None:
    """Create links under all names that a draft of this process may have."""
    where.mkdir(parents=True, exist_ok=True)
    for name in names:
        (where / name).symlink_to(target)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine"
    path.write_text(MINE)
    return path


def test_a_trace_is_not_written_through_a_link(tmp_path: Path, mine: Path) -> None:
    out = tmp_path / "out"
    lay_links(out, [f".draft-{os.getpid()}", f".latest-{os.getpid()}"], mine)
    path = folder.write(weak_isr(), out)
    assert (mine.read_text(), path.is_symlink()) == (MINE, False)
    assert folder.read(out / "latest").steps == weak_isr().steps


def test_a_file_that_is_named_is_not_written_through_a_link(tmp_path: Path, mine: Path) -> None:
    lay_links(tmp_path / "out", [f".draft-{os.getpid()}-page.html"], mine)
    output.put(tmp_path / "out" / "page.html", b"page")
    assert (mine.read_text(), (tmp_path / "out" / "page.html").read_text()) == (MINE, "page")
    (tmp_path / "out" / "link").symlink_to(mine)
    with pytest.raises(UsageError, match="a link, a pipe or a device"):
        output.put(tmp_path / "out" / "link", b"page", replace=True)


def test_a_draft_is_never_written_over_anything(tmp_path: Path, mine: Path) -> None:
    (tmp_path / "link").symlink_to(mine)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("mine", "link", "dangling"):
        with pytest.raises(FileExistsError):
            output.write_through(tmp_path / name, b"draft")
    assert mine.read_text() == MINE
    assert not (tmp_path / "nowhere").exists()


def test_a_report_is_not_written_through_a_link(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "index.html").write_text(MINE)
    lay_links(tmp_path / "report", [f".draft-{os.getpid()}"], tmp_path / "elsewhere")
    words = ["examples/two_phase_commit", "--resource-managers", "2", "--bound", "1", "--report", "report"]
    assert check(words) == 0, capsys.readouterr().err
    assert (tmp_path / "elsewhere" / "index.html").read_text() == MINE
    assert (tmp_path / "report" / "index.html").is_file()


def test_tables_are_not_written_through_a_link(
    tmp_path: Path, mine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_links(tmp_path / "tables" / "runs", [f".draft-{os.getpid()}"], mine)
    words = ["examples/two_phase_commit", "--resource-managers", "2", "--bound", "1", "--tables", "tables"]
    assert check(words) == 0, capsys.readouterr().err
    assert mine.read_text() == MINE
    (tmp_path / "elsewhere").mkdir()
    lay_links(tmp_path / "others", ["runs"], tmp_path / "elsewhere")
    assert check([*words[:-1], "others"]) == 2
    assert capsys.readouterr().err == (
        "check: others/runs: is a symbolic link; move it away, or give another folder with --tables DIR\n"
    )
