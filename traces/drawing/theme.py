"""The colours and fonts of all drawings, light and dark.

In:  the name of a theme.
Out: style sheets; the head of a page, and its button. A graphics file contains its colours; a page has the theme of the
     reader's system until the reader chooses one.
"""

from __future__ import annotations

from isrcheck.traces.drawing.markup import Element, beside, element, page_head, security

EPOCHS = 8
"""The number of colours of leader epochs; the ninth epoch has the first colour again."""

COLOURS = {
    # name: (light, dark)
    "paper": ("#ffffff", "#14171c"),
    "ink": ("#1b1f24", "#e6e8eb"),
    "faint": ("#636c76", "#9aa4b0"),
    "line": ("#d0d7de", "#3a424d"),
    "panel": ("#f6f8fa", "#1c2128"),
    "accent": ("#0b5fc5", "#6cb0ff"),
    "band": ("#e6f0fd", "#1f3350"),
    "bad": ("#b3261e", "#ff8a80"),
    "badpaper": ("#fdeceb", "#4a1f1c"),
    "warn": ("#8a5300", "#f0b429"),
    "warnpaper": ("#fff4de", "#43330d"),
    "good": ("#1a7f37", "#6fdd8b"),
    "goodpaper": ("#e7f6ec", "#173a23"),
    "open": ("#6b3fa0", "#cfb1f5"),
    "openpaper": ("#f1e9fb", "#33264a"),
    "changed": ("#0f766e", "#5eead4"),
    "e0": ("#cfe3ff", "#1d4373"),
    "e1": ("#ffe0b8", "#70450d"),
    "e2": ("#cdf1d3", "#1c5a2b"),
    "e3": ("#f3d3f5", "#5c2564"),
    "e4": ("#fff3ab", "#5e5410"),
    "e5": ("#c9f0f0", "#125457"),
    "e6": ("#ffd3d3", "#6d2424"),
    "e7": ("#e0dcff", "#3d3580"),
}

FONT = 'font-family:ui-monospace,"DejaVu Sans Mono","Liberation Mono",Menlo,Consolas,monospace'
"""The fixed-width font of all drawings; its character width determines the width of a lane."""

DRAWING = (
    f"text{{{FONT}}}"
    + """
text{font-size:13px;fill:var(--ink)}
.paper{fill:var(--paper)}
.headline{font-size:17px;font-weight:bold}.caption{fill:var(--faint)}.title{font-weight:bold}
.words{font-weight:bold}.step{font-size:12px;fill:var(--faint)}.number{fill:var(--faint)}
.life{stroke:var(--line);stroke-width:1}
.lane{fill:var(--panel);stroke:var(--line);stroke-width:1}
.lane.leader{stroke:var(--accent);stroke-width:2}
.lane.elected{stroke:var(--accent);stroke-width:2;stroke-dasharray:2 3}
.lane.zombie{stroke:var(--warn);stroke-width:2;stroke-dasharray:5 3}
.lane.truncating{stroke:var(--warn);stroke-dasharray:2 2}
.lane.down{fill:var(--badpaper);stroke:var(--bad);stroke-dasharray:4 3}
.role{font-weight:bold}.note{fill:var(--ink)}.note.alarm{fill:var(--bad);font-weight:bold}
.offset,.pointer{font-size:12px;fill:var(--faint)}
.cell{fill:none;stroke:var(--line);stroke-width:1}
.cell.record,.cell.marker{stroke:var(--ink);fill:var(--paper)}
.cell.marker{stroke-dasharray:3 2}
.cell.deleted{fill:var(--line)}
.cell.missing{fill:var(--badpaper);stroke:var(--bad)}
.hw{stroke:var(--accent);stroke-width:3}.tick{stroke:var(--faint);stroke-width:1}
.arrow line{stroke:var(--ink);stroke-width:1.3}.arrow .head{fill:var(--ink)}
.arrow.response line{stroke-dasharray:5 3;stroke:var(--faint)}.arrow.response .head{fill:var(--faint)}
.arrow.lost line,.arrow .cross{stroke:var(--bad);stroke-width:1.6;fill:none}
.arrow text{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
.mark rect{fill:var(--panel);stroke:var(--line)}
.mark.fault rect{fill:var(--badpaper);stroke:var(--bad)}.mark.fault text{fill:var(--bad);font-weight:bold}
.mark.election rect{fill:var(--warnpaper);stroke:var(--warn)}.mark.election text{fill:var(--warn);font-weight:bold}
.changed{fill:none;stroke:var(--changed);stroke-width:2}
.gone{fill:none;stroke:var(--bad);stroke-width:2;stroke-dasharray:4 2}
.row{fill:none;fill-opacity:.6}
"""
)
CELLS = "".join(f".cell.e{epoch}{{fill:var(--e{epoch})}}\n" for epoch in range(EPOCHS))


def stylesheet(theme: str) -> str:
    """Return the style of stand-alone graphics in `theme` (`light` or `dark`), with colours in place of their names."""
    style = DRAWING + CELLS
    for name, pair in COLOURS.items():
        style = style.replace(f"var(--{name})", pair[theme == "dark"])
    return style


def themed_head(title: str, style: str, policy: str = "") -> Element:
    """Make the head of a page that is light or dark as the reader chose, here or on another page.

    Without a policy of its own (`themed_security`), the page has no other script.
    """
    colours = adaptive_colours()
    return page_head(title, colours + style, policy or themed_security(), element("script", _script()))


def themed_security(*scripts: str) -> str:
    """Return the security policy of a page with these scripts and that of the theme."""
    return security(_script(), *scripts)


def _script() -> str:
    return beside("isrcheck.traces.drawing", "theme.js")


def theme_button() -> Element:
    """Make the button that changes between light and dark. It is hidden where no script runs."""
    return element("button", "light / dark", id="theme", type="button", hidden="")


def adaptive_colours() -> str:
    """Return the colours of a page, as the reader's system prefers, or as `data-theme` on the root element says.

    Printed pages always use the light colours, because browsers do not print backgrounds.
    """
    light, dark = (";".join(f"--{name}:{pair[side]}" for name, pair in COLOURS.items()) for side in (0, 1))
    return (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
    )
