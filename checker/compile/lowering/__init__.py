"""Parts of the building of kernels (checker/compile/lower.py).

In:  the representation of a model's functions, a state layout, and what makes states fewer.
Out: functions of machine code.
May import: compile/staging, reductions, outcome.
"""
