"""The text of a model's functions: what was written, and that it is what Python runs.

In:  functions and files.
Out: syntax trees, spelled expressions, sealed functions.
May import: messages.
"""
