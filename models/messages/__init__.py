"""Messages to the user: errors of one line each, and text that is safe to print.

In:  text from any source.
Out: error classes, and text without control characters.
May import: nothing.
"""
