"""`check --report DIR`: the results as a page for people, and as files for build servers.

content.py       the content of a report: searches, verdicts, and how a build server counts them
gather.py        builds the content from one model, the matrix, a sweep or a cluster
page.py          index.html, with plots.py and style.py
junit.py         junit.xml: a test for each property of each search
sarif.py         results.sarif: a result for each failing property, with the steps that lead to the failure
regressions.py   test_regressions.py: pytest takes the steps of each counterexample again
folder.py        the folder: it refuses a folder with other files, and writes a report completely or not at all
"""
