"""Runs one search or proof: what prepares engines, calls them, and writes the traces of what they found.

In:  an instance of a model, and an engine.
Out: a `Run` (checker/results/run.py), and trace files.
May import: spark, proofs, explicit, symbolic, compile, results, resources.
"""
