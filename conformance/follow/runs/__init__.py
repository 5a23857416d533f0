"""Follows the log of a run: is it a behaviour of the model?

In:  the events of a log.
Out: a verdict, and where the log is rejected the reason.
May import: follow.format.
"""
