"""The requests of clients, one function each: from kio's request to kio's response.

In:  a broker, a request (`protocol.Request`), the backend.
Out: the response; None if the client expects no response.
"""
