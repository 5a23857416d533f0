"""The version of Z3, without importing it.

In:  the installed packages.
Out: the version, as Z3 itself reports it.

The names and the texts of cached proofs contain the version. Importing Z3 would take longer than reading the proofs.
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
