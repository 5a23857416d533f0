"""The representation of a model's functions that every engine reads.

In:  functions of the modelling language, as models/language/reading has checked them.
Out: a `Routine` for each function: a tree of nodes, in which every name is resolved. nodes.py has the closed list of
     nodes; lowering.py makes a routine's core, which reads and writes cells in place of sets and queues; constructs.py
     lists the nodes that each construct becomes. models/language/interpreter.py defines the meaning of the nodes.
May import: language.
"""
