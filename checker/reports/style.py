"""The style sheet of the page: light and dark, for screen and paper. Colour never carries information alone.

In:  nothing. Out: `STYLE`, which page.py puts into the page.
"""

from isrcheck.traces.drawing.theme import adaptive_colours

STYLE = (
    adaptive_colours()
    + """
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 28px 32px 60px; max-width: 1560px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 36px 0 10px; }
h3 { font-size: 15px; margin: 20px 0 6px; }
code, pre { font: 13px/1.45 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 12px 14px;
  overflow-x: auto; }
a { color: inherit; text-decoration: underline; text-underline-offset: 2px; }
.quiet { color: var(--faint); }
.banner { border: 1px solid currentColor; border-left-width: 8px; border-radius: 6px; padding: 10px 14px;
  margin: 14px 0; font-weight: 600; overflow-wrap: anywhere; }
.banner small { display: block; font-weight: 400; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: 6px 12px; border: 1px solid var(--line); vertical-align: top; }
thead th { background: var(--panel); } tbody th { font-weight: 500; white-space: nowrap; }
td .verdict { display: block; font-weight: 600; padding-left: 2em; text-indent: -2em; min-width: 11em; }
td .sign { display: inline-block; min-width: 2em; text-indent: 0; }
td small { display: block; padding-left: 2.3em; }
.says { max-width: 46em; }
.bad { color: var(--bad); background: var(--badpaper); }
.permitted { color: var(--warn); background: var(--warnpaper); }
.open { color: var(--open); background: var(--openpaper); }
.good { color: var(--good); background: var(--goodpaper); }
.bounded { color: var(--accent); background: var(--band); }
.none { color: var(--faint); }
.legend { display: flex; flex-wrap: wrap; gap: 6px 10px; margin: 10px 0; padding: 0; list-style: none; }
.legend li { padding: 2px 10px; border-radius: 12px; font-size: 13px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; margin: 8px 0; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
details { border: 1px solid var(--line); border-radius: 6px; margin: 10px 0; padding: 8px 14px; }
summary { cursor: pointer; font-weight: 600; }
summary .verdict { padding: 1px 10px; border-radius: 12px; font-size: 13px; margin-left: 8px; }
.plots { display: flex; flex-wrap: wrap; gap: 10px 30px; }
figure { margin: 10px 0; min-width: 0; max-width: 100%; } figcaption { color: var(--faint); font-size: 13px; }
.plot { max-width: 100%; height: auto; color: var(--faint); font-family: inherit; }
.plot .line, .plot .dot, .plot .length { color: var(--accent); } .plot .dot { fill: currentColor; }
.plot text { fill: var(--ink); }
.plot .never .length { color: var(--bad); } .plot .never text { fill: var(--bad); }
.plot .off text { fill: var(--faint); } .plot .off .length { color: var(--faint); }
@media print { body { max-width: none; padding: 0; font-size: 11px; } details, figure, tr { break-inside: avoid; }
  details::details-content { content-visibility: visible; } pre { white-space: pre-wrap; } }
"""
)
