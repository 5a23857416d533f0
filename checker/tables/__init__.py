"""`--tables DIR`: the results of a search as Parquet files.

In:  a `Run`.
Out: one file in the folder of each table.
May import: results and the engines.
"""
