"""Breadth-first search on Spark: the search of checker/explicit, with its work done by executors.

In:  a `SparkRequest`, an instance of a model, its kernel, and limits.
Out: an `Exploration` and a `SparkSummary`; a session in which all machines run the same code; independent tasks on its
     executors; errors of Spark as messages of one line.
May import: explicit, compile, results, resources.
"""
