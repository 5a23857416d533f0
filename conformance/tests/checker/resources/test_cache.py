"""The cache is read only if it belongs to the user: foreign files and folders, links, and renamed files are ignored."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from conformance.tests.checker.test_process import run
from conformance.tests.support.small_models import write_model
from isrcheck.checker.resources import cache
from isrcheck.checker.resources.cache import can_keep, keep, kept, why_not_kept

CURE = "set ISRCHECK_CACHE to a folder of your own"

MODEL = """\

class State:
    count = field(values=between(0, 9))

@action
def counter_steps(s):
    require(s.count < 8)
    s.count += {step}

@always
def is_not_three(s):
    return s.count != 3

@terminal
def may_end(s):
    return True
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file in the cache."""
    path = tmp_path / "cache" / "kernels" / "one.o"
    assert can_keep(path)
    keep(path, b"content")
    assert kept(path) == b"content"
    return path


def test_folders_are_private_to_the_user(file: Path) -> None:
    assert [oct(path.stat().st_mode & 0o7777) for path in (file.parent.parent, file.parent, file)] == [
        "0o700", "0o700", "0o600"
    ]  # fmt: skip
    assert list(file.parent.iterdir()) == [file]


def test_content_is_bound_to_its_name(file: Path) -> None:
    for other in (file.with_name("two.o"), file.parent.parent / "proofs" / "one.o"):
        other.parent.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(file, other)
        assert kept(other) is None


@pytest.mark.parametrize("at", range(0, 39, 3))
def test_a_changed_byte_is_detected(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    assert len(content) == 39
    content[at] ^= 1
    file.write_bytes(content)
    assert kept(file) is None


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702])
@pytest.mark.parametrize("above", [0, 1])
def test_a_folder_that_others_can_write_to_is_not_used(file: Path, mode: int, above: int) -> None:
    folder = file.parents[above]
    folder.chmod(mode)
    assert kept(file) is None
    assert why_not_kept(file) == f"others can write to {folder}; chmod go-w {folder}, or {CURE}"
    keep(file.with_name("two.o"), b"more")
    assert not file.with_name("two.o").exists()
    folder.chmod(0o755)
    assert (kept(file), why_not_kept(file)) == (b"content", "")


def test_a_folder_of_another_user_is_not_used(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache.os, "geteuid", lambda: file.stat().st_uid + 1)
    assert kept(file) is None
    assert why_not_kept(file) == f"{file.parent.parent} belongs to another user; {CURE}"
    keep(file.with_name("two.o"), b"more")
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("above", [-1, 0, 1])
def test_a_file_or_folder_with_another_owner_is_not_used(
    file: Path, monkeypatch: pytest.MonkeyPatch, above: int
) -> None:
    path = file if above < 0 else file.parents[above]
    given_away, fstat = path.stat().st_ino, os.fstat

    def owned(number: int) -> os.stat_result:
        found = fstat(number)
        return os.stat_result((*found[:4], found.st_uid + 1, *found[5:])) if found.st_ino == given_away else found

    monkeypatch.setattr(cache.os, "fstat", owned)
    assert kept(file) is None
    # A file of somebody else in a folder of ours is replaced.
    keep(file, b"anew")
    assert kept(file) == (b"anew" if above < 0 else None)


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_a_file_that_others_can_write_to_is_rebuilt(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert kept(file) is None
    keep(file, b"content")
    assert kept(file) == b"content"


def test_links_below_the_cache_are_not_followed(file: Path, tmp_path: Path) -> None:
    elsewhere = file.rename(tmp_path / "elsewhere")
    file.symlink_to(elsewhere)
    assert kept(file) is None
    keep(file, b"anew")
    assert (kept(file), file.is_symlink()) == (b"anew", False)
    folder = file.parent.rename(tmp_path / "kernels")
    file.parent.symlink_to(folder)
    assert kept(file) is None
    assert why_not_kept(file) == f"{file.parent} is a link; remove it, or {CURE}"


def test_the_cache_itself_may_be_a_link(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file.parent.parent)
    assert kept(tmp_path / "link" / "kernels" / "one.o") == b"content"


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_anything_but_a_regular_file_is_ignored(file: Path, kind: str) -> None:
    file.unlink()
    if kind == "folder":
        file.mkdir()
    else:
        os.mkfifo(file, 0o600)
    assert kept(file) is None


@pytest.mark.exhaustive
def test_the_code_of_one_model_is_not_used_for_another(tmp_path: Path) -> None:
    write_model(tmp_path / "model.py", MODEL.format(step=2))
    assert check(tmp_path)[::2] == (0, "compiling model (once for these bounds) ...\n")
    (good,) = (tmp_path / "cache" / "kernels").iterdir()
    write_model(tmp_path / "model.py", MODEL.format(step=1))
    assert check(tmp_path)[0] == 12
    (bad,) = set((tmp_path / "cache" / "kernels").iterdir()) - {good}
    shutil.copy(good, bad)
    code, out, err = check(tmp_path)
    assert (code, "VIOLATED at step 3" in out) == (12, True)
    assert err == f"compiling model again ({bad} is damaged) ...\n"


@pytest.mark.exhaustive
def test_a_cache_that_others_can_write_to_is_reported_once(tmp_path: Path) -> None:
    write_model(tmp_path / "model.py", MODEL.format(step=2))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    for _ in range(2):
        code, _, err = check(tmp_path)
        assert (code, err) == (0, (
            f"compiling model (uncached: others can write to {tmp_path}/cache; chmod go-w {tmp_path}/cache, or {CURE})"
            " ...\n"
        ))  # fmt: skip
    assert list((tmp_path / "cache").iterdir()) == []


def check(folder: Path) -> tuple[int, str, str]:
    """Run `check model.py` in that folder, in a separate process."""
    return run(folder, "model.py", ISRCHECK_CACHE=str(folder / "cache"))
