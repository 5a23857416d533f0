"""The log of the partition on one broker, and its disk.

In:  record batches and truncations.
Out: offsets, epochs, the state of producers.
May import: network, configuration.
"""
