"""Graphics as pixels, for tickets and slides that take no vector graphics.

In:  the text of an SVG that was drawn here.
Out: the bytes of a PNG. Needs the package resvg-py (the extra `viewer`) and a font of one width on the machine.
"""

from __future__ import annotations

from isrcheck.models.messages.errors import UsageError
from isrcheck.traces.drawing.markup import as_svg, element
from isrcheck.traces.drawing.theme import FONT

ZOOM = 2
"""Pixels for each unit of the drawing: sharp in print."""


def png(svg: str) -> bytes:
    """The picture. Raises UsageError where the package is missing, or no font to write with."""
    try:
        import resvg_py
    except ImportError:
        raise UsageError(
            "--png needs the package resvg-py; get it with: pip install 'isrcheck[viewer]', or use --svg"
        ) from None

    def drawn(text: str) -> bytes:
        return bytes(resvg_py.svg_to_bytes(svg_string=text, zoom=ZOOM))

    # Without a font the words would be left out, and nothing would say so.
    if drawn(_probe("")) == drawn(_probe("M")):
        raise UsageError("--png finds no font on this machine; get one, such as fonts-dejavu-core, or use --svg")
    return drawn(svg)


def _probe(text: str) -> str:
    """A small drawing with nothing but this text."""
    written = element("text", text, x=2, y=15, style=FONT)
    return as_svg(element("svg", written, xmlns="http://www.w3.org/2000/svg", width=20, height=20))
