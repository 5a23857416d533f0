"""Lays out a trace of any model: dictionaries for Python, rows in columns, lanes, and scenes for drawing.

In:  a trace.
Out: readable traces, tables of text, lanes, scenes.
May import: format.
"""
