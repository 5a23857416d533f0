"""Replay of traces of the model `coordinator`, on brokers with group coordinators.

In:  a trace of `coordinator`.
Out: a driver (driver.py), the model's view of the cluster (projection.py), the traces that no cluster follows
     (timing.py).
"""
