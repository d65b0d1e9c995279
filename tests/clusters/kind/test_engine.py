"""`tools/kind-node/engine run` where an engine answers: what it makes of the command."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hintbound import data
from tests.clusters.kind.scripted import Scripted

pytestmark = pytest.mark.skipif(shutil.which("flock") is None, reason="there is no flock here")


@pytest.mark.parametrize("count", [1, 8, 9, 18, 100])
def test_a_command_may_have_any_number_of_words(tmp_path: Path, count: int) -> None:
    scripted = Scripted(tmp_path)
    scripted.program("docker", {"info": ""})
    checkout = data.checkout()
    assert checkout is not None
    words = ["word"] * count

    done = subprocess.run(
        [checkout / "tools/kind-node/engine", "run", "echo", *words],
        env={
            **os.environ,
            "PATH": f"{scripted.folder}{os.pathsep}{os.environ['PATH']}",
            "HINTBOUND_KIND_STATE": str(tmp_path / "state"),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, " ".join(words) + "\n"), done.stderr
