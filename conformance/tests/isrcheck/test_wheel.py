"""The wheel: built from the project, installed in a fresh environment, and used there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from conformance.tests.support.places import PROJECT
from isrcheck.commands.exit_codes import VIOLATED

CITED = re.compile(r"\]\(((?:\.\./)*(?:models|checker|traces|conformance)/[^)#]+)\)")
"""A link of a document to a file of the product."""

PARTS = ("models", "checker", "traces", "conformance", "isrcheck")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy, because a build writes files beside the sources."""
    folder = tmp_path_factory.mktemp("project")
    for name in PARTS:
        shutil.copytree(PROJECT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, folder / name)
    _run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", "dist", "."], folder)
    (found,) = (folder / "dist").glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Run a program of a fresh environment in an empty folder; return the exit code and the output."""
    home, folder = tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("elsewhere")
    venv.create(home, with_pip=False)
    _run([sys.executable, "-m", "pip", "--python", f"{home}/bin/python", "install", "--no-deps", "--no-index", wheel])
    # What isrcheck depends on is there; the project itself is not.
    packages = [path for path in sys.path if Path(path).name == "site-packages"]
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text("".join(f"{path}\n" for path in packages))

    def run(program, *words):
        return _run([home / "bin" / program, *words], folder, check=False)

    run.folder = folder
    return run


def _run(words, folder=None, *, check=True):
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    done = subprocess.run(
        list(map(str, words)), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.mark.exhaustive
def test_the_wheel_holds_the_documented_files_and_no_tests(wheel):
    names = set(ZipFile(wheel).namelist())
    assert {name for name in names if "/tests/" in name and "/tests/golden/" not in name} == set()
    documents = [PROJECT / "README.md", *(PROJECT / "docs").glob("*.md")]
    documents += [PROJECT / name for name in ("models/README.md", "conformance/README.md")]
    missing = set()
    for document in documents:
        for link in CITED.findall(document.read_text(encoding="utf-8")):
            file = (document.parent / link).resolve()
            name = file.relative_to(PROJECT).as_posix()
            is_test = name.endswith(".py") and "/tests/" in name
            if file.is_file() and not is_test and f"isrcheck/{name}" not in names:
                missing.add(name)
    assert missing == set()
    parts = ("conformance/recordings/**/*", "conformance/tests/golden/*", "conformance/examples/*.py", "**/README.md")
    for part in parts:
        files = [path for name in PARTS[:-1] for path in (PROJECT / name).glob(part.removeprefix(f"{name}/"))]
        held = {path.relative_to(PROJECT).as_posix() for path in files if "fuzz" not in path.parts and path.is_file()}
        assert {name for name in held if f"isrcheck/{name}" not in names} == set()


@pytest.mark.exhaustive
def test_everything_works_after_installation(installed):
    code, out = installed("python", "-c", "import isrcheck; print(isrcheck.__file__)")
    assert (code, str(PROJECT) in out) == (0, False)
    code, out = installed("check", "--bound", "6")
    assert (code, "\nas recorded: every cell agrees with models/verdicts.toml\n" in out) == (0, True), out
    code, out = installed("check", "published")
    # Messages about compilation are on stderr, which follows.
    closing = re.search(r"^(\d+) of (\d+) rows equal TLC's figures \(.+\)$", out, re.MULTILINE)
    assert code == 0
    assert closing is not None, out
    assert closing[1] == closing[2]
    assert installed("check", "kafka", "--protocol", "0.10", "--bound", "6", "--report", "report")[0] == VIOLATED
    code, out = installed("trace", "page", "counterexamples/latest", "-o", "page.html")
    assert (code, out) == (0, "page.html\n")
    headline = "<h1>A member of the ISR lacks a record that readers have seen: broker 1 cuts it from its log"
    assert headline in (installed.folder / "page.html").read_text(encoding="utf-8")
    code, out = installed("conform", "run", "--steps", "100")
    assert code == 0, out
    code, out = installed("python", "-c", "import isrcheck.examples; isrcheck.examples.copy_to('examples')")
    assert (code, out) == (0, "")
    code, out = installed("conform", "follow", "examples/recordings/kafka-3.9-missed_demotion_control.ndjson")
    assert code == 0
    assert out.startswith("EXPLAINED: examples/recordings/kafka-3.9-missed_demotion_control.ndjson is a ")
    code, out = installed(
        "python", "-m", "pytest", "-q", "--isrcheck", "examples/two_phase_commit.py", "-m", "isrcheck"
    )
    assert code == 0, out
    code, out = installed("python", "-W", "error", "-m", "pytest", "-q", "report/test_regressions.py")
    assert code == 1, out
    assert "the model allows it" in out
