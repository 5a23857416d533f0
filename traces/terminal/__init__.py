"""Traces in the terminal: `trace show`, `trace diff`, and the walk of `trace explore`.

In:  a trace, or a model for a walk.
Out: lines of text, or a screen.
May import: other_tools, explaining, kafka, transactions, lanes, format.
"""
