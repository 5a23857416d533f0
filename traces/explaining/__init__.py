"""Explains why a trace ends as it does: what was lost or changed, and which steps caused the change.

In:  a certified trace.
Out: attributions, divergences, causes and slices.
May import: kafka, lanes, format.
"""
