"""The version of Z3, without importing it.

In:  the installed packages.
Out: the version, as Z3 itself tells it.

Proofs from the cache are named by the version, and shown with it. The import of Z3 would take longer than to read them.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata


@cache
def solver_version() -> str:
    """The version of Z3, as in 4.13.3."""
    try:
        return ".".join(metadata.version("z3-solver").split(".")[:3])
    except metadata.PackageNotFoundError:  # from an archive, or built by hand
        import z3

        found: str = z3.get_version_string()
        return found
