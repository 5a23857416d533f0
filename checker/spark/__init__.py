"""The explorer on Spark: the same search, carried by executors."""
