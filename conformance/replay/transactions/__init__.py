"""Replay of traces of the model `transactions`, on the executable cluster's system of transactions.

In:  a trace of `transactions`.
Out: a driver (driver.py), and the model's view of the system (projection.py).
"""
