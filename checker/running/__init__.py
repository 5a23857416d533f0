"""Runs one search or proof: prepares engines, calls them, and writes the traces of their findings.

In:  an instance of a model, and an engine.
Out: a `Run` (checker/results/run.py), and trace files.
May import: reductions, results, resources, and the engines.
"""
