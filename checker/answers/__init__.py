"""Questions and their answers: can this cluster lose a record, how, how rarely, and what to change.

In:  a `Reading` of Kafka's own files (checker/cluster), or a `Case`.
Out: a `Finding` for each `Question`, by search or from the record of the atlas; an `Answer` for each distinct
     configuration, as text, as a table and as an object.
May import: cluster, failures, command, session and everything below them.
"""
