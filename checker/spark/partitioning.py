"""Partitioning: moves each blob to the partition with its number.

In:  an RDD of (number, blob).
Out: an RDD in which blob n is in partition n.
"""

from __future__ import annotations

from pyspark import RDD

Pairs = RDD[tuple[int, bytes]]


def partitioned(pairs: Pairs, shards: int) -> Pairs:
    """Move each blob to its partition. RDDs that are partitioned alike can be combined without a further shuffle."""
    return pairs.partitionBy(shards, _itself)


def _itself(number: int) -> int:
    return number
