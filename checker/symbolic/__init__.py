"""Symbolic checking: the model's functions as Boolean formulas, and Z3.

In:  an instance of a model.
Out: its transition relation; for each depth, whether a path of that length violates a property.
May import: results, resources.
"""
