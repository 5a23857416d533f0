"""The record of the atlas: what searches have found about every combination of settings and releases.

README.md describes the file, catalogue.py reads it. May import: the standard library.
"""
