"""The explorer on Spark: the same search, with the work done by executors."""
