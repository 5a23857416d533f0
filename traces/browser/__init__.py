"""A walk in the browser: `trace explore --browser`.

In:  a walk (terminal/walk.py), and the folder for saved walks.
Out: pages at 127.0.0.1, this machine's own address, for users who know the secret token in the path of the address.
May import: drawing, terminal, explaining, format.
"""
