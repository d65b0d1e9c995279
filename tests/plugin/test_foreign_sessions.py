"""pytest loads the plugin in every project of its environment: it must cost and change nothing there."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

PROBE = """
import sys, time, pytest
before, began = set(sys.modules), time.process_time()
import hintbound.plugin.hooks
took, new = time.process_time() - began, set(sys.modules) - before
print(took, *sorted(new))
"""
FOREIGN = """
import sys, pytest

@pytest.fixture
def arena():
    return "our own"

class Anything:
    def __getattr__(self, name):
        return "yes"

def test_their_fixture_wins(arena):
    assert arena == "our own"

def test_nothing_of_ours_was_imported():
    ours = {name for name in sys.modules if name.startswith("hintbound")}
    assert ours == {"hintbound", "hintbound.plugin", "hintbound.plugin.hooks", "hintbound.plugin.hookspecs"}
    assert not {"aiohttp", "yaml", "kubernetes", "rich", "click"} & set(sys.modules)

def test_last_one_fails():
    assert False
"""
PYTEST_KIND = """
def pytest_addoption(parser):
    group = parser.getgroup("kind")
    for name in ("--cluster-name", "--keep-cluster", "--kubeconfig"):
        group.addoption(name)
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:asyncio", "-p", "no:pytest-kind", "-q", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_the_hooks_import_nothing_and_cost_nothing() -> None:
    out = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    took, new = float(out[0]), out[1:]
    assert {name for name in new if "." not in name} <= {"hintbound"}
    assert [name for name in new if name.startswith("hintbound")] == [
        "hintbound",
        "hintbound.plugin",
        "hintbound.plugin.hooks",
    ]
    assert took < 0.1, "measured: 3 ms of CPU"


def test_a_foreign_session_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text(textwrap.dedent(FOREIGN))
    done = run(tmp_path)
    assert "1 failed, 2 passed" in done.stdout, done.stdout
    assert done.returncode == 1
    assert "hintbound:" not in done.stdout
    assert not (tmp_path / "reports").exists()


def test_our_options_stand_beside_those_of_pytest_kind(tmp_path: Path) -> None:
    (tmp_path / "kindlike.py").write_text(textwrap.dedent(PYTEST_KIND))
    (tmp_path / "conftest.py").write_text(
        "from pathlib import Path\n"
        "from hintbound import data\n"
        "exec(compile((data.folder('suites') / 'conftest.py').read_text(), 'conftest', 'exec'))\n"
    )
    (tmp_path / "test_it.py").write_text(
        "def test_it(pytestconfig):\n    o = pytestconfig.option\n"
        "    assert (o.cluster_name, o.kubeconfig, o.hintbound_cluster) == ('a', 'b', 'embedded:1.35')\n"
    )
    words = ["-p", "kindlike", "--cluster-name=a", "--kubeconfig=b", "--cluster=embedded:1.35", "."]
    done = run(tmp_path, *words)
    assert done.returncode == 0, done.stdout + done.stderr
