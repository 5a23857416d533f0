"""The command `isrcheck`: runs the commands check, trace and conform, and shortcuts such as doctor (`check doctor`)."""

from __future__ import annotations

import sys

from isrcheck.commands.program import run

COMMANDS = {
    "check": ("isrcheck.checker", "search a model for violated promises, such as a lost acknowledged record"),
    "trace": ("isrcheck.traces", "show the traces that check has found"),
    "conform": ("isrcheck.conformance", "compare the behaviour of a system with the model"),
}
"""The name of each command, with its package and its help text."""

FORMS = {
    "doctor": ("check", "can a Kafka cluster with these settings lose a record, and what to change?"),
    "atlas": ("check", "the recorded answers for every combination of Kafka's settings, as pages"),
    "report": ("conform", "a known failure as a folder from which an issue of Kafka can be filed"),
}
"""Forms of a command that a user types without the command's name: for each form, the command and the help text."""


def main() -> int:
    """Run `isrcheck` and return its exit code. If the first word is neither a command (COMMANDS) nor a shortcut
    (FORMS), isrcheck/cli.py reads the command line."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in FORMS:
        name = FORMS[name][0]
    elif name in COMMANDS:
        del sys.argv[1]
    else:
        return run("isrcheck", "isrcheck.cli")
    return run(name, f"{COMMANDS[name][0]}.cli")


if __name__ == "__main__":
    sys.exit(main())
