"""Spark itself: Java, the session, the memory of tasks, and the meaning of faults.

In:  which Spark the user asked for.
Out: a session that runs the same code on all machines; faults as one line each.
May import: resources.
"""
