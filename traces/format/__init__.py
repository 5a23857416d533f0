"""The trace format and the certification of traces: plain Python takes every step again before a trace is trusted.

In:  an instance of a model and steps, or a file.
Out: a certified `Trace`, its file, and the reason why its property is false.
May import: no other subfolder of traces.
"""
