"""Graphics as pixels, for tickets and slides that take no vector graphics.

In:  the text of an SVG that was drawn here.
Out: the bytes of a PNG. Needs the package resvg-py (the extra `viewer`) and a font of one width on the machine.
"""

from __future__ import annotations

from models.errors import UsageError

ZOOM = 2
"""Pixels for each unit of the drawing: sharp in print."""


def png(svg: str) -> bytes:
    """The picture. Raises UsageError where the package is missing."""
    try:
        import resvg_py
    except ImportError:
        raise UsageError(
            "--png needs the package resvg-py; get it with: pip install 'isrcheck[viewer]', or use --svg"
        ) from None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=ZOOM, skip_system_fonts=False))
