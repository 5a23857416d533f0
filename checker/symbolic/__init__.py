"""Symbolic checking: the functions of a model become Boolean formulas, which Z3 solves.

In:  an instance of a model.
Out: the transition relation of the instance; for each depth, whether a path of this length violates a property.
May import: results, resources.
"""
