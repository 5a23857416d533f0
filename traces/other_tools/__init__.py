"""Traces of other tools: of Apalache, Quint and TLC.

In:  a file.
Out: its states and variables, and their text.
May import: lanes, format.
"""
