"""The command `isrcheck` itself: its help, the examples, and the completion in shells."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from isrcheck.__main__ import COMMANDS, FORMS
from isrcheck.commands.declarations import Command, Subcommand

EXAMPLES = """\
examples:
  isrcheck doctor server.properties topics.txt --kafka-version 3.9
  isrcheck check kafka --protocol 0.10 --bound 6
  isrcheck trace show counterexamples/latest
  isrcheck conform run --steps 200
  isrcheck atlas -o atlas
  isrcheck report 8.24 -o report

completion in a shell:
  eval "$(isrcheck completion bash)"    in ~/.bashrc; zsh likewise, in ~/.zshrc
  isrcheck completion fish | source     in ~/.config/fish/config.fish"""

COMMAND = Command(
    name="isrcheck",
    description="A model checker for Kafka-style replication.",
    epilog=EXAMPLES,
    subcommands=(
        *(Subcommand(name=name, help=about) for name, (_, about) in (*COMMANDS.items(), *FORMS.items())),
        Subcommand(
            name="examples",
            module="isrcheck.examples",
            help="copy the examples and the recordings of Kafka into a folder",
        ),
        Subcommand(name="completion", module="isrcheck.completion", help="print the script for shell completion"),
    ),
)
"""The command `isrcheck`. Its subcommands check, trace and conform, and their forms, are only listed here;
isrcheck/__main__.py starts them."""


def main(words: Sequence[str] | None = None, began: float | None = None) -> int:
    """Run `isrcheck` and return its exit code. `began` is the time of its start by time.monotonic() (default: now)."""
    return COMMAND.run(sys.argv[1:] if words is None else words, began)
