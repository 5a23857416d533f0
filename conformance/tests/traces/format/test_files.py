"""Files of traces: named after their contents, never overwritten, never partly written, never through links."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from conformance.tests.support.trace import CLASSIC, kafka, own_model, trace, weak_isr
from isrcheck.checker.cli import main as check
from isrcheck.models import registry
from isrcheck.models.messages import UsageError
from isrcheck.traces.format import files
from isrcheck.traces.format.certify import NotCertifiedError
from isrcheck.traces.format.trace import Trace

NAME = "published_truncate_to_high_watermark_weak_isr_6f5877bf_{}.itf.json"


def other_content(true: Trace) -> Trace:
    return Trace(true.instance, true.states, true.steps, true.property_name, true.verdict, "check another")


def test_a_file_is_named_after_its_contents(tmp_path: Path) -> None:
    assert files.write(weak_isr(), tmp_path / "deep" / "er") == tmp_path / "deep" / "er" / NAME.format(1)
    instance = registry.load("examples/two_phase_commit")[0].instance()
    path = files.write(trace(instance, ["manager_aborts"], None), tmp_path)
    assert path.name == f"examples.two_phase_commit_behaviour_{files.configuration_digest(instance)}_1.itf.json"


def test_the_name_of_a_users_model_cannot_escape_the_folder(tmp_path: Path) -> None:
    path = own_model(tmp_path).rename(tmp_path / "my .. wild*model.py")
    found = files.write(trace(registry.load_file(path).instance(), [], None), tmp_path)
    assert found.parent == tmp_path
    assert found.name.startswith("my-..-wild-model_behaviour_")


def test_configurations_have_different_names(tmp_path: Path) -> None:
    first, second = (files.write(kafka(CLASSIC, "acked_not_lost", records=r), tmp_path) for r in (1, 2))
    assert first.name[-11:] == second.name[-11:] == "_1.itf.json"
    assert first != second


def test_equal_content_is_written_once_and_other_content_gets_the_next_number(tmp_path: Path) -> None:
    true = weak_isr()
    first = files.write(true, tmp_path)
    before = (first.read_bytes(), first.stat().st_mtime_ns, first.stat().st_ino)
    second = files.write(other_content(true), tmp_path)
    assert (files.write(true, tmp_path), files.write(other_content(true), tmp_path)) == (first, second)
    assert second.name == NAME.format(2)
    assert before == (first.read_bytes(), first.stat().st_mtime_ns, first.stat().st_ino)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", NAME.format(1), NAME.format(2)]


def test_latest_links_the_newest_trace(tmp_path: Path) -> None:
    true = weak_isr()
    for one in (true, other_content(true), true):
        path = files.write(one, tmp_path)
        assert (tmp_path / "latest").readlink() == Path(path.name)
        assert files.read(tmp_path / "latest").command == one.command


def test_a_file_called_latest_is_kept(tmp_path: Path) -> None:
    (tmp_path / "latest").write_text("mine")
    files.write(weak_isr(), tmp_path)
    assert (tmp_path / "latest").read_text() == "mine"


def test_anything_else_with_that_name_is_kept(tmp_path: Path) -> None:
    (tmp_path / NAME.format(1)).mkdir()
    (tmp_path / NAME.format(2)).write_text("mine")
    (tmp_path / NAME.format(3)).symlink_to("nowhere")
    assert files.write(weak_isr(), tmp_path).name == NAME.format(4)
    assert (tmp_path / NAME.format(2)).read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_traces_are_written_without_hard_and_symbolic_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "symlink", refuse)
    true = weak_isr()
    assert files.write(true, tmp_path).name == NAME.format(1)
    assert files.write(other_content(true), tmp_path).name == NAME.format(2)
    assert files.write(true, tmp_path).name == NAME.format(1)
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME.format(1), NAME.format(2)]
    assert files.read(tmp_path / NAME.format(2)).command == "check another"


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(UsageError) as refusal:
        files.write(weak_isr(), tmp_path)
    assert str(refusal.value) == (
        f"{tmp_path}: the trace cannot be written: No space left on device;"
        " make room or give another folder with --out DIR"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        UsageError, match=r"file/below: the trace cannot be written: Not a directory; make room or give a"
    ):
        files.write(weak_isr(), tmp_path / "file" / "below")
    with pytest.raises(UsageError, match=r"file: the trace cannot be written: "):
        files.write(weak_isr(), tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="the trace cannot be written: Permission denied; "):
        files.write(weak_isr(), tmp_path)


def test_a_false_trace_is_not_written(tmp_path: Path) -> None:
    true = weak_isr()
    false = Trace(true.instance, true.states[:-1], true.steps[:-1], "weak_isr", "VIOLATED", "")
    with pytest.raises(
        NotCertifiedError, match=r"^the trace is not written, because plain Python does not confirm it: weak_isr is"
    ):
        files.write(false, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_false_trace_is_not_read(tmp_path: Path) -> None:
    path = files.write(weak_isr(), tmp_path)
    lines = path.read_text().splitlines()
    edited = [line.replace('"next_record": {"#bigint": "1"}', '"next_record": {"#bigint": "0"}') for line in lines]
    assert edited != lines
    path.write_text("\n".join(edited))
    with pytest.raises(UsageError) as refusal:
        files.read(path)
    assert str(refusal.value) == (
        f"{path}: step 4 (leader_writes 0) leads to another state: next_record is 1, but the trace says 0;"
        " the file was edited or damaged; write it again with the command that it names"
    )


def test_files_lists_traces_only(tmp_path: Path) -> None:
    path = files.write(weak_isr(), tmp_path)
    (tmp_path / "notes.txt").write_text("")
    assert files.files(tmp_path) == [path]
    with pytest.raises(
        UsageError, match=r"nowhere: no such folder; check writes traces to ./counterexamples, or to --out"
    ):
        files.files(tmp_path / "nowhere")


# ---------------------------------------------------------------------------- links in folders that others can write to


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
    path = files.write(weak_isr(), out)
    assert (mine.read_text(), path.is_symlink()) == (MINE, False)
    assert files.read(out / "latest").steps == weak_isr().steps


def test_a_file_that_is_named_is_not_written_through_a_link(tmp_path: Path, mine: Path) -> None:
    lay_links(tmp_path / "out", [f".draft-{os.getpid()}-page.html"], mine)
    files.put(tmp_path / "out" / "page.html", b"page")
    assert (mine.read_text(), (tmp_path / "out" / "page.html").read_text()) == (MINE, "page")
    (tmp_path / "out" / "link").symlink_to(mine)
    with pytest.raises(UsageError, match="a link, a pipe or a device"):
        files.put(tmp_path / "out" / "link", b"page", replace=True)


def test_a_draft_is_never_written_over_anything(tmp_path: Path, mine: Path) -> None:
    (tmp_path / "link").symlink_to(mine)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("mine", "link", "dangling"):
        with pytest.raises(FileExistsError):
            files.write_through(tmp_path / name, b"draft")
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


@pytest.mark.sampled
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
