"""Records runs of the executable cluster's system of transactions.

In:  a plan: protocol, bounds, seed.
Out: a log of runs of the model `transactions`.
May import: cluster, replay, follow.format.
"""
