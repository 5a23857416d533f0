"""Checks the models against systems: the executable cluster, replay, checking of logs, and all tests."""
