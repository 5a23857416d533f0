"""Random models in which cells are dead in some states, and whether clearing these cells changes what a model does.

In:  a random number generator; an instance.
Out: the text of a model; a difference between two states that differ only in dead cells.
May import: fuzz.
"""
