"""`check sweep`: a table of verdicts for many configurations.

In:  a model, and the configuration entries to vary, with their values.
Out: a table of verdicts, the smallest configuration with a failure, and a file from which an interrupted sweep resumes.
May import: command and everything below it.
"""
