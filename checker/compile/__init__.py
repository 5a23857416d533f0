"""Compiles a model to machine code.

In:  an instance of a model, and what makes states fewer.
Out: a kernel: compiled functions that expand states and judge properties, and the layout of a state in memory.
May import: reductions, outcome, resources.
"""
