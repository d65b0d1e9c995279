"""Where an apiserver is and how to be trusted by it: from PEM files, or from a kubeconfig."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hintbound.errors import CannotStart

HeaderProvider = Callable[[], Awaitable[Mapping[str, str]]]
"""Called before each request for the headers that prove who asks; may refresh a token."""


@dataclass(frozen=True, slots=True)
class Connection:
    """One apiserver (or a proxy before it) and one identity."""

    server: str
    """Scheme, host, port and, behind some gateways, a path."""
    tls: ssl.SSLContext | None = None
    """None for plain http only."""
    credentials: HeaderProvider | None = None
    server_name: str | None = None
    """The name that the server's certificate must carry, when it is not the host of `server`."""
    proxy: str | None = None
    """URL of an HTTP proxy to go through."""

    def __post_init__(self) -> None:
        if not self.server.startswith(("http://", "https://")):
            raise CannotStart(f"{self.server!r} is no apiserver URL.", next_step="It starts with https://.")
        object.__setattr__(self, "server", self.server.rstrip("/"))

    @classmethod
    def from_pem(
        cls,
        server: str,
        *,
        ca: Path,
        cert: Path | None = None,
        key: Path | None = None,
        token: str | None = None,
    ) -> Self:
        """Trust the CA; be the client certificate's user or the bearer token's.

        Raises CannotStart for a file that is absent or no PEM.
        """
        return cls(
            server,
            tls=tls_context(ca=ca, cert=cert, key=key),
            credentials=None if token is None else _always({"Authorization": f"Bearer {token}"}),
        )

    @classmethod
    def from_kubeconfig(cls, path: Path | None = None, context: str | None = None) -> Self:
        """Be the user of a kubeconfig's context; kubectl's files and current context when none are named.

        Raises CannotStart for an absent or unreadable file, an unknown context, or a credential plugin that
        fails.
        """
        from hintbound.kube.kubeconfig import Kubeconfig

        found = Kubeconfig.load(path, context)
        return cls(
            found.server,
            tls=found.tls,
            credentials=found.headers,
            server_name=found.server_name,
            proxy=found.proxy,
        )


def tls_context(*, ca: Path | None, cert: Path | None, key: Path | None) -> ssl.SSLContext:
    """A client's TLS settings; the system's CAs when none is given. Raises CannotStart for unfit files."""
    try:
        context = ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise CannotStart(f"cannot use {ca} as certificate authority: {_why(error)}.") from error
    # On since Python 3.13. Go does not ask for it, so the CAs of many clusters do not meet it.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if cert is not None:
        try:
            context.load_cert_chain(cert, key)
        except (OSError, ssl.SSLError) as error:
            raise CannotStart(
                f"cannot use {cert} with key {key} as client certificate: {_why(error)}."
            ) from error
    return context


def _why(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "no PEM"
    return error.strerror or str(error)


def _always(headers: Mapping[str, str]) -> HeaderProvider:
    async def provide() -> Mapping[str, str]:
        return headers

    return provide
