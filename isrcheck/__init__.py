"""isrcheck: settle a question about Kafka-style replication.

The folders of the project are the packages `isrcheck.models`, `isrcheck.checker`, `isrcheck.traces` and
`isrcheck.conformance`. Model files import `isrcheck.language`.
"""
