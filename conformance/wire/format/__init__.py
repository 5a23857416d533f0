"""The bytes of Kafka's protocol: requests, responses, record batches.

In:  bytes, which may be anything; values of responses.
Out: requests and batches; bytes of responses.
"""
