"""Sets, queues and records as the functions of a model see them in CPython: views of the cells of a state.

In:  cells.
Out: objects that behave like Python's own.
May import: messages.
"""
