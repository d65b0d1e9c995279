"""Every behaviour about kubelets fails where its sentence is broken, on real nodes of kind clusters.

They need a Docker engine and a node image, which not every machine has: HINTBOUND_KIND_IMAGE names one of
Kubernetes 1.35, and without it they are skipped. CI's stage for kind sets it.
"""

from __future__ import annotations

import os

import pytest

from hintbound import data
from tests.cli.breaks import Break, fails_as_it_must, judge
from tests.cli.kubelet_breaks import BREAKS, KIND_OFF, KIND_ON
from tests.cli.programs import Ended, Programs

IMAGE = os.environ.get("HINTBOUND_KIND_IMAGE", "")

pytestmark = [
    pytest.mark.skipif(not IMAGE, reason="HINTBOUND_KIND_IMAGE names no node image to make kind clusters of"),
    pytest.mark.timeout(900),
]


def breaks_of(config: str) -> dict[str, Break]:
    return {behaviour: broken for behaviour, broken in BREAKS.items() if broken.where == config}


@pytest.fixture(scope="module")
def judged(programs: Programs) -> dict[str, Ended]:
    configs = data.folder("kind-configs").parent
    return {
        config: judge(programs, f"kind:{configs / config},image={IMAGE}", breaks_of(config))
        for config in (KIND_ON, KIND_OFF)
    }


@pytest.mark.parametrize("behaviour", BREAKS)
def test_a_broken_sentence_about_kubelets_fails(judged: dict[str, Ended], behaviour: str) -> None:
    broken = BREAKS[behaviour]
    ended = judged[broken.where]
    assert ended.code == 1, ended.out + ended.err
    fails_as_it_must(ended, behaviour, broken)
