"""Replays traces of the model `transactions` on the executable coordinator, partition leaders and producers.

In:  a trace of `transactions`.
Out: a driver (driver.py), and the model's view of the system (projection.py).
"""
