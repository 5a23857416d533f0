"""Commands that run as processes of their own, as a user starts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from conformance.tests.support.places import PROJECT

PACKAGES = {
    "check": "isrcheck.checker",
    "trace": "isrcheck.traces",
    "conform": "isrcheck.conformance",
    "isrcheck": "isrcheck",
}
"""The package of each command."""

HERE = os.environ | {"PYTHONPATH": str(PROJECT)}


@dataclass(frozen=True)
class Ended:
    """A process that has ended: its exit code and its output."""

    code: int
    out: str
    err: str

    @property
    def complaints(self) -> str:
        """The lines on stderr, without notes on compilation."""
        return "".join(line for line in self.err.splitlines(keepends=True) if not line.startswith("compiling "))


def words_of(command: str, *more: object, script: str = "") -> list[str]:
    """The words that start a command, such as `check kafka`; `script` runs before it, in the same process."""
    name, *rest = command.split()
    # -P: like the installed script, it does not look for modules in the current folder.
    start = [sys.executable, "-P", "-m", PACKAGES[name]]
    if script:
        start[2:] = ["-c", f"{script}\nimport sys; from {PACKAGES[name]}.__main__ import main; sys.exit(main())"]
    return [*start, *rest, *map(str, more)]


def ran(
    command: str,
    *more: object,
    folder: Path,
    redirected: str = "",
    script: str = "",
    stdout: int = subprocess.PIPE,
    **environment: str,
) -> Ended:
    """Run a command to its end in a folder, with redirections of the shell such as `>&-`. It prints no traceback."""
    done = subprocess.run(
        ["bash", "-c", f'"$@" {redirected}', "bash", *words_of(command, *more, script=script)],
        cwd=folder, env=HERE | environment, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


def interrupted_when(progress: str, command: str, *more: object, folder: Path) -> Ended:
    """Run a `check` that reports its progress at once, and press Ctrl-C when it reports this."""
    script = "from isrcheck.checker.results import terminal; terminal.SECONDS_BETWEEN_LINES = 0"
    with subprocess.Popen(
        words_of(command, *more, script=script),
        cwd=folder, env=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        while progress not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "check: interrupted; this is what was found so far"
    return Ended(process.returncode, out, err)
