"""The report on a recording that was followed: the path that explains it, or what excludes every path.

In:  the outcome of a search (observations/explain.py).
Out: lines of text.
"""
