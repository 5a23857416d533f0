"""How a client reaches a cluster, as its own property file says: security.protocol, ssl.*, sasl.*.

The keys are those of Kafka's Java clients, and those of librdkafka where its names differ. Python's own TLS makes the
connections, so certificates and keys must be PEM files: a key store of Java is refused, with the command that converts
it. The token of OAUTHBEARER is fetched while the file is read. Messages never contain a password or a token.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from isrcheck.checker.cluster.contents import listed
from isrcheck.checker.cluster.live.oauth import ENDPOINT, token_of
from isrcheck.checker.cluster.live.sasl import MECHANISMS, OAUTHBEARER, Login
from isrcheck.checker.cluster.property_files import PropertiesError, Property, quoted, read_properties

PLAINTEXT = "PLAINTEXT"
PROTOCOLS = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_JAVA_KEY_STORES = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_OPTION = re.compile(r'(?P<name>\w+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s;"]+))')
_NOT_READ = (
    "sasl.client.callback.handler.class",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "ssl.engine.factory.class",
)
"""Keys that name classes of Java, which do the work in place of the settings."""
_TOKENS_OF_KAFKA = tuple(
    f"org.apache.kafka.common.security.oauthbearer.{within}OAuthBearerLoginCallbackHandler"
    for within in ("", "secured.")
)
"""The names, new and old, of the one such class whose work isrcheck does itself: it gets the token of OAUTHBEARER."""
_OF_THE_TOKEN = {
    "id": ("clientId", "sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.id"),
    "secret": ("clientSecret", "sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.client.secret"),
    "scope": ("scope", "sasl.oauthbearer.scope"),
}
"""For each value that a token endpoint asks for: the option of JAAS, then the keys of Kafka since 4.1 (KIP-1139) and of
librdkafka."""
_BEGINNINGS_OF_USED = ("security.protocol", "ssl.", "sasl.", "enable.ssl.certificate.verification")
_TO_PEM = {
    "ssl.truststore": (
        "ca.pem",
        "keytool -list -rfc -keystore {file} > ca.pem",
        "openssl pkcs12 -in {file} -nokeys -out ca.pem",
    ),
    "ssl.keystore": (
        "client.pem",
        "keytool -importkeystore -srckeystore {file} -destkeystore client.p12 -deststoretype PKCS12, then"
        " openssl pkcs12 -in client.p12 -nodes -out client.pem",
        "openssl pkcs12 -in {file} -nodes -out client.pem",
    ),
}
"""For each store: the PEM file that replaces it, and the commands that convert a key store of Java and PKCS12 to it."""
_TRUST, _KEY = ("ssl.truststore.location", "ssl.ca.location"), ("ssl.keystore.location", "ssl.certificate.location")


@dataclass(frozen=True)
class Security:
    """How to connect to a broker: with or without TLS, as which user."""

    protocol: str = PLAINTEXT
    tls: ssl.SSLContext | None = None
    """The settings of TLS; None without TLS."""
    login: Login | None = None
    """The user; None without SASL."""
    source: str = ""
    """The client's property file; empty without one."""
    unused: str = ""
    """A remark on the settings of the file that have no effect; empty if all have one."""


def read_security(path: Path | None, timeout: float = 10.0) -> Security:
    """Return how a client's file (None: no file) says to connect. Raises PropertiesError for a bad or unusable file,
    and UndecidedError if a token endpoint does not answer within `timeout` seconds."""
    if path is None:
        return Security()
    given = {line.key: line for line in read_properties(path)}
    for line in given.values():
        if line.key.startswith(("sasl.", "ssl.", "security.")) and "${" in line.value:
            raise PropertiesError(
                f"{line.place}: {line.key} is a placeholder, which only Java resolves; write its value"
            )
    java = (given[key] for key in _NOT_READ if key in given and given[key].value.strip() not in _TOKENS_OF_KAFKA)
    if own := next(java, None):
        raise PropertiesError(
            f"{own.place}: {own.key} names a class of Java, which isrcheck cannot run;"
            f" give a user with {', '.join(MECHANISMS)} or a client certificate"
        )
    said = given.get("security.protocol")
    protocol = PLAINTEXT if said is None else said.value.strip().upper()
    if said is not None and protocol not in PROTOCOLS:
        raise PropertiesError(
            f"{said.place}: security.protocol {quoted(said.value)} is unknown; write {', '.join(PROTOCOLS)}"
        )
    if said is None and (lost := next((key for key in given if key.startswith(("sasl.", "ssl."))), None)):
        raise PropertiesError(
            f"{given[lost].place}: {lost} has no effect without security.protocol, which is {PLAINTEXT} by default;"
            " add security.protocol=SASL_SSL, SSL or SASL_PLAINTEXT"
        )
    tls = _tls(given) if protocol.endswith("SSL") else None
    login = _login(given, path, timeout) if protocol.startswith("SASL") else None
    return Security(protocol, tls, login, str(path), _unused(given, path))


def _unused(keys: Iterable[str], path: Path) -> str:
    if unused := [key for key in keys if not key.startswith(_BEGINNINGS_OF_USED)]:
        return (
            f"{path}: only security.protocol, ssl.* and sasl.* count in the file of --command-config, so"
            f" {listed(unused)} {'has' if len(unused) == 1 else 'have'} no effect; give the settings of a producer in"
            " another file"
        )
    return ""


def _first(given: Mapping[str, Property], *keys: str) -> Property | None:
    return next((given[key] for key in keys if key in given and given[key].value.strip()), None)


# --- TLS ---


def _tls(given: dict[str, Property]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    trust, key = _first(given, *_TRUST), _first(given, *_KEY)
    inline = _first(given, "ssl.truststore.certificates", "ssl.ca.pem")
    if trust is not None or inline is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if trust is not None:
        place = _pem(trust, "ssl.truststore")
        with _readable(trust):
            context.load_verify_locations(place)
    if inline is not None:
        with _readable(inline):
            context.load_verify_locations(cadata=inline.value)
    if secret := _first(given, "ssl.keystore.key", "ssl.key.pem"):
        raise PropertiesError(
            f"{secret.place}: {secret.key} has a private key in the text, which Python's TLS reads only from a file;"
            " write the key and its certificates to a file, and give it as ssl.keystore.location with"
            " ssl.keystore.type=PEM"
        )
    if key is not None:
        _present(context, key, _first(given, "ssl.key.location"), _first(given, "ssl.key.password"))
    check = given.get("ssl.endpoint.identification.algorithm")
    if check is not None and check.value.strip().lower() in ("", "none"):
        context.check_hostname = False
    verify = given.get("enable.ssl.certificate.verification")
    if verify is not None and verify.value.strip().lower() == "false":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _present(context: ssl.SSLContext, store: Property, key: Property | None, password: Property | None) -> None:
    """Let the client present its certificate, whose private key may be in a file of its own."""
    certificate = _pem(store, "ssl.keystore")
    with _readable(store, " with ssl.key.password" if password else ""):
        context.load_cert_chain(certificate, key.value if key else None, password.value if password else "")


def _pem(line: Property, store: str) -> Path:
    """Return the path that a setting names. Raises PropertiesError with the cure if the file is not a PEM file; `store`
    is the beginning of the keys that Kafka has for such a file."""
    place = Path(line.value.strip())
    with _readable(line):
        start = place.read_bytes()[:4096]
    if b"-----BEGIN" in start:
        return place
    is_of_java = start.startswith(_JAVA_KEY_STORES)
    kind = "a key store of Java (JKS)" if is_of_java else "a PKCS12 store" if start[:1] == b"\x30" else "no PEM file"
    new, from_java, from_pkcs12 = _TO_PEM[store]
    command = (from_java if is_of_java else from_pkcs12).format(file=place)
    raise PropertiesError(
        f"{line.place}: {line.key}={place} is {kind}, and only PEM files are read; convert it ({command}),"
        f" and give {store}.type=PEM and {store}.location={new}"
    )


@contextmanager
def _readable(line: Property, more: str = "") -> Iterator[None]:
    """Raise PropertiesError, which names a setting, if its certificates or its key cannot be read."""
    try:
        yield
    except OSError as error:  # TLS has a kind of them
        reason = "no certificate, or no key for it" if isinstance(error, ssl.SSLError) else error.strerror
        shown = "the certificates" if "\n" in line.value or "BEGIN" in line.value else line.value.strip()
        raise PropertiesError(
            f"{line.place}: {line.key}: {shown} cannot be used{more} ({reason}); give a readable PEM file"
        ) from None


# --- SASL ---


def _login(given: dict[str, Property], path: Path, timeout: float) -> Login:
    said = _first(given, "sasl.mechanism", "sasl.mechanisms")
    mechanism = said.value.strip().upper() if said else "GSSAPI"
    if mechanism not in MECHANISMS:
        where = (
            f"{said.place}: {said.key}={mechanism}" if said else f"{path}: sasl.mechanism is GSSAPI by default, which"
        )
        kerberos = " (Kerberos needs a library that isrcheck does not have)" if mechanism == "GSSAPI" else ""
        raise PropertiesError(
            f"{where} is not supported{kerberos}; connect to another listener, with {', '.join(MECHANISMS)} or a client"
            " certificate, or give the files that kafka-topics, kafka-configs and kafka-features print"
            " (isrcheck doctor FILE ...)"
        )
    jaas = _first(given, "sasl.jaas.config")
    named = {
        match["name"]: re.sub(r"\\(.)", r"\1", match["quoted"]) if match["bare"] is None else match["bare"]
        for match in _OPTION.finditer("" if jaas is None else jaas.value)
    }
    if mechanism == OAUTHBEARER:
        return _login_with_token(given, path, named, timeout)
    user, password = _first(given, "sasl.username"), _first(given, "sasl.password")
    if jaas is not None:
        if {"username", "password"} <= named.keys():
            return Login(mechanism, named["username"], named["password"])
        raise PropertiesError(f"{jaas.place}: sasl.jaas.config has no username or no password; add both")
    if user is None or password is None:
        raise PropertiesError(
            f'{path}: there is no user for {mechanism}; add sasl.jaas.config=... required username="..."'
            ' password="...";'
        )
    return Login(mechanism, user.value, password.value)


def _login_with_token(given: dict[str, Property], path: Path, named: Mapping[str, str], timeout: float) -> Login:
    """Return the login with a token; `named` are the options of JAAS."""
    endpoint = _first(given, ENDPOINT)
    if endpoint is None:
        raise PropertiesError(
            f"{path}: {OAUTHBEARER} needs a token; add {ENDPOINT}=https://... and the client's id and secret, or"
            f" {ENDPOINT}=file:///... with a file that has the token"
        )
    client = {}
    for name, (option, *keys) in _OF_THE_TOKEN.items():
        line = _first(given, *keys)
        client[name] = named.get(option, "" if line is None else line.value).strip()
    quoting = _first(given, "sasl.oauthbearer.header.urlencode")
    quotes = quoting is not None and quoting.value.strip().lower() == "true"
    beginning = "extension_"
    extensions = [(key.removeprefix(beginning), named[key]) for key in named if key.startswith(beginning)]
    return Login(OAUTHBEARER, "", token_of(endpoint, client, quotes=quotes, timeout=timeout), tuple(extensions))
