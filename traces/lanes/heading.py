"""What a trace is of, in one line: its model and configuration, and what its property says.

In:  an instance; a docstring.
Out: text.
"""

from __future__ import annotations

from isrcheck.models.language.model import Instance, spell
from isrcheck.traces.format.itf import label


def heading(instance: Instance) -> str:
    """Return the name of the model, and the entries of its configuration that differ from the defaults."""
    entries = instance.model.entries
    defaults = {name: entry.default for name, entry in entries.items()} | dict(instance.protocol.switches)
    changed = [
        f"{name}={spell(entries[name], value)}"
        for name, value in instance.configuration.items()
        if value != defaults[name]
    ]
    changed += [f"{action} of {origin}" for action, origin in instance.swaps.items()]
    return f"{label(instance)}, {' '.join(changed) or 'default configuration'}"


def says(documentation: str) -> str:
    """Return a colon and the first paragraph of a docstring, on one line; nothing without a docstring."""
    first = documentation.strip().split("\n\n")[0].replace("\n", " ")
    return f": {' '.join(first.split())}" if first else ""
