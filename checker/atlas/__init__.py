"""The atlas: every question about every combination of settings and releases, searched once, recorded, and shown.

In:  the known releases, and the settings on which answers depend.
Out: the record (models/kafka/atlas), repeated searches of a sample of it, and its pages.
May import: answers, failures and everything below them.
"""
