"""Kafka's coordinator runtime, of the group coordinator and the share coordinator since 4.0: generations.py has it."""
