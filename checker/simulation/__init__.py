"""Simulation: many random walks of the compiled model, for bounds that are too large for a search.

In:  an instance, the number and length of the walks, a seed.
Out: violations on the walks, and which actions and values the walks covered. Searches shorten the path to a violation.
May import: explicit, compile, results, resources.
"""
