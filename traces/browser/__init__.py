"""A walk in the browser: `trace explore --browser`.

In:  a walk (terminal/walk.py), and the folder for saved walks.
Out: pages on this machine's own address, 127.0.0.1, for users who know the token in the address.
May import: drawing, terminal, explaining, format.
"""
