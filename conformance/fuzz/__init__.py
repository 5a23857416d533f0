"""The fuzzer: compares all engines with a plain search on random programs of the modelling language.

program.py defines programs; declarations.py, expressions.py, statements.py and programs.py make one from a seed.
plain_search.py searches it, compare.py and compare_proofs.py compare the engines with that search, and shrink.py
shrinks failing programs. `python -m isrcheck.conformance.fuzz` runs the fuzzer; mutation.py tests that it finds bugs.
"""
