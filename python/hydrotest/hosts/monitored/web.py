"""Pages of exporters and of Prometheus."""

from __future__ import annotations

import asyncio
import ssl
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.deadlines import Patience, within
from hydrotest.hosts.secrets import file_text, secret_text
from hydrotest.spec.monitored import Monitored

ANSWER = Patience.of(a_page=10.0)
BYTES_MAX = 32 << 20


@dataclass(frozen=True)
class Web:
    """Fetches pages with one login. Redirections are not followed: the login is for this server."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    context: ssl.SSLContext | None = None

    @classmethod
    def of(cls, name: str, spec: Monitored) -> Web:
        """With the login of a host. Raises `BadInputError` where a secret or a certificate is not there."""
        headers = {}
        if spec.token is not None:
            headers["Authorization"] = f"Bearer {secret_text(spec.token, f'the token of {name}')}"
        if spec.user is not None and spec.password is not None:
            login = f"{spec.user}:{secret_text(spec.password, f'the password of {name}')}"
            headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
        own = None if spec.authority is None else file_text(spec.authority, f"the authority of {name}")
        return cls(headers, ssl.create_default_context(cadata=own))

    async def get(self, url: str, patience: Patience = ANSWER) -> str:
        """A page. Raises `TrialFailedError` where it does not come, whole, in that time."""
        return await within(asyncio.to_thread(self._get, url, patience.seconds), patience, url, "answer")

    def _get(self, url: str, seconds: float) -> str:
        handlers = [_Refusing(), urllib.request.HTTPSHandler(context=self.context), urllib.request.ProxyHandler({})]
        asked = urllib.request.Request(url, headers=dict(self.headers))
        try:
            with urllib.request.build_opener(*handlers).open(asked, timeout=seconds) as answer:
                body: bytes = answer.read(BYTES_MAX + 1)
        except urllib.error.HTTPError as error:
            raise TrialFailedError(f"{url}: {error.code} {error.reason}") from error
        except (OSError, ValueError) as error:
            raise TrialFailedError(f"{url}: {getattr(error, 'reason', error)}") from error
        if len(body) > BYTES_MAX:
            raise TrialFailedError(f"{url}: more than {BYTES_MAX >> 20} MiB")
        return body.decode(errors="replace")


class _Refusing(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None
