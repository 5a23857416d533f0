"""The text of a model's functions, and the check that Python runs exactly this text.

In:  functions and files.
Out: syntax trees, printed expressions, sealed functions.
May import: messages.
"""
