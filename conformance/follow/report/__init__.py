"""The report on a recording that was followed: the path that explains it, or what excludes every path.

In:  the outcome of a search (search/explain.py), or of following online (online/follow.py).
Out: lines of text.
"""
