"""A connection to one broker, with TLS and SASL, on which requests are asked one after the other.

In:  an address, a `Security`, and for each request an API with the fields of kio's schema.
Out: responses as kio's dataclasses; or an error whose message says in one line which broker failed, how, and the cure.

Responses are read by `reading.py`, so that no length that a stranger announces costs memory. A server that does not
speak Kafka's protocol is recognised by its first bytes.
"""

from __future__ import annotations

import io
import socket
import ssl
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import IntEnum
from functools import cache
from typing import Any, get_args, get_type_hints

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from isrcheck.checker.cluster.live.address import Address
from isrcheck.checker.cluster.live.cursor import Cursor, MalformedError
from isrcheck.checker.cluster.live.old_configs import NOT_IN_KIO
from isrcheck.checker.cluster.live.reading import read
from isrcheck.checker.cluster.live.sasl import NotTrustedError
from isrcheck.checker.cluster.live.security import PLAINTEXT, Security
from isrcheck.commands.exit_codes import UndecidedError
from isrcheck.models.messages import UsageError

CLIENT = "isrcheck-doctor"
MOST_RESPONSE = 256 << 20
"""The most bytes of a response; a larger length is taken for the sign of another protocol."""


class Api(IntEnum):
    """The APIs that the doctor asks. None of them changes a cluster. Each has Kafka's API key, and the oldest and the
    newest version in which the doctor asks. Brokers since 0.10.0 answer ApiVersions, and Metadata in version 1."""

    METADATA = 3, 1, 12
    SASL_HANDSHAKE = 17, 1, 1
    API_VERSIONS = 18, 0, 3
    DESCRIBE_CONFIGS = 32, 0, 4
    SASL_AUTHENTICATE = 36, 0, 2
    LIST_PARTITION_REASSIGNMENTS = 46, 0, 0
    DESCRIBE_QUORUM = 55, 0, 2
    DESCRIBE_TOPIC_PARTITIONS = 75, 0, 0

    oldest: int
    newest: int

    def __new__(cls, key: int, oldest: int, newest: int) -> Api:
        """Make an API from the three numbers of its line."""
        api = int.__new__(cls, key)
        api._value_, api.oldest, api.newest = key, oldest, newest
        return api

    @property
    def title(self) -> str:
        """The name as in Kafka's protocol: DescribeTopicPartitions."""
        return self.name.title().replace("_", "")


class ConnectError(UsageError):
    """A broker cannot be used in this way: a wrong address, another protocol, an unknown certificate or password."""


class NoAnswerError(UndecidedError):
    """A broker did not answer, or answered with an error; what it would have said is unknown."""


class Connection:
    """A connection to a broker. Use it in a `with` statement; `versions` are the APIs that the broker answers."""

    def __init__(self, address: Address, security: Security, timeout: float) -> None:
        """Connect, and log in. `timeout` is the longest wait in seconds for a connection and for each answer. Raises
        ConnectError or NoAnswerError."""
        self.address = address
        self.security = security
        self.timeout = timeout
        self._open()

    def _open(self) -> None:
        self.asked = 0
        self.is_lost = False
        self.socket = self._connected()
        try:
            self.about = self._api_versions()
            self.versions: Mapping[int, tuple[int, int]] = {
                each.api_key: (each.min_version, each.max_version) for each in self.about.api_keys
            }
            self._log_in()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        self.is_lost = True
        self.socket.close()

    def version(self, api: Api) -> int:
        """The newest version of an API that both the broker and the doctor know; negative without one."""
        first, last = self.versions.get(api, (0, -1))
        shared = min(last, api.newest)
        return shared if shared >= max(first, api.oldest) else -1

    def has(self, api: Api) -> bool:
        """Whether the broker answers an API in a version that the doctor knows."""
        return self.version(api) >= 0

    def ask(self, api: Api, **values: Any) -> Any:
        """Send a request in the newest version that both sides know, and return the response. `values` are fields of
        kio's schema, with a mapping for a nested entity; those that the version lacks are left out. Raises ConnectError
        or NoAnswerError; the next request then opens a new connection, on which no late answer can arrive."""
        if not self.has(api):
            raise NoAnswerError(f"{self.address} does not answer {api.title}")
        if self.is_lost:
            self._open()
        try:
            return self._ask(api, self.version(api), values)
        except (ConnectError, NoAnswerError):
            self.close()
            raise

    def _ask(self, api: Api, version: int, values: Mapping[str, Any]) -> Any:
        self.asked += 1
        request, response = _schemas(api, version)
        header = request.__header_schema__
        sent = {
            "request_api_key": api,
            "request_api_version": version,
            "correlation_id": self.asked,
            "client_id": CLIENT,
        }
        with io.BytesIO() as buffer:
            entity_writer(header)(buffer, _entity(header, sent))
            entity_writer(request)(buffer, _entity(request, values))
            body = buffer.getvalue()
        try:
            self.socket.settimeout(self.timeout)
            self.socket.sendall(len(body).to_bytes(4, "big") + body)
            cursor = Cursor(self._received())
        except TimeoutError:
            raise self._late(api) from None
        except OSError as error:
            raise self._ended(api, error) from None
        try:
            if (told := read(response.__header_schema__, cursor).correlation_id) != self.asked:
                raise MalformedError(f"the answer to request {told}, not to {self.asked}")
            is_refused = cursor.peek(2) == struct.pack(">h", ErrorCode.unsupported_version)
            if api is Api.API_VERSIONS and version and is_refused:
                return None  # KIP-511: the rest has the format of version 0
            return read(response, cursor)
        except MalformedError as error:
            raise ConnectError(
                f"{self.address}: its answer is not of Kafka's protocol ({error}); check the port"
            ) from None

    # --- the bytes ---

    def _connected(self) -> socket.socket:
        where = str(self.address)
        try:
            plain = socket.create_connection((self.address.host, self.address.port), self.timeout)
        except socket.gaierror as error:
            raise ConnectError(
                f"{where}: there is no host {self.address.host} ({error.strerror}); check the name"
            ) from None
        except TimeoutError:
            raise NoAnswerError(
                f"{where}: no connection within {self.timeout:g} s; check the address and firewalls, or give --timeout"
            ) from None
        except OSError as error:
            raise ConnectError(
                f"{where}: cannot connect ({error.strerror}); check that a broker listens there"
            ) from None
        if self.security.tls is None:
            return plain
        try:
            return self.security.tls.wrap_socket(plain, server_hostname=self.address.host)
        except OSError as error:
            plain.close()
            raise self._no_tls(error) from None

    def _no_tls(self, error: OSError) -> ConnectError | NoAnswerError:
        where = str(self.address)
        file = self.security.source
        if isinstance(error, ssl.SSLCertVerificationError):
            cure = "give the certificate of its authority as ssl.truststore.location (PEM)"
            if error.verify_code in (62, 64):  # host name, IP address
                cure = "connect by a name in the certificate, or set ssl.endpoint.identification.algorithm to nothing"
            return ConnectError(f"{where}: its certificate is not trusted ({error.verify_message}); {cure} in {file}")
        if isinstance(error, TimeoutError):
            return NoAnswerError(f"{where}: no answer to TLS within {self.timeout:g} s; does this port speak TLS?")
        reason = getattr(error, "reason", None) or error.strerror or type(error).__name__
        return ConnectError(f"{where}: no TLS connection ({reason}); check the port, and security.protocol in {file}")

    def _received(self) -> bytes:
        start = self._bytes(4)
        if start in (b"HTTP", b"<htm", b"<!DO"):
            raise ConnectError(f"{self.address}: this port speaks HTTP, not Kafka's protocol; give a broker's listener")
        if start[:2] == b"\x15\x03" and self.security.tls is None:
            cure = "give --command-config FILE with security.protocol=SSL or SASL_SSL"
            raise ConnectError(f"{self.address}: this port speaks TLS; {cure}")
        (length,) = struct.unpack(">i", start)
        if not 4 <= length <= MOST_RESPONSE:
            raise ConnectError(f"{self.address}: its answer is not of Kafka's protocol; check the port")
        return self._bytes(length)

    def _bytes(self, count: int) -> bytes:
        data = bytearray()
        until = time.monotonic() + self.timeout
        while len(data) < count:
            self.socket.settimeout(max(until - time.monotonic(), 0.001))
            part = self.socket.recv(min(count - len(data), 1 << 20))
            if not part:
                raise ConnectionError("the broker has closed the connection")
            data += part
        return bytes(data)

    def _late(self, api: Api) -> NoAnswerError:
        check = "check the port, or " if api is Api.API_VERSIONS else ""  # a port of another protocol may say nothing
        return NoAnswerError(
            f"{self.address}: no answer to {api.title} within {self.timeout:g} s; {check}give a longer --timeout"
        )

    def _ended(self, api: Api, error: OSError) -> ConnectError | NoAnswerError:
        what = f"{self.address} closed the connection instead of answering {api.title}"
        if isinstance(error, ssl.SSLError):
            return ConnectError(
                f"{self.address}: TLS ended ({error.reason}); if the broker asks for a client's certificate,"
                f" give ssl.keystore.location in {self.security.source or '--command-config FILE'}"
            )
        if api is Api.API_VERSIONS:
            return ConnectError(f"{what}; check the port, and security.protocol in --command-config FILE")
        if self.security.protocol == PLAINTEXT and self.asked <= 2:
            return ConnectError(
                f"{what}; if it asks for a user, give --command-config FILE with security.protocol=SASL_..."
            )
        return NoAnswerError(what)

    # --- the APIs of the broker, and the login ---

    def _api_versions(self) -> Any:
        values = {"client_software_name": CLIENT, "client_software_version": "1"}
        return self._ask(Api.API_VERSIONS, Api.API_VERSIONS.newest, values) or self._ask(Api.API_VERSIONS, 0, {})

    def _log_in(self) -> None:
        login = self.security.login
        if login is None:
            return
        where, file = self.address, self.security.source
        if not self.has(Api.SASL_HANDSHAKE) or not self.has(Api.SASL_AUTHENTICATE):
            raise ConnectError(
                f"{where} lacks SaslHandshake or SaslAuthenticate, the APIs of a login since 1.0; correct the port, or"
                f" security.protocol in {file}"
            )
        offer = self.ask(Api.SASL_HANDSHAKE, mechanism=login.mechanism)
        if offer.error_code == ErrorCode.illegal_sasl_state:
            raise ConnectError(f"{where}: this port asks for no user; correct the port, or security.protocol in {file}")
        if offer.error_code:
            offered = ", ".join(offer.mechanisms) or "none"
            raise ConnectError(f"{where} has no sasl.mechanism {login.mechanism} ({offered}); correct {file}")
        messages = login.messages()
        try:
            message = next(messages)
            while True:
                answer = self.ask(Api.SASL_AUTHENTICATE, auth_bytes=message)
                if answer.error_code:
                    reason = name_of(answer.error_code)
                    raise ConnectError(f"{where} does not accept {login.proof} ({reason}); correct {file}")
                message = messages.send(answer.auth_bytes)
        except StopIteration:
            return
        except NotTrustedError as error:
            raise ConnectError(f"{where}: {error}; do not trust this address, or correct {file}") from None


def name_of(code: int) -> str:
    """Return the name of Kafka's error code, as TOPIC_AUTHORIZATION_FAILED."""
    try:
        return ErrorCode(code).name.upper()
    except ValueError:
        return f"error {code}"


@cache
def _schemas(api: Api, version: int) -> tuple[Any, Any]:
    """Return the schemas of a request and of its response."""
    return NOT_IN_KIO.get((api, version)) or (load_request_schema(api, version), load_response_schema(api, version))


@cache
def _classes(schema: Any) -> Mapping[str, Any]:
    """Return the fields of a schema by name, each with the class of its value, or of the elements if it is a list."""
    classes = {}
    hints = get_type_hints(schema)
    for each in fields(schema):
        kind = hints[each.name]
        while inner := get_args(kind):  # of tuple[Topic, ...] | None: Topic
            kind = inner[0]
        classes[each.name] = kind
    return classes


def _entity(schema: Any, values: Mapping[str, Any]) -> Any:
    """Return the entity of a schema with these values, without those that the schema lacks."""

    def converted(kind: Any, value: Any) -> Any:
        if isinstance(value, Mapping):
            return _entity(kind, value)
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return tuple(converted(kind, one) for one in value)
        return value

    known = {name: kind for name, kind in _classes(schema).items() if name in values}
    return schema(**{name: converted(kind, values[name]) for name, kind in known.items()})
