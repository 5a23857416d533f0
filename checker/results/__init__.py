"""The results of a search: what the engines found, the verdicts that follow, and how they are shown.

In:  nothing but models and traces.
Out: results of searches, of bounded model checking and of proofs; verdicts; a `Run` with its text and its object.
May import: resources.
"""
