"""The command that repeats a search.

In:  the name of a model, an instance of it, and a bound.
Out: the command, with only the options that differ from the defaults.
"""

from __future__ import annotations

import shlex

from isrcheck.models import settings
from isrcheck.models.language.model import Instance
from isrcheck.models.messages.printable import escaped


def command_of(target: str, instance: Instance, bound: int | None) -> str:
    """Return the command that repeats a search to `bound`, with only the options that differ from the defaults."""
    words = ["check", *settings.words_of_name(target, instance)]
    if bound is not None:
        words += ["--bound", str(bound)]
    return escaped(shlex.join([*words, *settings.words_of_values(instance)]))
