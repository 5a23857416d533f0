"""Plays a trace of the model as a fault script under real clients.

In:  a trace of `kafka`.
Out: what the clients were told and read, and whether it is what the trace says.
"""
