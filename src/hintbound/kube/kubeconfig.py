"""A kubeconfig's cluster and user, read by the official client's loader and by nothing else of it.

The loader knows exec plugins, OIDC, token files and client certificates. Its gaps are filled here: it reads a
token file once and an OIDC token's expiry never, and it only logs that a plugin failed, after which its user
would go on as nobody.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from ssl import CERT_NONE, SSLContext
from typing import Any, Final, Self

import orjson

from hintbound.errors import CannotStart, one_of
from hintbound.kube.connection import tls_context
from hintbound.protocol import Seconds

_TOKEN_FILE_AGE: Final[Seconds] = 60.0
"""How long a token read from a file is used before the file is read again, as client-go does."""
_EARLY: Final = 0.2
"""A token is refreshed when this share of its life is left, but no more than `_EARLIEST` before its end."""
_EARLIEST: Final[Seconds] = 300.0
_BETWEEN_ATTEMPTS: Final[Seconds] = 10.0
"""A source that gives an expired token again is not asked for each request."""
_CREDENTIALS: Final = frozenset(
    {
        "token",
        "tokenFile",
        "exec",
        "auth-provider",
        "username",
        "client-certificate",
        "client-certificate-data",
    }
)


@dataclass(slots=True)
class _Configuration:
    """What the loader fills in: the same attributes as the official client's Configuration."""

    host: str = ""
    ssl_ca_cert: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify_ssl: bool = True
    tls_server_name: str | None = None
    proxy: str | None = None
    api_key: dict[str, str] = field(default_factory=dict)
    refresh_api_key_hook: object = None


@dataclass(frozen=True, slots=True)
class _Loaded:
    configuration: _Configuration
    expires: Seconds | None
    """When the credentials end, on the wall clock; None when nothing tells."""
    from_token_file: bool


class Kubeconfig:
    """The current credentials of one context. Construct with `load`."""

    def __init__(self, read: Callable[[], _Loaded], clock: Callable[[], Seconds] = time.time) -> None:
        self._read = read
        self._clock = clock
        self._lock = asyncio.Lock()
        self._take(read())
        configuration = self._loaded.configuration
        self.server = configuration.host
        self.server_name = configuration.tls_server_name
        self.proxy = configuration.proxy or _proxy_of_environment(self.server)
        self.tls = _tls(configuration)

    @classmethod
    def load(
        cls, path: Path | None, context: str | None, *, clock: Callable[[], Seconds] = time.time
    ) -> Self:
        """Read a context. Raises CannotStart."""
        where = str(path) if path is not None else os.environ.get("KUBECONFIG") or "~/.kube/config"
        return cls(lambda: _load(where, context), clock)

    async def headers(self) -> Mapping[str, str]:
        """The headers that prove who asks. Refreshes what has expired; raises CannotStart when that fails."""
        if self._clock() >= self._refresh_at:
            async with self._lock:
                if self._clock() >= self._refresh_at:
                    await self._refresh()
        token = self._loaded.configuration.api_key.get("BearerToken")
        return {} if token is None else {"Authorization": token}

    async def _refresh(self) -> None:
        # In a thread: a plugin may talk to an identity provider for seconds.
        self._take(await asyncio.to_thread(self._read))
        configuration = self._loaded.configuration
        if self.tls is not None and configuration.cert_file is not None:
            self.tls.load_cert_chain(configuration.cert_file, configuration.key_file)

    def _take(self, loaded: _Loaded) -> None:
        now = self._clock()
        self._loaded = loaded
        self._refresh_at: Seconds = float("inf")
        if loaded.from_token_file:
            self._refresh_at = now + _TOKEN_FILE_AGE
        if loaded.expires is not None:
            early = min(_EARLIEST, _EARLY * max(0.0, loaded.expires - now))
            soonest = max(loaded.expires - early, now + _BETWEEN_ATTEMPTS)
            self._refresh_at = min(self._refresh_at, soonest)


def _load(where: str, context: str | None) -> _Loaded:
    # Imported late: it takes longer than the rest of a command's start.
    import yaml
    from kubernetes.config import ConfigException, kube_config

    untyped: Any = kube_config
    try:
        merger = untyped.KubeConfigMerger(where)
        if merger.config is None:
            raise CannotStart(
                f"there is no kubeconfig at {where}.", next_step="Set KUBECONFIG or name a file."
            )
        chosen = _chosen(where, merger.config, context)
        loader = untyped.KubeConfigLoader(
            merger.config, chosen, config_base_path=None, config_persister=merger.save_changes
        )
        configuration = _Configuration()
        with _Complaints() as complaints:
            loader.load_and_set(configuration)
        user = _user(merger.config, loader.current_context)
    except ConfigException as error:
        raise CannotStart(f"cannot use the kubeconfig {where}: {error}.") from error
    except OSError as error:
        raise CannotStart(f"cannot read the kubeconfig {where}: {error}.") from error
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, KeyError) as error:
        # The loader takes the shape of the file for granted.
        raise CannotStart(f"{where} is no kubeconfig: {' '.join(str(error).split())}.") from error
    if not configuration.host:
        raise CannotStart(f"the cluster of context {chosen!r} in {where} has no server.")
    token = configuration.api_key.get("BearerToken")
    if token is None and configuration.cert_file is None and _CREDENTIALS & user.keys():
        why = "; ".join(complaints.messages) or "none of its kinds is supported"
        raise CannotStart(
            f"the user of context {chosen!r} in {where} gave no credentials: {why}.",
            next_step=f"`kubectl --context {chosen} auth whoami` should work first.",
        )
    expiry = getattr(loader, "expiry", None)
    return _Loaded(
        configuration,
        expires=expiry.timestamp() if expiry is not None else _end_of_jwt(token or ""),
        from_token_file="tokenFile" in user and "token" not in user,
    )


def _chosen(where: str, config: Any, context: str | None) -> str:
    names = [str(entry["name"]) for entry in config.safe_get("contexts") or []]
    chosen = context or config.safe_get("current-context")
    if not names:
        raise CannotStart(f"the kubeconfig {where} has no contexts.")
    if not chosen:
        raise CannotStart(
            f"the kubeconfig {where} has no current context.", next_step=f"Name one of: {', '.join(names)}."
        )
    if chosen not in names:
        raise one_of(f"context in {where}:", str(chosen), names)
    return str(chosen)


def _user(config: Any, context: Mapping[str, Any]) -> Mapping[str, Any]:
    """The user's entry as it stands in the file; empty for a context without one."""
    name = context["context"].get("user")
    found = config["users"].get_with_name(name, safe=True) if name and config.safe_get("users") else None
    return {} if found is None else found["user"].value


class _Complaints(logging.Handler):
    """Collects what the loader logs instead of raising; keeps `logging` from installing a handler for it."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self.messages.append(record.getMessage())

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *error: object) -> None:
        logging.getLogger().removeHandler(self)


def _end_of_jwt(token: str) -> Seconds | None:
    """The `exp` of a bearer token that is a JWT; the apiserver is the one to verify it."""
    parts = token.removeprefix("Bearer ").split(".")
    if len(parts) != 3:
        return None
    try:
        claims = orjson.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return float(claims["exp"])
    except (ValueError, TypeError, KeyError):
        return None


def _tls(configuration: _Configuration) -> SSLContext | None:
    if not configuration.host.startswith("https"):
        return None

    def path(file: str | None) -> Path | None:
        return None if file is None else Path(file)

    context = tls_context(
        ca=path(configuration.ssl_ca_cert) if configuration.verify_ssl else None,
        cert=path(configuration.cert_file),
        key=path(configuration.key_file),
    )
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = CERT_NONE
    return context


def _proxy_of_environment(server: str) -> str | None:
    """HTTPS_PROXY and NO_PROXY as kubectl obeys them: never for loopback."""
    parts = urllib.parse.urlsplit(server)
    proxies = urllib.request.getproxies_environment()
    host = parts.hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1":
        return None
    if urllib.request.proxy_bypass_environment(parts.netloc, proxies):  # type: ignore[attr-defined]
        return None
    return proxies.get(parts.scheme)
