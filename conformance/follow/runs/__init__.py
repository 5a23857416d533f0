"""Follows the log of a run: checks whether the run is a behaviour of the model.

In:  the events of a log.
Out: a verdict, and the reason if the log is rejected.
May import: follow.format.
"""
