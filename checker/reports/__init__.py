"""`check --report DIR`: writes the results as an HTML page, and as files for build servers.

In:  the result of any form of `check`, and the text that it printed.
Out: a folder: index.html, junit.xml, results.sarif, test_regressions.py, the traces and their pages.
May import: everything of `checker` but `atlas/pages`.
"""
