"""Compiles a model to machine code.

In:  an instance of a model.
Out: a kernel: compiled functions that expand states and judge properties, and the layout of a state in memory.
May import: outcome, resources.
"""
