"""Functions of machine code, written as Python that calculates with values of the running function.

In:  Python functions that calculate with `Value`s.
Out: LLVM's assembly.
May import: nothing of the checker.
"""
