"""Every core behaviour of the suites fails where its sentence is broken, on a real control plane.

Each is played from a copy of the suites: on versions and gates where its sentence does not hold, or with the
line changed that makes the sentence untrue.
"""

from __future__ import annotations

import pytest

from hintbound.plugin import catalogue
from hintbound.protocol import Level
from tests.cli import (
    apiserver_breaks,
    fault_breaks,
    group_breaks,
    hint_breaks,
    kubelet_breaks,
    preemption_breaks,
    upgrade_breaks,
)
from tests.cli.breaks import DEFAULT, OTHER_GATES, POD_GROUPS, Break, fails_as_it_must, judge
from tests.cli.programs import Ended, Programs

MISSING_CLAIM = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}]}


BREAKS = {
    **apiserver_breaks.BREAKS,
    **fault_breaks.BREAKS,
    **group_breaks.BREAKS,
    **hint_breaks.BREAKS,
    **preemption_breaks.BREAKS,
    **upgrade_breaks.BREAKS,
    "NNN-FIELD-DROPPED-AT-CREATE": Break(
        "assert 'some-node' == ''",
        changes={
            '    assert await arena.nomination(pod) == ""\n': '    await arena.hint(pod, "some-node")\n'
            '    assert await arena.nomination(pod) == ""\n'
        },
    ),
    "NNN-FIELD-MAIN-RESOURCE-IGNORED": Break(
        "after a write of 'other-node'",
        changes={
            "author.patch(resources.PODS, pod.name, change, namespace=pod.namespace)": "arena.patch_status("
            'pod, change["status"])'
        },
    ),
    "NNN-FIELD-VALIDATED": Break(
        "awaited that the write is accepted, got .*422 Invalid", changes={'"no-such-node", ': '"No_Such", '}
    ),
    "NNN-BOUND-FORBIDDEN": Break("awaited 422, but the write was accepted", where=OTHER_GATES),
    "NNN-BOUND-ACCEPTED": Break("awaited that the write is accepted, got .*422 Invalid"),
    "NNN-BIND-CLEARS": Break("versions that carry both", where=OTHER_GATES),
    "NNN-BIND-KEEPS": Break(r"assert \{''\} == "),
    "NNN-CLEAR-NO-NODES": Break("assert 'no-such-node' == ''", where=OTHER_GATES),
    "NNN-KEPT-NO-NODES": Break("assert '' == 'no-such-node'"),
    "NNN-CLEAR-NOTHING-FITS": Break(  # what PreFilter rejects keeps its hint (measured, D1)
        "the version that says Unschedulable still carries the hint",
        changes={'gated_pod(cpu="2")': f'gated_pod(cpu="2", spec={MISSING_CLAIM})'},
    ),
    "NNN-HINT-EQUAL-YIELDS": Break(
        "awaited: rival-.* to be Unschedulable; came instead: nodeName=",
        changes={"    await arena.hint(holder, node)\n": ""},
    ),
    "NNN-HINT-HIGHER-IGNORES": Break(
        "rival-.* to be bound; came instead: .*Unschedulable",
        changes={'priority="hintbound-high"': 'priority="hintbound-low"'},
    ),
    "NNN-HINT-TAKEN": Break(
        "assert 'nnn-hint-taken-.*-n1' == 'nnn-hint-taken-.*-n2'",
        changes={"    await arena.hint(pod, hinted)\n": ""},
    ),
    "NNN-HINT-TAKEN-UNSCORED": Break(
        "'Score': 1",
        changes={
            "    await arena.hint(pod, hinted)\n": "",
            '[None, None, "PreferNoSchedule"]': '["PreferNoSchedule", "PreferNoSchedule", None]',
        },
    ),
    "NNN-HINT-FALLS-THROUGH": Break(
        "attempts failed before the pod was bound",
        changes={
            "    (roomy,) = await arena.nodes(1)\n": "",
            "    await arena.ungate(pod)\n": (
                "    await arena.ungate(pod)\n"
                "    await arena.unschedulable(pod)\n"
                "    (roomy,) = await arena.nodes(1)\n"
            ),
        },
    ),
    "NNN-PREEMPT-NOMINATES-WAITS-BINDS": Break(
        "the victim did not get its grace period",
        changes={"grace=GRACE)": 'grace=GRACE, termination="instant")'},
    ),
}


def breaks_of(where: str) -> dict[str, Break]:
    return {behaviour: broken for behaviour, broken in BREAKS.items() if broken.where == where}


@pytest.fixture(scope="module")
def judged(programs: Programs) -> dict[str, Ended]:
    return {where: judge(programs, where, breaks_of(where)) for where in (DEFAULT, OTHER_GATES, POD_GROUPS)}


def test_each_core_behaviour_has_a_way_to_be_broken() -> None:
    core = {entry.behaviour.id for entry in catalogue.collect() if entry.behaviour.level is Level.CORE}
    assert core - set(BREAKS) - set(kubelet_breaks.BREAKS) == set()


@pytest.mark.parametrize("behaviour", BREAKS)
def test_a_broken_sentence_fails(judged: dict[str, Ended], behaviour: str) -> None:
    broken = BREAKS[behaviour]
    ended = judged[broken.where]
    counts = broken.where != POD_GROUPS  # what is provisional fails no run
    assert ended.code == counts, ended.out + ended.err
    fails_as_it_must(ended, behaviour, broken)
