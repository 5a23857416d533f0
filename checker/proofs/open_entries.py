"""Which configuration entries may have any value in a proof for every length. This module loads no solver."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from isrcheck.models.language.model import Configuration, Instance


def open_entries(instance: Instance) -> frozenset[str]:
    """Return the entries that may have any value in a proof for every length: the open entries without the budgets that
    must be 0. These are 0 here, and a `@contradiction` of the model refuses 1, whatever the other open entries are."""
    model, values = instance.model, dict(instance.configuration.items())
    is_open = {name for name, entry in model.entries.items() if entry.is_open}

    def must_be_0(name: str) -> bool:
        for contradicts in model.contradictions:
            watched = Watched(Configuration({**values, name: 1}), is_open - {name})
            if model.refuses(contradicts, watched) and not watched.was_asked:
                return True
        return False

    # A budget that must be 0 can be the reason why another must be 0.
    while fixed := {n for n in is_open if model.entries[n].is_budget and not values[n] and must_be_0(n)}:
        is_open -= fixed
    return frozenset(is_open)


class Watched:
    """A configuration that records in `was_asked` whether any entry named in `is_open` (the open entries) is read."""

    def __init__(self, configuration: Configuration, is_open: Container[str]) -> None:
        self.configuration = configuration
        self.is_open = is_open
        self.was_asked = False

    def __getattr__(self, name: str) -> Any:
        # `items` reads open entries, too.
        self.was_asked |= name == "items" or name in self.is_open
        return getattr(self.configuration, name)
