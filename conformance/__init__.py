"""Checks the models against systems: the executable cluster, replay, following of logs, and all tests."""
