"""Runs one search or proof and reports its results.

In:  an instance of a model, and an engine.
Out: a `Run`: the verdicts, the trace files, and the results as text or as an object for `--json`.
May import: spark, proofs, explicit, symbolic, compile, outcome, resources.
"""
