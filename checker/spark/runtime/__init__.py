"""Spark itself: Java, the session, what tasks may use, and what its faults mean.

In:  which Spark a person asked for.
Out: a session that runs the same code everywhere, and faults in one line each.
May import: resources.
"""
