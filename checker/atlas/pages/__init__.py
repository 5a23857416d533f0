"""The pages of the atlas: one table of every recorded case, a page for each history, and texts of what was searched.

In:  an `Atlas`: the recorded cases with their findings (content.py).
Out: a folder of self-contained pages, and the same answers as a Parquet file.
May import: failures, questions and everything below them.
"""
