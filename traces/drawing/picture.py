"""Converts graphics to pixels, for tickets and slides that accept no vector graphics.

In:  the text of an SVG drawn by this package.
Out: the bytes of a PNG. Needs the package resvg-py (the extra `viewer`) and a fixed-width font on the machine.
"""

from __future__ import annotations

from isrcheck.models.messages import UsageError
from isrcheck.traces.drawing.markup import as_svg, element
from isrcheck.traces.drawing.theme import FONT

ZOOM = 2
"""Pixels per unit of the drawing, enough for print."""


def png(svg: str) -> bytes:
    """Return the picture as PNG. Raises UsageError if the package or a font is missing."""
    try:
        import resvg_py
    except ImportError:
        raise UsageError(
            "--png needs the package resvg-py; get it with: pip install 'isrcheck[viewer]', or use --svg"
        ) from None

    def drawn(text: str) -> bytes:
        return bytes(resvg_py.svg_to_bytes(svg_string=text, zoom=ZOOM))

    # Without a font the text would be missing without any error.
    if drawn(_probe("")) == drawn(_probe("M")):
        raise UsageError("--png finds no font on this machine; get one, such as fonts-dejavu-core, or use --svg")
    return drawn(svg)


def _probe(text: str) -> str:
    """Return a small SVG that contains only this text."""
    written = element("text", text, x=2, y=15, style=FONT)
    return as_svg(element("svg", written, xmlns="http://www.w3.org/2000/svg", width=20, height=20))
