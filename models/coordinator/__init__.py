"""Coordinators: Kafka's coordinator runtime since 4.0, and what consumers commit."""
