"""Partitioning: moves each Arrow batch to the partition with its number.

In:  an RDD of (number, Arrow batch).
Out: an RDD in which the batches with number n are in partition n.
"""

from __future__ import annotations

from pyspark import RDD

Pairs = RDD[tuple[int, bytes]]


def partitioned(pairs: Pairs, shards: int) -> Pairs:
    """Move each Arrow batch to its partition. RDDs partitioned alike can be combined without a further shuffle."""
    return pairs.partitionBy(shards, _itself)


def _itself(number: int) -> int:
    return number
