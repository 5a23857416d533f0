"""The representation of a model's functions that every engine reads.

In:  functions of the modelling language, as models/language/reading has checked them.
Out: `Routine`s: trees of the closed list of nodes in nodes.py, in which every name is resolved, and how to go
     through them; their core without sets and queues (lowering.py); and which constructs of the language become which
     nodes (constructs.py). models/language/interpreter.py says what they mean.
May import: language.
"""
