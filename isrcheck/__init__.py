"""isrcheck, a model checker for Kafka-style replication. docs/api.md shows how to use it from Python.

    >>> import isrcheck
    >>> result = isrcheck.check("kafka", protocol="2.1", bound=6)
    >>> result.verdict
    'NO VIOLATION TO DEPTH 6'

The folders of the project are the packages `isrcheck.models`, `isrcheck.checker`, `isrcheck.traces` and
`isrcheck.conformance`. Model files import `isrcheck.language`. A package is imported only when it is used (PEP 562).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from isrcheck.certified_trace import Trace, recheck, trace
    from isrcheck.checking import check, simulate
    from isrcheck.loading import load
    from isrcheck.models.language.model import Instance, Model
    from isrcheck.models.messages import UsageError
    from isrcheck.result import PropertyResult, Result, SimulationResult

_NAMES = {
    "certified_trace": ("Trace", "recheck", "trace"),
    "checking": ("check", "simulate"),
    "loading": ("load",),
    "models.language.model": ("Instance", "Model"),
    "models.messages": ("UsageError",),
    "result": ("PropertyResult", "Result", "SimulationResult"),
}
_MODULES = {name: f"isrcheck.{module}" for module, names in _NAMES.items() for name in names}
"""For each public name, the module that defines it."""

__all__ = [
    "Instance",
    "Model",
    "PropertyResult",
    "Result",
    "SimulationResult",
    "Trace",
    "UsageError",
    "check",
    "load",
    "recheck",
    "simulate",
    "trace",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        """Load a public name when it is used for the first time."""
        if name not in _MODULES:
            raise AttributeError(f"module 'isrcheck' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value

    def __dir__():
        """The public names, whether or not they are loaded."""
        return sorted({*globals(), *_MODULES})
