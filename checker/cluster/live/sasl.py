"""The messages with which a client proves to a broker who it is: SASL PLAIN (RFC 4616), SCRAM (RFC 5802) and
OAUTHBEARER (RFC 7628)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Generator
from dataclasses import dataclass, field

SCRAM = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""The hash of each mechanism of SCRAM."""
OAUTHBEARER = "OAUTHBEARER"
MECHANISMS = ("PLAIN", *SCRAM, OAUTHBEARER)
MOST_ITERATIONS = 1_000_000
"""The most iterations of SCRAM: a server that asks for more would only keep the client busy."""


class NotTrustedError(Exception):
    """The broker does not prove that it knows the password, or its answer is not one of SCRAM."""


@dataclass(frozen=True)
class Login:
    """A user of a cluster."""

    mechanism: str
    """One of `MECHANISMS`."""
    user: str
    """Empty with OAUTHBEARER, whose token names the user."""
    password: str = field(repr=False)
    """The password; with OAUTHBEARER, the token."""
    extensions: tuple[tuple[str, str], ...] = ()
    """With OAUTHBEARER: names and values that the broker also asks for, such as `logicalCluster` of Confluent Cloud."""

    @property
    def proof(self) -> str:
        """What the broker checks, in words."""
        return "the token" if self.mechanism == OAUTHBEARER else "the user or the password"

    def messages(self) -> Generator[bytes, bytes, None]:
        """Yield the client's messages; receive the broker's answer to each. Raises NotTrustedError."""
        if self.mechanism == "PLAIN":
            yield f"\0{self.user}\0{self.password}".encode()
        elif self.mechanism == OAUTHBEARER:
            given = (("auth", f"Bearer {self.password}"), *self.extensions)
            refusal = yield "\1".join(["n,,", *(f"{name}={value}" for name, value in given), "", ""]).encode()
            if refusal:
                yield b"\1"  # the broker waits for this byte before it ends the login with an error
        else:
            yield from self._scram(SCRAM[self.mechanism])

    def _scram(self, digest: str) -> Generator[bytes, bytes, None]:
        nonce = secrets.token_urlsafe(24)
        # Kafka prepares neither names nor passwords with SASLprep (ScramFormatter).
        first = f"n={self.user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        answer = (yield f"n,,{first}".encode()).decode("utf-8", "replace")
        fields = _fields(answer)
        try:
            salt, iterations = base64.b64decode(fields["s"], validate=True), int(fields["i"])
        except (KeyError, ValueError):
            raise NotTrustedError(
                "its answer to SCRAM's first message has no salt or no number of iterations"
            ) from None
        if not fields.get("r", "").startswith(nonce) or not 1 <= iterations <= MOST_ITERATIONS:
            raise NotTrustedError("its answer to SCRAM's first message has another nonce, or too many iterations")
        salted = hashlib.pbkdf2_hmac(digest, self.password.encode(), salt, iterations)
        key = hmac.digest(salted, b"Client Key", digest)
        last = f"c={base64.b64encode(b'n,,').decode()},r={fields['r']}"
        whole = f"{first},{answer},{last}".encode()
        signature = hmac.digest(hashlib.new(digest, key).digest(), whole, digest)
        proof = bytes(one ^ other for one, other in zip(key, signature, strict=True))
        answer = (yield f"{last},p={base64.b64encode(proof).decode()}".encode()).decode("utf-8", "replace")
        expected = hmac.digest(hmac.digest(salted, b"Server Key", digest), whole, digest)
        if not hmac.compare_digest(_fields(answer).get("v", ""), base64.b64encode(expected).decode()):
            raise NotTrustedError("it does not prove that it knows the password's hash (SCRAM)")


def _fields(message: str) -> dict[str, str]:
    return {name: value for name, equals, value in (part.partition("=") for part in message.split(",")) if equals}
