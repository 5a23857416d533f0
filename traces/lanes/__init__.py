"""Lays out a trace of any model: rows in columns, lanes, and scenes for drawing.

In:  a trace.
Out: tables of text, lanes, scenes.
May import: format.
"""
