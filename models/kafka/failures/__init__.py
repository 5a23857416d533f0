"""The library of known failures of Kafka's replication: one short file per failure, read by catalogue.py."""
