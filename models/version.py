"""Which isrcheck this is."""

from __future__ import annotations


def version() -> str:
    """The version of isrcheck that is installed."""
    from importlib import metadata  # here, because a command needs it rarely and it takes a while to import

    try:
        return metadata.version("isrcheck")
    except metadata.PackageNotFoundError:
        return "unknown"


def product() -> str:
    """The name and the version, as people read them."""
    return f"isrcheck {version()}"
