"""Coordinators: Kafka's coordinator runtime since 4.0, and the offsets that consumers commit."""
