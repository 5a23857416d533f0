"""The representation of a model's functions that every engine reads.

In:  functions of the modelling language, as models/language/reading has checked them.
Out: `Routine`s: trees of the closed list of nodes in nodes.py, in which every name is resolved; their core without sets
     and queues (lowering.py); how to go through them (walking.py), what they mean (interpreter.py), what of it the
     configuration determines (determined.py), and which constructs of the language become which nodes (constructs.py).
May import: language.
"""
