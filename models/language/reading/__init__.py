"""Reads the functions of a model into the representation: only this package knows Python's syntax.

In:  functions and files of a model.
Out: a `Function` for each function, whose routine every engine reads; or a LanguageError with FILE:LINE and advice.
May import: language, ir, messages.
"""
