"""The command that repeats a search.

In:  the name of a model, an instance of it, and a bound, or a property that fails.
Out: the command, with only the options that differ from the defaults.
"""

from __future__ import annotations

import shlex

from isrcheck.models import settings
from isrcheck.models.language.declarations import WHOLE
from isrcheck.models.language.model import DEADLOCK, Instance, Property
from isrcheck.models.messages import escaped


def command_to_show(target: str, instance: Instance, prop: Property, depth: int | None) -> str:
    """Return the command that repeats a search as far as is needed to show that `prop` fails at this depth: to that
    depth; one step further for a deadlock, because only the states before the last depth are expanded; or to the end,
    because only a complete search finds stuck states and loops."""
    if prop is DEADLOCK and depth is not None:
        depth += 1
    return command_of(target, instance, None if prop.kind in WHOLE else depth)


def command_of(target: str, instance: Instance, bound: int | None, *, deadlock: bool = True) -> str:
    """Return the command that repeats a search to `bound`, with only the options that differ from the defaults."""
    words = ["check", *settings.words_of_name(target, instance)]
    if bound is not None:
        words += ["--bound", str(bound)]
    if not deadlock:
        words.append("--no-deadlock")
    return escaped(shlex.join([*words, *settings.words_of_values(instance)]))
