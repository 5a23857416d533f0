"""The version of isrcheck."""

from __future__ import annotations


def version() -> str:
    """The installed version of isrcheck."""
    from importlib import metadata  # here, because a command needs it rarely and it takes a while to import

    try:
        return metadata.version("isrcheck")
    except metadata.PackageNotFoundError:
        return "unknown"


def product() -> str:
    """The name and the version of the product."""
    return f"isrcheck {version()}"
