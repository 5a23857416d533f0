"""Finds out how a search can visit fewer states with the same verdicts.

In:  an instance of a model.
Out: a `Reduction`, by which the search replaces each successor before it is stored (checker/compile).
May import: no other package of the checker.
"""
