"""One search or proof, run and told.

In:  an instance of a model, and which engine to ask.
Out: a `Run`: the verdicts, the trace files that were written, and the text or the object that tells of them.
May import: spark, proofs, explicit, symbolic, compile, outcome, resources.
"""
