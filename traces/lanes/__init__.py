"""Lays out a trace of any model: as a table, in lanes (a column for each broker), and as a scene (data for drawing).

In:  a trace.
Out: tables of text, lanes, scenes.
May import: format.
"""
