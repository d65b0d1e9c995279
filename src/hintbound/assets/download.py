"""Official Kubernetes releases over HTTP: streamed, each file checked against its published sha256.

A server that cannot be reached costs a few seconds once per process and is not asked again.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from hintbound import __version__
from hintbound.assets import machine
from hintbound.assets.progress import Show, Task
from hintbound.errors import CannotStart
from hintbound.protocol import Seconds

VARIABLE: Final = "HINTBOUND_DOWNLOAD_URL"
OFFICIAL: Final = "https://dl.k8s.io"
CONNECT_TIMEOUT: Final[Seconds] = 3
STALL_TIMEOUT: Final[Seconds] = 30
_ATTEMPTS: Final = 2
_BLOCK: Final = 1 << 18
_SHA256: Final = re.compile(r"[0-9a-f]{64}")

_unreachable: dict[str, str] = {}
"""Servers that did not answer in this process, and why."""


class UnavailableError(Exception):
    """The release cannot be had from this server; the message says why."""


def release(version: str, names: Iterable[str], into: Path, show: Show) -> str:
    """Download programs of Kubernetes `version`; returns their address. Raises UnavailableError."""
    base = _base()
    system, architecture = machine.os_arch()
    if system != "linux":
        raise UnavailableError(f"Kubernetes publishes no control plane for {system}")
    if base in _unreachable:
        raise UnavailableError(f"{base} is not reachable: {_unreachable[base]}")
    url = f"{base}/v{version}/bin/{system}/{architecture}"
    names = list(names)
    expected = {name: _expected(base, f"{url}/{name}.sha256") for name in names[:1]}
    with show.task(f"downloading Kubernetes {version} from {base}") as task:
        expected |= {name: _expected(base, f"{url}/{name}.sha256") for name in names[1:]}
        for name in names:
            _download(f"{url}/{name}", expected[name], into / name, task, show)
    return url


def _base() -> str:
    base = os.environ.get(VARIABLE, "").strip().rstrip("/") or OFFICIAL
    if base == "off":
        raise UnavailableError(f"{VARIABLE}=off")
    address = urlsplit(base)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise CannotStart(
            f"{VARIABLE}={base} is no http(s) address.",
            next_step=f"Give a mirror of {OFFICIAL}, or `off`, or unset it.",
        )
    return base


def _expected(base: str, url: str) -> str:
    text = _in_time(base, lambda: _get_text(url))
    digest = text.split()[0].lower() if text.split() else ""
    if not _SHA256.fullmatch(digest):
        raise UnavailableError(f"{url} holds no sha256")
    return digest


def _in_time(base: str, ask: Callable[[], str]) -> str:
    """The answer of `ask`; a server that gives none is remembered.

    In a thread because a time-out of the socket does not cover the look-up of the name.
    """
    answer: list[str] = []
    failure: list[Exception] = []

    def run() -> None:
        try:
            answer.append(ask())
        except Exception as error:
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(2 * CONNECT_TIMEOUT)
    if answer:
        return answer[0]
    error = failure[0] if failure else TimeoutError(f"no answer in {2 * CONNECT_TIMEOUT:.0f} s")
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        raise UnavailableError(f"{error.url} answered {error.code} {error.reason}") from error
    _unreachable[base] = _reason(error)
    raise UnavailableError(f"{base} is not reachable: {_reason(error)}") from error


def _get_text(url: str) -> str:
    with _open(url, CONNECT_TIMEOUT) as response:
        content: bytes = response.read(4096)
        return content.decode("ascii", "replace")


def _download(url: str, digest: str, target: Path, task: Task, show: Show) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _stream(url, digest, target, task)
        except UnavailableError as error:
            target.unlink(missing_ok=True)
            if attempt == _ATTEMPTS:
                raise
            show.say(f"{error}; trying once more")
        else:
            target.chmod(0o755)
            return


def _stream(url: str, digest: str, target: Path, task: Task) -> None:
    task.note(target.name)
    found, done = hashlib.sha256(), 0
    try:
        response = _open(url, STALL_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        raise UnavailableError(f"{url} answered {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise UnavailableError(f"{url}: {_reason(error)}") from error
    with response, target.open("wb") as file:
        length = response.headers.get("Content-Length")
        total = int(length) if length and length.isdigit() else None
        while block := _read(response, url):
            file.write(block)
            found.update(block)
            done += len(block)
            task.amount(done, total)
    if total is not None and done != total:
        raise UnavailableError(f"{url} broke off after {done} of {total} bytes")
    if found.hexdigest() != digest:
        raise UnavailableError(
            f"{url} has sha256 {found.hexdigest()[:12]}... instead of the published {digest[:12]}..."
        )


def _read(response: Any, url: str) -> bytes:
    """One block. Only what the network does wrong is UnavailableError; the disk's errors stay the disk's."""
    try:
        block: bytes = response.read(_BLOCK)
    except (OSError, http.client.HTTPException) as error:
        raise UnavailableError(f"{url} broke off: {_reason(error)}") from error
    return block


class _NoDowngrade(urllib.request.HTTPRedirectHandler):
    """Refuses a redirect from https to http: file and checksum would lose their proof together."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise urllib.error.HTTPError(req.full_url, code, "redirects to plain http", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _open(url: str, timeout: Seconds) -> Any:
    request = urllib.request.Request(url, headers={"User-Agent": f"hintbound/{__version__}"})
    return urllib.request.build_opener(_NoDowngrade).open(request, timeout=timeout)


def _reason(error: Exception) -> str:
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    text = (getattr(inner, "strerror", None) or str(inner) or type(inner).__name__).strip()
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
