"""Liveness in random programs: what they declare, and which states fair behaviours repeat, without the engines.

In:  the parts of a random program; a plain search of it.
Out: more parts; the states that behaviours repeat for ever.
May import: fuzz.
"""
