"""Reads the functions of a model into the representation: the only room that knows Python's syntax.

In:  functions and files.
Out: `Function`s, whose routines every engine reads; or a LanguageError with FILE:LINE and the cure.
May import: language, ir, messages.
"""
