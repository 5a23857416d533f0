"""Reads and prints traces of other tools: Apalache, Quint and TLC.

In:  a file.
Out: its states and variables, as text.
May import: lanes, format.
"""
