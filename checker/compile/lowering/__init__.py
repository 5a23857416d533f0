"""Parts of the lowering of functions to the text of a kernel (checker/compile/lower.py)."""
