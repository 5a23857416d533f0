"""Plain results: what every engine hands over, and what it means.

In:  nothing but models and traces.
Out: results of searches, of bounded model checking and of proofs; verdicts and exit codes.
May import: resources.
"""
