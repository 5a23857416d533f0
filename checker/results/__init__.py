"""The results of a search: what the engines found, the verdicts that follow, and how they are shown.

In:  nothing but models and traces.
Out: results of searches, of bounded model checking and of proofs; verdicts; a `Run`, its text and `--json` object.
May import: resources.
"""
