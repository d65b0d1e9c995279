"""A port that is held is ours: before the server listens, between its lives, and against another of us."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from hintbound.clusters.embedded.ports import LOOPBACK, HeldPort
from hintbound.errors import CannotStart

_HOLD_ELSEWHERE = """
import sys
from hintbound.clusters.embedded.ports import HeldPort
from hintbound.errors import CannotStart
try:
    HeldPort(int(sys.argv[1]))
except CannotStart as error:
    print(error)
"""


@pytest.fixture
def held() -> Iterator[HeldPort]:
    port = HeldPort()
    yield port
    port.release()


def _server(number: int) -> socket.socket:
    """Listens as the components do."""
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    server.bind((LOOPBACK, number))
    server.listen(64)
    return server


def test_held_port_cannot_be_bound_by_others(held: HeldPort) -> None:
    with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
        stranger.bind((LOOPBACK, held.number))


def test_held_port_cannot_be_held_again(held: HeldPort) -> None:
    with pytest.raises(CannotStart) as error:
        HeldPort(held.number)

    assert str(error.value) == (
        f"port {held.number} on 127.0.0.1 is taken. Choose another, or 0 for any free one."
    )


def test_held_port_cannot_be_held_by_another_hintbound(held: HeldPort) -> None:
    command = [sys.executable, "-c", _HOLD_ELSEWHERE, str(held.number)]
    other = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))

    assert other.stdout.startswith(f"port {held.number} on 127.0.0.1 is taken.")


def test_port_that_somebody_listens_on_cannot_be_held() -> None:
    for options in ([], [socket.SO_REUSEPORT]):
        with socket.socket() as stranger:
            for option in options:
                stranger.setsockopt(socket.SOL_SOCKET, option, 1)
            stranger.bind((LOOPBACK, 0))
            stranger.listen()
            number = stranger.getsockname()[1]

            with pytest.raises(CannotStart, match=f"port {number} on 127.0.0.1 is taken"):
                HeldPort(number)


def test_server_on_a_held_port_gets_every_connection(held: HeldPort) -> None:
    with _server(held.number) as server:
        server.settimeout(2)
        for _ in range(50):
            with socket.create_connection((LOOPBACK, held.number), timeout=2):
                connection, _ = server.accept()
                connection.close()


def test_port_stays_held_when_its_server_ends(held: HeldPort) -> None:
    for _ in range(3):
        with _server(held.number) as server, socket.create_connection((LOOPBACK, held.number)):
            server.accept()[0].close()  # the server closes first: its side stays in TIME_WAIT

        with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
            stranger.bind((LOOPBACK, held.number))


def test_released_port_is_free_again() -> None:
    held = HeldPort()
    with _server(held.number) as server, socket.create_connection((LOOPBACK, held.number)):
        server.accept()[0].close()
    held.release()
    held.release()

    again = HeldPort(held.number)
    assert again.number == held.number
    again.release()
