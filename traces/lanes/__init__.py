"""Lays out a trace of any model: rows in columns, lanes, and scenes that can be drawn.

In:  a trace.
Out: tables of text, lanes, scenes.
May import: format.
"""
