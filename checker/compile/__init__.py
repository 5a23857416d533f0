"""Compiles a model to machine code.

In:  an instance of a model, and a reduction.
Out: a kernel: compiled functions that compute successors and evaluate properties, and the layout of a state in memory.
May import: reductions, results, resources.
"""
