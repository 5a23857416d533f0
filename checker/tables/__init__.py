"""`--tables DIR`: what a search found, as Parquet files.

In:  a `Run`.
Out: a file in each table of a folder.
May import: session and everything below it.
"""
