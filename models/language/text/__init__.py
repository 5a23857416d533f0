"""The text of a model's functions, checked to be the code that Python runs.

In:  functions and files.
Out: syntax trees, printed expressions, sealed functions.
May import: messages.
"""
