"""Runs one search or proof: prepares an engine, calls it, and writes traces of the failures that it found.

In:  an instance of a model, and the choice of an engine.
Out: a `Run` (checker/results/run.py), and trace files.
May import: reductions, results, resources, and the engines.
"""
