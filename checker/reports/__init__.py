"""`check --report DIR`: what was found as a page for people, and as files for build servers.

command.py       the option, and when the folder is written
content.py       what a report tells, whatever was asked: searches, verdicts, how a build server counts them
choose.py        what was found, whatever the form, as that
gather.py        one model, the matrix or a cluster as that; gather_sweep.py a sweep
page.py          index.html, of plots.py and style.py
junit.py         junit.xml: a test for each property of each search
sarif.py         results.sarif: a finding for each that fails, with the steps that lead there
regressions.py   test_regressions.py: pytest runs the histories again
folder.py        the folder: refused where it is somebody else's, and never half a report
"""
