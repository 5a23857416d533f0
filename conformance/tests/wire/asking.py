"""Shared by the tests of the wire: asks a broker one question with kio, as no client library has every request."""

import io
import socket

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

SECONDS = 10.0


def ask(address, api, version, **values):
    """The response of the broker at an address to one request, whose body has these values."""
    schema = load_request_schema(api, version)
    header = schema.__header_schema__
    with io.BytesIO() as buffer:
        names = {"request_api_key": api, "request_api_version": version, "correlation_id": 1, "client_id": "test"}
        entity_writer(header)(buffer, header(**names))
        entity_writer(schema)(buffer, schema(**values))
        data = buffer.getvalue()
    with socket.create_connection(address, SECONDS) as connection:
        connection.sendall(len(data).to_bytes(4, "big") + data)
        size = int.from_bytes(received(connection, 4), "big")
        answer = received(connection, size)
    response = load_response_schema(api, version)
    _, start = entity_reader(response.__header_schema__)(answer, 0)
    body, end = entity_reader(response)(answer, start)
    assert start + end == len(answer)
    return body


def received(connection, size):
    """So many bytes from a connection."""
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        assert part, f"the connection ended after {len(data)} of {size} bytes"
        data += part
    return data
