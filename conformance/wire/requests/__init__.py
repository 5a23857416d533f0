"""Answers the requests of clients, with one function for each API. Message bodies are dataclasses of the library kio.

In:  a broker, a request (`protocol.Request`), the backend.
Out: the response; None if the client expects no response.
"""
