"""Runs the commands of a document in a folder, and compares their output with what the document shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from conformance.tests.docs.markdown import ELISION
from conformance.tests.support.places import PROJECT
from isrcheck.checker import cli as checker_cli
from isrcheck.conformance import cli as conformance_cli
from isrcheck.traces import cli as traces_cli

COMMANDS = {"check": checker_cli.main, "trace": traces_cli.main, "conform": conformance_cli.main}
"""Our own commands, which run in this process: starting a new one costs more than most of them need."""

SHELL = re.compile(r"[|<>;&$*]")
"""What only a shell understands."""

LINKED = ("models", "conformance", "docs")
"""What the documents name by its place in a checkout."""

VARYING = [
    (re.compile(r"\b\d+(\.\d+)? (?=s\b)"), "N "),
    (re.compile(r"[\d,]+ (?=(generated|distinct)/s)"), "N "),
    (re.compile(r"\b\d+(\.\d+)? (?=[kKMG]i?B\b)"), "N "),
    (re.compile(re.escape(f"{PROJECT}/") + "(isrcheck/)?"), ""),
]
"""What differs from run to run: times, rates, memory, and where the project lies."""

PROGRESS = re.compile(r"compiling |\S+(, protocol \S+)?: \d+ s, ")
"""What a command says on stderr while it works: a slow machine says more of it."""


class Console:
    """A folder in which commands run, with links that make it look like a checkout."""

    def __init__(self, folder: Path, capsys) -> None:
        self.capsys = capsys
        self.code = 0
        for name in LINKED:
            (folder / name).symlink_to(PROJECT / name)

    def run(self, command: str) -> str:
        """Run a command; return its output, then its errors."""
        if command == "echo $?":
            return f"{self.code}\n"
        words = shlex.split(command, comments=True)
        if words[0] in COMMANDS and not SHELL.search(command):
            self.capsys.readouterr()
            self.code = COMMANDS[words[0]](words[1:])
            out, errors = self.capsys.readouterr()
        else:
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            own = os.environ | {"PATH": path, "PYTHONPATH": str(PROJECT)}
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=own, check=False)
            self.code, out, errors = done.returncode, done.stdout, done.stderr
        return out + "".join(line for line in errors.splitlines(True) if not PROGRESS.match(line))


def normalised(text: str) -> list[str]:
    """Lines of output without the parts that differ from run to run."""
    for pattern, instead in VARYING:
        text = pattern.sub(instead, text)
    return [line.rstrip() for line in text.splitlines()]


def agrees(shown: str, told: str) -> bool:
    """Whether an output matches the document, in which a line `...` matches any lines."""
    pattern = "".join("(?:.*\n)*?" if line.strip() == ELISION else re.escape(line) + "\n" for line in normalised(shown))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in normalised(told))) is not None
