"""Explains why a trace ends as it does: what was lost or changed, and which steps caused the change.

In:  a certified trace.
Out: a headline and steps in plain words; causes and slices.
May import: kafka, transactions, lanes, format.
"""
