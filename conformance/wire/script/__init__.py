"""Plays a trace of the model as a fault script under real clients.

In:  a trace of `kafka`.
Out: the results that the clients got and the records that they read, and whether both agree with the trace.
"""
