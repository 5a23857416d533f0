"""Breadth-first search on Spark: the search of checker/explicit, with its work done by executors."""
