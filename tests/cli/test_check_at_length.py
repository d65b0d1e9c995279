"""`hintbound check` as a program: how it ends when it is broken off, and what it leaves and takes."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import psutil
import pytest

from hintbound.protocol import ExitCode
from tests.history.lines import audit, line, pod

PATIENCE = 60.0


@contextmanager
def checking(
    tmp_path: Path, *arguments: object, before: Callable[[], None] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """The command, with a folder of its own for temporary files, and stdin that stays open."""
    (tmp_path / "tmp").mkdir(exist_ok=True)
    with subprocess.Popen(
        [sys.executable, "-m", "hintbound", "check", "--checks=bound-once", *map(str, arguments)],
        env=os.environ | {"TMPDIR": str(tmp_path / "tmp")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=before,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def until(holds: Callable[[], object]) -> None:
    ends = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < ends, "it did not come about"
        time.sleep(0.02)


def left(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "tmp").iterdir())


def workers(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def begun(process: subprocess.Popen[str], tmp_path: Path) -> list[psutil.Process]:
    """Its processes, once it spills what it reads: they wait for stdin to go on."""
    assert process.stdin is not None
    process.stdin.write("x\n" * 1_000_000)
    process.stdin.flush()
    until(lambda: [path for path in (tmp_path / "tmp").glob("*/stdin") if path.stat().st_size > 0])
    until(lambda: list((tmp_path / "tmp").glob("*/rows-*")))
    return workers(process)


def test_interrupt_ends_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    with checking(tmp_path, "-") as process:
        own = begun(process, tmp_path)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == ExitCode.INTERRUPTED
        assert process.stderr is not None
        assert process.stderr.read().strip() == "hintbound: interrupted."

    assert left(tmp_path) == []
    assert not any(map(psutil.Process.is_running, own))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_to_all_of_its_processes_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with checking(tmp_path, "-") as process:
        own = begun(process, tmp_path)
        os.killpg(process.pid, number)
        os.killpg(process.pid, number)  # who is impatient does not disturb the cleaning up
        assert process.wait(PATIENCE) == ExitCode.INTERRUPTED

    assert left(tmp_path) == []
    assert not any(map(psutil.Process.is_running, own))


def test_command_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    with checking(tmp_path, "-") as process:
        own = begun(process, tmp_path)
        process.kill()
        until(lambda: not left(tmp_path) and not any(map(psutil.Process.is_running, own)))


def test_process_that_dies_is_told(tmp_path: Path) -> None:
    with checking(tmp_path, "-") as process:
        begun(process, tmp_path)[0].kill()
        _, told = process.communicate(timeout=PATIENCE)

    assert process.returncode == ExitCode.INTERNAL
    assert told == "hintbound: a process that judged for us ended by signal 9: was it short of memory?\n"
    assert left(tmp_path) == []


def test_disk_that_is_full_is_one_line(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(b"".join(line(audit("create", name=f"p{n}", code=201)) for n in range(100)))

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    with checking(tmp_path, log, before=little) as process:
        _, told = process.communicate(timeout=PATIENCE)

    assert process.returncode == ExitCode.CANNOT_START
    (complaint,) = told.splitlines()
    assert "cannot be written: file too large. Set TMPDIR" in complaint
    assert left(tmp_path) == []


def test_memory_stays_within_512_mb(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    answer = pod(uid="UID", rv="7") | {"x": "y" * 1500}
    text = line(audit("create", name="NAME", code=201, answer=answer, audit_id="UID")).decode()
    bind = line(audit("create", name="NAME", subresource="binding", code=201, audit_id="UIDb")).decode()
    with log.open("w") as file:
        for number in range(60_000):
            file.write((text + bind).replace("NAME", f"p{number}").replace("UID", f"{number:032x}"))
        for number in range(60_000):  # and one name with more than can be judged
            file.write(bind.replace("NAME", "again").replace("UID", f"a{number:031x}"))

    peak = 0
    with checking(tmp_path, log, "--format=json") as process:
        while process.poll() is None:
            try:
                family = [psutil.Process(process.pid), *workers(process)]
                peak = max(peak, sum(one.memory_info().rss for one in family))
            except psutil.Error:
                continue
            time.sleep(0.02)
        assert process.stdout is not None
        told = orjson.loads(process.stdout.read())

    assert peak < 512 << 20
    assert told["read"]["pods"] == 60_000
    assert told["missing"] == ["pods named ns/again have more than 50000 writes, and are not judged"]
