"""A stand-in for the page of a trace: its text.

In:  a Trace. Out: the text of a page.
"""

from __future__ import annotations

from html import escape

from traces.show import view
from traces.trace import Trace


def page(trace: Trace) -> str:
    """The whole page."""
    return (
        f"<!DOCTYPE html>\n<meta charset='utf-8'><title>trace</title><pre>{escape(chr(10).join(view(trace)))}</pre>\n"
    )
