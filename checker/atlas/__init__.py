"""The atlas: every question about every combination of settings and releases, searched once and recorded.

In:  the known releases, and the settings on which answers depend.
Out: the record (models/kafka/atlas), and samples of it that are searched again.
May import: kafka_config and everything below it.
"""
