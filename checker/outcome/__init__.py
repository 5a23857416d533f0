"""Results as plain values: what every engine returns, and what it means.

In:  nothing but models and traces.
Out: results of searches, of bounded model checking and of proofs; verdicts and exit codes.
May import: resources.
"""
