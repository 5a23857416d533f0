"""Symbolic checking: the model's functions as Boolean formulas, and Z3.

In:  an instance of a model.
Out: its transition relation, and for each depth whether a path of that length breaks a property.
May import: compile, outcome, resources.
"""
