"""Records runs of the executable cluster under random faults.

In:  a plan: protocol, bounds, how often which fault happens.
Out: the log of a run.
May import: cluster, replay, follow.format.
"""
