"""Answers to an operator's questions: can this cluster lose a record, how, after which faults, and what prevents it?

In:  a `Reading` of Kafka's own files (checker/cluster), or a `Case`, which is the settings of one topic.
Out: a `Finding` for each `Question`, made by a search or read from the record of earlier searches (the atlas); an
     `Answer` for each distinct configuration, as text, as a table and as an object.
May import: cluster, failures, command, session and everything below them.
"""
