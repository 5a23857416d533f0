"""Scripts for `conform record` from traces of the model.

In:  a certified trace of the model `kafka`.
Out: rules that hold the messages of the trace, and for each step what a person has to do.
"""
