"""`check --report DIR`: the results as a page for people, and as files for build servers.

command.py       the option, and when the folder is written
content.py       what a report tells, whatever was asked: searches, verdicts, how a build server counts them
choose.py        what was found, whatever the form, as that
gather.py        one model, the matrix or a cluster as that; gather_sweep.py a sweep
page.py          index.html, of plots.py and style.py
junit.py         junit.xml: a test for each property of each search
sarif.py         results.sarif: a result for each failing property, with the steps that lead to the failure
regressions.py   test_regressions.py: pytest takes the steps of each counterexample again
folder.py        the folder: it refuses a folder with other files, and writes a report completely or not at all
"""
