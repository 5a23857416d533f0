"""A client's property file: what it says about TLS and SASL, and the files that cannot be used, with the cure."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from conformance.tests.checker.cluster.live.stub import TLS
from isrcheck.checker.cluster.live.sasl import Login
from isrcheck.checker.cluster.live.security import read_security
from isrcheck.checker.cluster.property_files import PropertiesError

SASL = "security.protocol=SASL_PLAINTEXT\n"


def written(folder: Path, text: str) -> Path:
    file = folder / "c.properties"
    file.write_text(text, encoding="utf-8")
    return file


def refused(folder: Path, text: str) -> str:
    """The error for a file, with DIR for its folder."""
    with pytest.raises(PropertiesError) as error:
        read_security(written(folder, text))
    return str(error.value).replace(str(folder), "DIR")


def test_without_a_file_there_is_neither_tls_nor_a_user() -> None:
    assert read_security(None) == read_security(None)
    assert (read_security(None).tls, read_security(None).login) == (None, None)


@pytest.mark.parametrize(
    ("text", "login"),
    [
        (
            SASL + "sasl.mechanism=PLAIN\nsasl.jaas.config=a.b.PlainLoginModule required username=u password='p' "
            'password="p q\\\\"r";\n',
            Login("PLAIN", "u", 'p q"r'),
        ),
        (
            SASL + "sasl.mechanisms=scram-sha-256\nsasl.username=u\nsasl.password=p\n",
            Login("SCRAM-SHA-256", "u", "p"),
        ),
    ],
)
def test_a_user(text: str, login: Login, tmp_path: Path) -> None:
    assert read_security(written(tmp_path, text)).login == login


def test_no_password_is_printed(tmp_path: Path) -> None:
    text = SASL + "sasl.mechanism=PLAIN\nsasl.username=u\nsasl.password=hunter2\n"
    assert "hunter2" not in repr(read_security(written(tmp_path, text)))


def test_a_client_s_certificate_and_inline_certificates(tmp_path: Path) -> None:
    inline = (TLS / "ca.pem").read_text(encoding="ascii").replace("\n", "\\n")
    text = (
        f"security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location={TLS / 'server.pem'}\n"
        f"ssl.truststore.certificates={inline}\n"
    )
    tls = read_security(written(tmp_path, text)).tls
    assert tls is not None
    assert (tls.verify_mode, tls.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert tls.cert_store_stats()["x509"] == 1


def test_verification_can_be_turned_off_as_in_librdkafka(tmp_path: Path) -> None:
    text = "security.protocol=SSL\nenable.ssl.certificate.verification=false\n"
    tls = read_security(written(tmp_path, text)).tls
    assert tls is not None
    assert (tls.verify_mode, tls.check_hostname) == (ssl.CERT_NONE, False)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "security.protocol=TLS\n",
            "DIR/c.properties:1: security.protocol 'TLS' is unknown; write PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
        ),
        (
            "\nsasl.mechanism=PLAIN\n",
            "DIR/c.properties:2: sasl.mechanism has no effect without security.protocol, which is PLAINTEXT by default;"
            " add security.protocol=SASL_SSL, SSL or SASL_PLAINTEXT",
        ),
        (
            SASL,
            "DIR/c.properties: sasl.mechanism is GSSAPI by default, which is not supported (Kerberos needs a library"
            " that isrcheck does not have); connect to another listener, with PLAIN, SCRAM-SHA-256, SCRAM-SHA-512,"
            " OAUTHBEARER or a client certificate, or give the files that kafka-topics, kafka-configs and"
            " kafka-features print (isrcheck doctor FILE ...)",
        ),
        (
            SASL + "sasl.mechanism=AWS_MSK_IAM\n",
            "DIR/c.properties:2: sasl.mechanism=AWS_MSK_IAM is not supported; connect to another listener, with PLAIN,"
            " SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or a client certificate, or give the files that kafka-topics,"
            " kafka-configs and kafka-features print (isrcheck doctor FILE ...)",
        ),
        (
            SASL + "sasl.mechanism=AWS_MSK_IAM\nsasl.client.callback.handler.class=software.amazon.x\n",
            "DIR/c.properties:3: sasl.client.callback.handler.class names a class of Java, which isrcheck cannot run;"
            " give a user with PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or a client certificate",
        ),
        (
            SASL + "sasl.mechanism=PLAIN\n",
            "DIR/c.properties: there is no user for PLAIN; add"
            ' sasl.jaas.config=... required username="..." password="...";',
        ),
        (
            SASL + "sasl.mechanism=PLAIN\nsasl.jaas.config=x.PlainLoginModule required username=hunter2;\n",
            "DIR/c.properties:3: sasl.jaas.config has no username or no password; add both",
        ),
        (
            SASL + "sasl.mechanism=PLAIN\nsasl.username=u\nsasl.password=${env:SECRET}\n",
            "DIR/c.properties:4: sasl.password is a placeholder, which only Java resolves; write its value",
        ),
        (
            "security.protocol=SSL\nssl.truststore.location=/nowhere/ca.pem\n",
            "DIR/c.properties:2: ssl.truststore.location: /nowhere/ca.pem cannot be used (No such file or directory);"
            " give a readable PEM file",
        ),
        (
            "security.protocol=SSL\nssl.keystore.key=-----BEGIN PRIVATE KEY----- hunter2\n",
            "DIR/c.properties:2: ssl.keystore.key has a private key in the text, which Python's TLS reads only from a"
            " file; write the key and its certificates to a file, and give it as ssl.keystore.location with"
            " ssl.keystore.type=PEM",
        ),
    ],
)
def test_a_file_that_cannot_be_used(text: str, says: str, tmp_path: Path) -> None:
    assert refused(tmp_path, text) == says
    assert "hunter2" not in says


@pytest.mark.parametrize(
    ("content", "key", "says"),
    [
        (
            b"\xfe\xed\xfe\xed\0\0\0\2",
            "truststore",
            "ssl.truststore.location=DIR/store is a key store of Java (JKS), and only PEM files are read; convert it"
            " (keytool -list -rfc -keystore DIR/store > ca.pem), and give ssl.truststore.type=PEM and"
            " ssl.truststore.location=ca.pem",
        ),
        (
            b"\x30\x82\x04\x00",
            "truststore",
            "ssl.truststore.location=DIR/store is a PKCS12 store, and only PEM files are read; convert it"
            " (openssl pkcs12 -in DIR/store -nokeys -out ca.pem), and give ssl.truststore.type=PEM and"
            " ssl.truststore.location=ca.pem",
        ),
        (
            b"\xfe\xed\xfe\xed\0\0\0\2",
            "keystore",
            "ssl.keystore.location=DIR/store is a key store of Java (JKS), and only PEM files are read; convert it"
            " (keytool -importkeystore -srckeystore DIR/store -destkeystore client.p12 -deststoretype PKCS12, then"
            " openssl pkcs12 -in client.p12 -nodes -out client.pem), and give ssl.keystore.type=PEM and"
            " ssl.keystore.location=client.pem",
        ),
    ],
)
def test_a_store_of_java_is_refused_with_the_command_that_converts_it(
    content: bytes, key: str, says: str, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    store.write_bytes(content)
    text = f"security.protocol=SSL\nssl.{key}.location={store}\nssl.{key}.password=hunter2\n"
    assert refused(tmp_path, text) == f"DIR/c.properties:2: {says}"


def test_a_file_without_a_private_key(tmp_path: Path) -> None:
    text = f"security.protocol=SSL\nssl.keystore.location={TLS / 'ca.pem'}\nssl.key.password=hunter2\n"
    says = refused(tmp_path, text).replace(str(TLS), "TLS")
    assert says == (
        "DIR/c.properties:2: ssl.keystore.location: TLS/ca.pem cannot be used with ssl.key.password (no certificate, or"
        " no key for it); give a readable PEM file"
    )
