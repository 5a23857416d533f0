"""The Spark runtime: Java, the session, the memory of tasks, and one-line messages for Spark's errors.

In:  the user's settings for Spark.
Out: a session in which all machines run the same code; errors as one-line messages.
May import: resources.
"""
