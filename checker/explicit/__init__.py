"""Explicit-state search: breadth first, on one thread or several.

In:  an instance of a model, its kernel, and limits.
Out: an `Exploration`: counts, and for each property a shortest path that violates or reaches it.
May import: compile, outcome, resources.
"""
