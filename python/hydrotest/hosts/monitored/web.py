"""Pages of exporters and of Prometheus."""

from __future__ import annotations

import asyncio
import http.client
import ssl
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from hydrotest.errors import BadInputError, TrialFailedError
from hydrotest.hosts.deadlines import Patience, within
from hydrotest.hosts.secrets import file_text, secret_text
from hydrotest.spec.monitored import Monitored

ANSWER = Patience.of(a_page=10.0)
BYTES_MAX = 32 << 20
PIECE_BYTES = 256 << 10
# Apart from all other work in threads, which a server that hangs would hold up.
_THREADS = ThreadPoolExecutor(max_workers=16, thread_name_prefix="monitored")


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
        if spec.authority is None:
            return cls(headers, ssl.create_default_context())
        own = file_text(spec.authority, f"the authority of {name}")
        try:
            if not own.strip():
                raise ValueError("the file is empty")
            return cls(headers, ssl.create_default_context(cadata=own))
        except (ssl.SSLError, ValueError, TypeError) as error:
            raise BadInputError(f"the authority of {name} is no certificate: {error}", "Give a file of certificates in PEM.",
                                file=spec.authority) from error  # fmt: skip

    async def get(self, url: str, patience: Patience = ANSWER) -> str:
        """A page. Raises `TrialFailedError`, which names the server, where it does not come, whole, in that time."""
        server = urlsplit(url).netloc
        work = asyncio.get_running_loop().run_in_executor(_THREADS, self._get, url, server, time.monotonic() + patience.seconds)
        return await within(work, patience, server, "answer")

    def _get(self, url: str, server: str, give_up: float) -> str:
        handlers = [_Refusing(), urllib.request.HTTPSHandler(context=self.context), urllib.request.ProxyHandler({})]
        body = bytearray()
        try:
            asked = urllib.request.Request(url, headers=dict(self.headers))
            with urllib.request.build_opener(*handlers).open(asked, timeout=max(0.1, give_up - time.monotonic())) as answer:
                while piece := answer.read1(PIECE_BYTES):
                    body += piece
                    if len(body) > BYTES_MAX:
                        raise TrialFailedError(f"{server}: more than {BYTES_MAX >> 20} MiB")
                    if time.monotonic() > give_up:
                        raise TrialFailedError(f"{server}: its page does not end")
                wanted = answer.headers.get("Content-Length")
        except urllib.error.HTTPError as error:
            raise TrialFailedError(f"{server}: {error.code} {error.reason}") from error
        except OSError as error:
            raise TrialFailedError(f"{server}: {getattr(error, 'reason', error)}") from error
        except (http.client.HTTPException, ValueError) as error:
            # Their texts may have the headers, and with them the login.
            raise TrialFailedError(f"{server}: its answer is not HTTP ({type(error).__name__})") from error
        if wanted is not None and wanted.isdigit() and len(body) < int(wanted):
            raise TrialFailedError(f"{server}: its page was cut off")
        return body.decode(errors="replace")


class _Refusing(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None
