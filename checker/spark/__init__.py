"""Breadth-first search on Spark: the same search as in checker/explicit, but Spark's executors do the work.

In:  a `SparkRequest`, an instance of a model, the instance's kernel (its compiled functions), and limits.
Out: the result of the search, as `Exploration` and `SparkSummary`. Other packages also use the Spark session, run tasks
     of their own on executors, and get the errors of Spark as messages of one line.
May import: explicit, compile, results, resources.
"""
