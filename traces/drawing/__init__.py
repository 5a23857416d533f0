"""Draws traces as pictures and pages: vector graphics, sequence diagrams, plots, HTML.

In:  a trace.
Out: files that a browser or another program shows.
May import: terminal, other_tools, explaining, kafka, transactions, pages, lanes, format.
"""
