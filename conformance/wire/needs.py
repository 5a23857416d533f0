"""Says what has to be installed before `conform serve` or `conform record` can run."""

from __future__ import annotations

from isrcheck.models.messages import UsageError


def must_have_kio(command: str) -> None:
    """Raise UsageError if kio, with its schemas of Kafka's messages, is not installed."""
    try:
        import kio  # noqa: F401
    except ModuleNotFoundError:
        raise UsageError(f"{command} needs kio, which is not installed: pip install 'isrcheck[wire]'") from None
