"""The atlas: the answers to every question for every combination of settings and releases, recorded and shown as pages.

In:  the known releases, and the settings on which answers depend.
Out: the record (models/kafka/atlas), repeated searches of a sample of it, and its pages.
May import: answers, failures and everything below them.
"""
