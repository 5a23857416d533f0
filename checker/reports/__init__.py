"""`check --report DIR`: the results as an HTML page, and as files for build servers.

command.py       declares the option, prepares the folder before the search, and writes the report after it
content.py       the data of a report, for every form of `check`: searches, verdicts, how a build server counts them
choose.py        selects the function that builds these data from the result of a form
gather.py        builds them from the result of one model, the matrix or a cluster; gather_sweep.py from a sweep
page.py          writes index.html; plots.py draws its plots, style.py is its style sheet
junit.py         writes junit.xml: a test for each property of each search
sarif.py         writes results.sarif: a result for each failing property, with the steps that lead to the failure
regressions.py   writes test_regressions.py: a pytest test that replays each counterexample
folder.py        the folder: refuses a folder with other files, and writes a report completely or not at all
"""
