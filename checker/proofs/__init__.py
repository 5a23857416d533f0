"""Proofs by induction that properties hold after any number of steps.

In:  an instance of a model, its properties and lemmas.
Out: for each property a proof, or the counterexample to induction that prevents it.
May import: symbolic, results, resources.
"""
