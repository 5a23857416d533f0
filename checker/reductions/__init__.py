"""Searches of fewer states with the same verdicts.

In:  an instance.
Out: a `Reduction`, which tells the kernel what to do with each successor (checker/compile/); and real paths, made from
     the paths of a reduced search.
May import: outcome.
"""
