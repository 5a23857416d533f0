"""The answer for an operator: can this cluster lose a record, how, how rarely, and what to change.

In:  a `Reading` of Kafka's own files (checker/kafka_config), and an answerer of questions (checker/questions).
Out: an `Answer` for each distinct configuration, as text, as a table, and as an object.
May import: failures, kafka_config, questions, command, session and everything below them.
"""
