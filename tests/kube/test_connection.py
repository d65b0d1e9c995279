"""Connections: trusted servers only, and as the user that was asked for."""

from __future__ import annotations

import base64
import logging
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from hintbound.errors import CannotStart
from hintbound.kube import Client, Connection, Json, errors
from hintbound.kube.kubeconfig import Kubeconfig
from hintbound.kube.resources import NODES
from tests.kube.pki import Authority
from tests.kube.scripted import Peer, Request, ScriptedServer


async def who(request: Request, peer: Peer) -> None:
    """Answers with the user that the connection and the headers prove."""
    certificate: Any = peer.writer.get_extra_info("peercert") or {}
    subject = [value for ((_, value),) in certificate.get("subject", ())]
    await peer.json({"certificate": subject, "authorization": request.headers.get("authorization")})


async def ask(connection: Connection) -> Json:
    async with Client(connection, actor="a", user_agent="u") as client:
        return await client.get(NODES, "n")


@pytest.fixture
def pki(tmp_path: Path) -> Authority:
    folder = tmp_path / "pki"
    folder.mkdir()
    return Authority(folder)


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def kubeconfig(path: Path, server: str, *, user: Mapping[str, Any] | None, **cluster: Any) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u" if user is not None else ""}},
            {"name": "there", "context": {"cluster": "c", "user": "u"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user or {}}],
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(config))
    return path


# PEM files


async def test_certificate_of_pem_files_is_who_asks(pki: Authority) -> None:
    user = pki.user("hintbound-nominator")
    async with ScriptedServer(who, tls=pki.server()) as server:
        connection = Connection.from_pem(server.url, ca=pki.ca, cert=user.cert, key=user.key)
        assert await ask(connection) == {"certificate": ["hintbound-nominator"], "authorization": None}


async def test_token_beside_pem_files_is_who_asks(pki: Authority) -> None:
    async with ScriptedServer(who, tls=pki.server()) as server:
        connection = Connection.from_pem(server.url, ca=pki.ca, token="t0")
        assert (await ask(connection))["authorization"] == "Bearer t0"


async def test_server_of_another_authority_is_not_spoken_to(pki: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path, "other")
    async with ScriptedServer(who, tls=pki.server()) as server:
        with pytest.raises(errors.ConnectionFailed, match="certificate verify failed"):
            await ask(Connection.from_pem(server.url, ca=other.ca))
    assert server.requests == []


@pytest.mark.parametrize("wrong", ["absent", "empty", "folder"])
def test_unfit_pem_file_is_named(pki: Authority, tmp_path: Path, wrong: str) -> None:
    path = tmp_path / wrong
    if wrong == "empty":
        path.write_text("")
    elif wrong == "folder":
        path.mkdir()
    user = pki.user("u")

    with pytest.raises(CannotStart, match=f"{wrong} as certificate authority"):
        Connection.from_pem("https://h", ca=path)
    with pytest.raises(CannotStart, match=f"{wrong} with key .* as client certificate"):
        Connection.from_pem("https://h", ca=pki.ca, cert=path, key=user.key)


def test_key_of_another_certificate_is_refused(pki: Authority) -> None:
    with pytest.raises(CannotStart, match=r"a\.crt with key .*b\.key"):
        Connection.from_pem("https://h", ca=pki.ca, cert=pki.user("a").cert, key=pki.user("b").key)


def test_server_without_a_scheme_is_refused() -> None:
    with pytest.raises(CannotStart, match="'localhost:6443' is no apiserver URL"):
        Connection("localhost:6443")


# Kubeconfigs that work


async def test_certificate_data_in_a_kubeconfig(pki: Authority, tmp_path: Path) -> None:
    pair = pki.user("admin")
    user = {
        "client-certificate-data": text(pair.cert.read_bytes()),
        "client-key-data": text(pair.key.read_bytes()),
    }
    async with ScriptedServer(who, tls=pki.server()) as server:
        authority = {"certificate-authority-data": text(pki.ca.read_bytes())}
        path = kubeconfig(tmp_path / "kc", server.url, user=user, **authority)
        assert (await ask(Connection.from_kubeconfig(path)))["certificate"] == ["admin"]


async def test_files_in_a_kubeconfig_are_relative_to_it(pki: Authority, tmp_path: Path) -> None:
    pki.user("admin")
    user = {"client-certificate": "pki/admin.crt", "client-key": "pki/admin.key"}
    async with ScriptedServer(who, tls=pki.server()) as server:
        path = kubeconfig(tmp_path / "kc", server.url, user=user, **{"certificate-authority": "pki/ca.crt"})
        assert (await ask(Connection.from_kubeconfig(path)))["certificate"] == ["admin"]


async def test_token_in_a_kubeconfig(tmp_path: Path) -> None:
    async with ScriptedServer(who) as server:
        path = kubeconfig(tmp_path / "kc", server.url, user={"token": "t1"})
        assert (await ask(Connection.from_kubeconfig(path)))["authorization"] == "Bearer t1"


async def test_password_in_a_kubeconfig(tmp_path: Path) -> None:
    async with ScriptedServer(who) as server:
        path = kubeconfig(tmp_path / "kc", server.url, user={"username": "u", "password": "p"})
        expected = "Basic " + text(b"u:p")
        assert (await ask(Connection.from_kubeconfig(path)))["authorization"] == expected


async def test_user_without_credentials_is_nobody(tmp_path: Path) -> None:
    async with ScriptedServer(who) as server:
        users: list[dict[str, str] | None] = [{}, None]
        for user in users:
            path = kubeconfig(tmp_path / "kc", server.url, user=user)
            assert await ask(Connection.from_kubeconfig(path)) == {"certificate": [], "authorization": None}


async def test_named_context_wins_over_the_current(tmp_path: Path) -> None:
    async with ScriptedServer(who) as server:
        path = kubeconfig(tmp_path / "kc", server.url, user={"token": "t"})
        config = yaml.safe_load(path.read_text())
        config["current-context"] = "gone"
        path.write_text(yaml.safe_dump(config))
        assert (await ask(Connection.from_kubeconfig(path, "there")))["authorization"] == "Bearer t"


async def test_kubeconfig_variable_may_name_several_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedServer(who) as server:
        whole = yaml.safe_load(kubeconfig(tmp_path / "kc", server.url, user={"token": "t"}).read_text())
        (tmp_path / "one").write_text(yaml.safe_dump({**whole, "users": []}))
        (tmp_path / "two").write_text(yaml.safe_dump({"users": whole["users"]}))
        monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'one'}:{tmp_path / 'absent'}:{tmp_path / 'two'}")
        assert (await ask(Connection.from_kubeconfig()))["authorization"] == "Bearer t"


async def test_skipping_verification_is_obeyed(pki: Authority, tmp_path: Path) -> None:
    async with ScriptedServer(who, tls=pki.server(dns="elsewhere", ip="10.0.0.1")) as server:
        path = kubeconfig(
            tmp_path / "kc", server.url, user={"token": "t"}, **{"insecure-skip-tls-verify": True}
        )
        assert (await ask(Connection.from_kubeconfig(path)))["authorization"] == "Bearer t"


async def test_server_name_of_a_kubeconfig_is_the_one_to_verify(pki: Authority, tmp_path: Path) -> None:
    async with ScriptedServer(who, tls=pki.server(dns="the.cluster", ip="10.0.0.1")) as server:
        cluster = {"certificate-authority": str(pki.ca), "tls-server-name": "the.cluster"}
        path = kubeconfig(tmp_path / "kc", server.url, user={"token": "t"}, **cluster)
        assert (await ask(Connection.from_kubeconfig(path)))["authorization"] == "Bearer t"


def test_proxy_of_a_kubeconfig_wins_over_that_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://environment:1")
    monkeypatch.setenv("NO_PROXY", "inside.example")

    def proxy(server: str, **cluster: Any) -> str | None:
        path = kubeconfig(tmp_path / "kc", server, user={}, **cluster)
        return Connection.from_kubeconfig(path).proxy

    assert proxy("https://a.example", **{"proxy-url": "http://own:2"}) == "http://own:2"
    assert proxy("https://a.example") == "http://environment:1"
    assert proxy("https://inside.example") is None
    assert proxy("https://127.0.0.1:6443") is None
    assert proxy("https://localhost:6443") is None


# Credentials that change


def plugin(
    path: Path, *, api_version: str = "client.authentication.k8s.io/v1", **status: str
) -> dict[str, Any]:
    """A user whose exec plugin counts its runs and prints these, `{n}` being the run."""
    answer = orjson.dumps({"apiVersion": api_version, "kind": "ExecCredential", "status": status}).decode()
    path.write_text(
        f"#!/bin/sh\necho x >>{path}.runs\nn=$(wc -l <{path}.runs)\nprintf '%s' '{answer}' | sed s/@n@/$n/g\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(path)}}


def runs(path: Path) -> int:
    return len(Path(f"{path}.runs").read_text().splitlines())


class Clock:
    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


async def test_exec_plugin_gives_the_token(tmp_path: Path) -> None:
    user = plugin(tmp_path / "plugin", token="from-plugin-@n@")
    async with ScriptedServer(who) as server:
        path = kubeconfig(tmp_path / "kc", server.url, user=user)
        connection = Connection.from_kubeconfig(path)
        for _ in range(3):
            assert (await ask(connection))["authorization"] == "Bearer from-plugin-1"
    assert runs(tmp_path / "plugin") == 1


async def test_exec_plugin_is_asked_again_before_its_token_ends(tmp_path: Path) -> None:
    clock = Clock(1_700_000_000.0)  # 2023-11-14T22:13:20Z
    user = plugin(tmp_path / "plugin", token="t-@n@", expirationTimestamp="2023-11-14T23:13:20Z")
    found = Kubeconfig.load(kubeconfig(tmp_path / "kc", "http://h", user=user), None, clock=clock)

    clock.now += 3600 - 301
    assert await found.headers() == {"Authorization": "Bearer t-1"}
    clock.now += 2
    assert await found.headers() == {"Authorization": "Bearer t-2"}


async def test_plugin_that_repeats_an_ended_token_is_not_asked_each_time(tmp_path: Path) -> None:
    clock = Clock(1_700_000_000.0)
    user = plugin(tmp_path / "plugin", token="t-@n@", expirationTimestamp="2020-01-01T00:00:00Z")
    found = Kubeconfig.load(kubeconfig(tmp_path / "kc", "http://h", user=user), None, clock=clock)

    for _ in range(5):
        await found.headers()
    assert runs(tmp_path / "plugin") == 1
    clock.now += 11
    assert await found.headers() == {"Authorization": "Bearer t-2"}


async def test_exec_plugin_may_give_a_certificate(pki: Authority, tmp_path: Path) -> None:
    pair = pki.user("plugged")
    user = plugin(
        tmp_path / "plugin",
        clientCertificateData=pair.cert.read_text(),
        clientKeyData=pair.key.read_text(),
    )
    async with ScriptedServer(who, tls=pki.server()) as server:
        path = kubeconfig(tmp_path / "kc", server.url, user=user, **{"certificate-authority": str(pki.ca)})
        assert (await ask(Connection.from_kubeconfig(path)))["certificate"] == ["plugged"]


async def test_token_file_is_read_again_each_minute(tmp_path: Path) -> None:
    clock = Clock(1_700_000_000.0)
    (tmp_path / "token").write_text("first")
    path = kubeconfig(tmp_path / "kc", "http://h", user={"tokenFile": "token"})
    found = Kubeconfig.load(path, None, clock=clock)

    (tmp_path / "token").write_text("second")
    clock.now += 59
    assert await found.headers() == {"Authorization": "Bearer first"}
    clock.now += 1
    assert await found.headers() == {"Authorization": "Bearer second"}


def jwt(expires: float) -> str:
    def part(obj: object) -> str:
        return base64.urlsafe_b64encode(orjson.dumps(obj)).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part({'exp': expires})}.x"


async def test_end_of_a_jwt_is_known_without_being_told(tmp_path: Path) -> None:
    clock = Clock(1_700_000_000.0)
    path = kubeconfig(tmp_path / "kc", "http://h", user={"token": jwt(clock.now + 100)})
    found = Kubeconfig.load(path, None, clock=clock)
    kubeconfig(path, "http://h", user={"token": "new"})

    clock.now += 79
    assert (await found.headers())["Authorization"].startswith("Bearer ey")
    clock.now += 2
    assert await found.headers() == {"Authorization": "Bearer new"}


async def test_refresh_that_fails_is_a_connection_that_failed(tmp_path: Path) -> None:
    async with ScriptedServer(who) as server:
        user = plugin(tmp_path / "plugin", token="t", expirationTimestamp="2020-01-01T00:00:00Z")
        path = kubeconfig(tmp_path / "kc", server.url, user=user)
        clock = Clock(0.0)
        found = Kubeconfig.load(path, None, clock=clock)
        (tmp_path / "plugin").write_text("#!/bin/sh\necho no luck >&2; exit 3\n")
        clock.now = 2e9
        with pytest.raises(errors.ConnectionFailed, match="process returned 3"):
            await ask(Connection(server.url, credentials=found.headers))
    assert server.requests == []


# Kubeconfigs that do not work: one line, which names the thing


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no kubeconfig at .*kc"),
        ("", "kc.* is empty"),
        ("{]", "kc is no kubeconfig: .*line 1"),
        ("just text", "kc is no kubeconfig"),
        ("[]", "kc is no kubeconfig"),
        ("{}", "kc has no contexts"),
        ("contexts: [{name: a, context: {cluster: c}}]", "no current context. Name one of: a"),
        ("{current-context: a, contexts: [{name: a, context: {cluster: c}}]}", "clusters.*|c in"),
        (
            "{current-context: a, contexts: [{name: a, context: {cluster: c}}], "
            "clusters: [{name: c, cluster: {}}]}",
            "has no server",
        ),
    ],
)
def test_kubeconfig_that_is_none_is_told_in_one_line(
    tmp_path: Path, content: str | None, message: str
) -> None:
    path = tmp_path / "kc"
    if content is not None:
        path.write_text(content)

    with pytest.raises(CannotStart, match=message) as caught:
        Connection.from_kubeconfig(path)
    assert "\n" not in str(caught.value)


def test_absent_context_is_told_with_those_that_exist(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "kc", "https://h", user={})

    with pytest.raises(CannotStart, match=r"context in .*kc: 'hree'.*'here'\? Known: here, there"):
        Connection.from_kubeconfig(path, "hree")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo no luck >&2; exit 3", "process returned 3. no luck"),
        ("echo nothing", "failed to decode process output"),
        ("echo '{}'", "missing key 'apiVersion'"),
    ],
)
def test_failing_plugin_is_an_error_not_an_anonymous_user(
    tmp_path: Path, script: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    user = plugin(tmp_path / "plugin", token="t")
    (tmp_path / "plugin").write_text(f"#!/bin/sh\n{script}\n")

    with pytest.raises(CannotStart, match=f"context 'here' in .*kc gave no credentials: .*{why}"):
        Connection.from_kubeconfig(kubeconfig(tmp_path / "kc", "http://h", user=user))


def test_absent_plugin_and_absent_token_file_are_named(tmp_path: Path) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/no/such/plugin"}}
    with pytest.raises(CannotStart, match="/no/such/plugin"):
        Connection.from_kubeconfig(kubeconfig(tmp_path / "kc", "http://h", user=user))
    with pytest.raises(CannotStart, match="no-token"):
        Connection.from_kubeconfig(kubeconfig(tmp_path / "kc", "http://h", user={"tokenFile": "no-token"}))


def test_absent_certificate_file_is_named(pki: Authority, tmp_path: Path) -> None:
    user = {"client-certificate": "no.crt", "client-key": "no.key"}
    with pytest.raises(CannotStart, match=r"no\.crt"):
        Connection.from_kubeconfig(kubeconfig(tmp_path / "kc", "https://h", user=user))


def test_loading_leaves_logging_as_it_was(tmp_path: Path) -> None:
    before = list(logging.getLogger().handlers)
    user = plugin(tmp_path / "plugin", token="t", api_version="wrong")
    with pytest.raises(CannotStart, match="does not match"):
        Connection.from_kubeconfig(kubeconfig(tmp_path / "kc", "http://h", user=user))
    assert logging.getLogger().handlers == before
