"""The token with which a client logs in by SASL OAUTHBEARER: read from a file, or fetched from a token endpoint.

The endpoint is the address that the client's own file names, and no other: redirections are not followed and proxies
are not asked, so that the client's secret goes nowhere else. The request is that of Kafka's client
(HttpAccessTokenRetriever): the grant `client_credentials` of RFC 6749. Messages contain neither secrets nor tokens.
"""

from __future__ import annotations

import base64
import json
import re
import ssl
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import quote_plus, unquote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

from isrcheck.checker.cluster.property_files import PropertiesError, Property
from isrcheck.commands.exit_codes import UndecidedError

ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
MOST_BYTES = 1 << 20
"""The most bytes of a token's file, and of the endpoint's answer."""
NO_URL = "this is no URL of http, https or file"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""A token, as RFC 6750 spells it."""


class _NoRedirection(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Follow no redirection: urllib then raises HTTPError."""


def token_of(endpoint: Property, client: Mapping[str, str], *, quotes: bool, timeout: float) -> str:
    """Return the token that an endpoint (`ENDPOINT`) gives a client, or that is in the file that it names.

    `client` has the values of `id`, `secret` and `scope` that are known; `quotes` says whether the first two are sent
    URL-encoded. Raises PropertiesError, or UndecidedError if the endpoint does not answer within `timeout` seconds."""
    try:
        address = urlsplit(endpoint.value.strip())
    except ValueError:
        _refuse(endpoint, NO_URL, "write it as in https://host/token")
    if address.scheme == "file":
        try:
            with Path(unquote(address.path)).open("rb") as file:
                token = file.read(MOST_BYTES).decode("utf-8", "replace").strip()
        except OSError as error:
            _refuse(endpoint, f"the file cannot be read ({error.strerror})", "name a readable file with a token")
        return _checked(endpoint, token)
    if address.scheme not in ("http", "https") or address.hostname is None:
        _refuse(endpoint, NO_URL, "write it as in https://host/token")
    if lost := [name for name in ("id", "secret") if not client.get(name)]:
        _refuse(
            endpoint,
            f"the client has no {' and no '.join(lost)}",
            'add clientId="..." clientSecret="..." to sasl.jaas.config',
        )
    names = [quote_plus(client[name]) if quotes else client[name] for name in ("id", "secret")]
    scope = {"scope": client["scope"]} if client.get("scope") else {}
    request = Request(  # noqa: S310 - http or https, as was checked
        endpoint.value.strip(),
        urlencode({"grant_type": "client_credentials", **scope}).encode(),
        {
            "Accept": "application/json",
            "Authorization": f"Basic {base64.b64encode(':'.join(names).encode()).decode()}",
        },
    )
    opener = build_opener(ProxyHandler({}), _NoRedirection, HTTPSHandler(context=ssl.create_default_context()))
    try:
        with opener.open(request, timeout=timeout) as answer:
            content = json.loads(answer.read(MOST_BYTES))
    except HTTPError as error:
        error.close()
        _refuse(endpoint, f"it answers with HTTP status {error.code}", "check the URL, and the client's id and secret")
    except TimeoutError:
        raise _late(endpoint, timeout) from None
    except URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise _late(endpoint, timeout) from None
        reason = getattr(error.reason, "reason", None) or getattr(error.reason, "strerror", None) or "no connection"
        _refuse(endpoint, f"it cannot be reached ({reason})", "check the URL")
    except (OSError, HTTPException, ValueError, RecursionError):
        _refuse(endpoint, "it does not answer with JSON", "check the URL")
    return _checked(endpoint, content.get("access_token") if isinstance(content, dict) else None)


def _checked(endpoint: Property, token: object) -> str:
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        _refuse(endpoint, "it gives no token", "check the URL")
    return token


def _refuse(endpoint: Property, why: str, cure: str) -> NoReturn:
    raise PropertiesError(f"{endpoint.place}: {endpoint.key}: {why}; {cure}") from None


def _late(endpoint: Property, timeout: float) -> UndecidedError:
    return UndecidedError(f"{endpoint.place}: {endpoint.key}: no answer within {timeout:g} s; give a longer --timeout")
