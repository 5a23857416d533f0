"""Explicit-state search: breadth first, on one thread or several.

In:  an instance of a model, its kernel, and limits.
Out: an `Exploration`: counts, and the shortest path that decides each property.
May import: compile, outcome, resources.
"""
