"""How a trace of any model is laid out: rows in columns, lanes, and scenes that somebody draws.

In:  a trace.
Out: tables of text, lanes, scenes.
May import: format.
"""
