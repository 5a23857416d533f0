"""The results of a search: those of the engines, the verdicts that follow, and how reports show them.

In:  nothing but models and traces.
Out: results of searches, of bounded model checking and of proofs; verdicts; a `Run` with its text and its object.
May import: resources.
"""
