"""How a cluster is set up: an operator's settings, the protocol's switches, seeded bugs.

In:  nothing.
Out: plain values.
May import: no other room of the cluster.
"""
