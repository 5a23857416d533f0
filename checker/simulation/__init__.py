"""Simulation: many random walks by the compiled kernel, for bounds that are too large to search.

In:  an instance, the number and length of the walks, a seed.
Out: what the walks found and covered; a violation is shortened by searches in its neighbourhood.
May import: explicit, compile, results, resources.
"""
