"""The fuzzer: random programs of the modelling language, on which all engines have to agree with a plain search.

program.py says what a program is, declarations.py, expressions.py, statements.py and programs.py make one from a seed,
plain_search.py searches it, compare.py and compare_proofs.py hold the engines against that search, shrink.py makes a
failure small. `python -m isrcheck.conformance.fuzz` runs it all; mutation.py checks that it notices bugs.
"""
