"""The representation of a model's functions that every engine reads.

In:  functions of the modelling language, as models/language/reading has checked them.
Out: a `Routine` for each function: a tree of nodes, in which every name is resolved. nodes.py has the closed list of
     nodes; lowering.py makes a routine's core, in which sets and queues are cells; constructs.py lists which construct
     of the language becomes which nodes. models/language/interpreter.py defines the meaning of the nodes.
May import: language.
"""
