"""The bytes of Kafka's protocol: requests, responses, record batches.

In:  bytes from clients, which may be anything; responses as kio's dataclasses.
Out: requests and batches; bytes of responses.
"""
