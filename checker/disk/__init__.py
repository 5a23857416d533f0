"""Explicit-state search for more states than memory can hold: states are kept on disk, and a search can be resumed.

In:  a `DiskRequest` (a folder), an instance of a model, its kernel, and limits.
Out: an `Exploration`, the same as that of a search in memory, and a `DiskSummary`.
May import: explicit, compile, results, resources.
"""
