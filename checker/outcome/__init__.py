"""The results of the engines as plain values, and the verdicts that follow from them.

In:  nothing but models and traces.
Out: results of searches, of bounded model checking and of proofs; verdicts and exit codes.
May import: resources.
"""
