"""The trace format, and certifying: a trace is re-run step by step in plain Python before it is believed.

In:  an instance of a model and steps, or a file.
Out: a certified `Trace`, its file, and why its property is false.
May import: no other room of traces.
"""
