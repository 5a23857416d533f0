"""Properties that only a search of every reachable state judges: what stays possible, and what happens at last.

In:  the states of a search that has reached every one, and their transitions, which are computed again.
Out: the states in which such a property fails, and a path or a lasso to the first of them.
May import: checker/compile, checker/results.
"""
