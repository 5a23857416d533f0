"""Several counterexamples of one property: one for each cause of its failure.

In:  an instance, a property that fails, limits.
Out: certified traces with distinct causes.
May import: explicit, compile, outcome, resources.
"""
