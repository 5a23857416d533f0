"""`--tables DIR`: the results of a search as Parquet files.

In:  a `Run`: a search with its verdicts.
Out: one Parquet file for the search in the folder of each table.
May import: results and the engines.
"""
