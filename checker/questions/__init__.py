"""Questions that an operator asks about a topic, and their answers by search or from the atlas.

In:  a `Case`: the settings of a topic and its producers on which the answers depend.
Out: a `Finding` for each `Question`.
May import: session and everything below it.
"""
