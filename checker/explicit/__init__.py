"""Explicit-state search: breadth first, on one thread or several; and questions about all states of a search.

In:  an instance of a model, its kernel, and limits.
Out: an `Exploration`: counts, and for each property a shortest path that violates or reaches it; results for
     `always_possible` and liveness properties; counterexamples with distinct causes.
May import: compile, reductions, results, resources.
"""
