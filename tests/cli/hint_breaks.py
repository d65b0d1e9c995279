"""How each sentence about hints, and about what clears them, is broken."""

from tests.cli.breaks import OTHER_GATES, Break

NOT_FIRST = "assert '.*-n2' == '.*-n1'"
NOT_SECOND = "assert '.*-n1' == '.*-n2'"
RIVAL_BOUND = "rival-.* to be Unschedulable; came instead: nodeName="
RIVAL_WAITS = "rival-.* to be bound; came instead: .*Unschedulable"
FIRST_BOUND = "first-.* to be Unschedulable; came instead: nodeName="
CLEARED = "assert '' == "
KEPT = "assert '.+' == ''"
OTHER = '"key": "kubernetes.io/hostname", "operator": "In", "values": [other]'
HINTED = '"key": "kubernetes.io/hostname", "operator": "In", "values": [hinted]'
HINT = "    await arena.hint(pod, hinted)\n"
SOFT_TAINTED = '        _attractive, hinted = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])\n'
GATED = "        pod = await arena.gated_pod()\n"
KEPT_BEFORE = (
    "test_hint_is_kept_before_filtering(arena: Arena) -> None:\n    (node,) = await arena.nodes(1)\n"
)
NEVER = 'pod = await arena.gated_pod(cpu="2", priority="hintbound-never")'
HIGH = 'pod = await arena.gated_pod(cpu="2", priority="hintbound-high")'

MISFITS = {
    "NNN-HINT-CORDONED": Break(NOT_SECOND, changes={"    await arena.nodes.cordon(hinted)\n": ""}),
    "NNN-HINT-TAINTED": Break(NOT_SECOND, changes={"    await arena.nodes.taint(hinted)\n": ""}),
    "NNN-HINT-AFFINITY-MISMATCH": Break(
        NOT_SECOND, changes={f"    allowed = {{{OTHER}}}\n": f"    allowed = {{{HINTED}}}\n"}
    ),
    "NNN-HINT-SPREAD-VIOLATED": Break(NOT_SECOND, changes={'"maxSkew": 1,': '"maxSkew": 2,'}),
    "NNN-HINT-PORT-TAKEN": Break(NOT_SECOND, changes={'"owner", host_port=8080': '"owner", host_port=8081'}),
    "NNN-HINT-VOLUME-ELSEWHERE": Break(
        NOT_SECOND, changes={'{**reachable, "values": [other]}': '{**reachable, "values": [hinted]}'}
    ),
    "NNN-HINT-GHOST": Break(
        NOT_FIRST,
        changes={
            "(node,) = await arena.nodes(1)": "node, ghost = await arena.nodes(2)",
            "arena.hint(pod, arena.nodes.future())": "arena.hint(pod, ghost)",
        },
    ),
}
RESERVATIONS = {
    "NNN-HINT-LOWER-YIELDS": Break(
        RIVAL_BOUND,
        changes={'"rival", cpu="4", priority="hintbound-low"': '"rival", cpu="4", priority="hintbound-high"'},
    ),
    "NNN-HINT-RESERVES-REQUESTS": Break(
        "large-.* to be Unschedulable; came instead: nodeName=",
        changes={'"holder", cpu="3"': '"holder", cpu="1"'},
    ),
    "NNN-HINT-RESERVES-PORT": Break(
        RIVAL_BOUND, changes={'"holder", cpu="0", host_port=8080': '"holder", cpu="0", host_port=8082'}
    ),
    "NNN-HINT-RELEASED-ON-DELETE": Break(RIVAL_WAITS, changes={"    await arena.delete(holder)\n": ""}),
    "NNN-HINT-GHOST-APPEARS": Break(
        RIVAL_BOUND, changes={"arena.hint(holder, ghost)": 'arena.hint(holder, "no-such-node")'}
    ),
    "NNN-HINT-OTHER-PROFILE": Break(
        RIVAL_BOUND, changes={"scheduler=other)": 'scheduler="hintbound-no-profile")'}
    ),
    "NNN-HINT-UNSERVED-SCHEDULER": Break(
        RIVAL_WAITS,
        changes={
            'arena.pod("holder", cpu="4", scheduler="hintbound-nobody")': 'arena.gated_pod("holder", cpu="4")'
        },
    ),
    "NNN-BOUND-RESERVES-NOTHING": Break(
        NOT_SECOND,
        where=OTHER_GATES,
        changes={
            '    pod = await arena.pod(cpu="4", node_selector={"kubernetes.io/hostname": home})\n'
            "    await arena.bound(pod)\n": '    pod = await arena.gated_pod(cpu="4")\n'
        },
    ),
}
TOGETHER = {
    "NNN-HINT-BURST-EXACT": Break(
        "assert {.*} == {",
        changes={"    await asyncio.gather(*(arena.hint(pod, node) for pod, node in hinted.items()))\n": ""},
    ),
    "NNN-HINT-MANY-ONE-PLACE": Break(
        "to be bound; came instead: .*Unschedulable", changes={"str(4 * MANY)": "str(4 * (MANY - 2))"}
    ),
    "NNN-HINT-TWO-FIRST-LOSES": Break(
        FIRST_BOUND,
        changes={
            "    for pod in (first, second):\n        await arena.hint(pod, node)\n": (
                "    await arena.hint(first, node)\n"
            )
        },
    ),
    "NNN-HINT-TWO-NEVER-BLOCK": Break(
        FIRST_BOUND,
        changes={
            "    for pod in pods:\n        await arena.hint(pod, node)\n": (
                "    await arena.hint(pods[0], node)\n"
            )
        },
    ),
}
RESTARTS = {
    "NNN-RESTART-GATED-LOST": Break(
        RIVAL_WAITS,
        changes={
            '    rival = await arena.pod("rival", cpu="4")\n\n    assert': (
                "    await arena.hint(holder, None)\n    await arena.hint(holder, node)\n"
                '    rival = await arena.pod("rival", cpu="4")\n\n    assert'
            )
        },
    ),
    "NNN-RESTART-GATED-KEPT": Break(RIVAL_BOUND),
    "NNN-RESTART-GATED-UPDATED": Break(
        RIVAL_BOUND,
        changes={
            "    await author.patch(resources.PODS, holder.name, touch, namespace=holder.namespace)\n": ""
        },
    ),
    "NNN-RESTART-UNGATED-KEPT": Break(
        RIVAL_BOUND,
        changes={"    await arena.ungate(holder)\n    await arena.unschedulable(holder)\n": ""},
    ),
}
WRITTEN_LATER = {
    "NNN-HINT-SET-WAKES-NOBODY": Break(
        "more than the barrier entered a queue",
        changes={
            "    await arena.hint(pod, node)\n    barrier": (
                '    await arena.hint(pod, "no-such-node")\n    await arena.hint(pod, node)\n    barrier'
            )
        },
    ),
    "NNN-HINT-SET-RESERVES": Break(
        RIVAL_BOUND, changes={"arena.hint(holder, node)": 'arena.hint(holder, "no-such-node")'}
    ),
    "NNN-HINT-MOVED-FREES": Break(RIVAL_WAITS, changes={"    await arena.hint(holder, after)\n": ""}),
    "NNN-HINT-MOVED-WAKES": Break(
        "both to be tried and refused once more", changes={"    await arena.hint(pod, before)\n": ""}
    ),
    "NNN-HINT-CLEARED-WAKES": Break(
        "both to be tried and refused once more", changes={"    await arena.hint(pod, None)\n": ""}
    ),
    "NNN-HINT-IN-FLIGHT-IGNORED": Break(
        NOT_FIRST,
        changes={
            f"{GATED}        release": f"{GATED}    {HINT}        release",
        },
    ),
    "NNN-HINT-MOVED-IN-FLIGHT-WIPED": Break(
        KEPT,
        changes={"        await arena.hint(pod, before)\n": ""},
    ),
    "NNN-HINT-IN-BACKOFF-TAKEN": Break(
        "to be bound; came instead: .*SchedulerError", changes={f"\n{HINT}": "\n"}
    ),
    "NNN-HINT-SUPPRESSES-PREEMPTION": Break(
        f"'not eligible due to a terminating pod on the nominated node' in|{NOT_FIRST}",
        changes={'"PreemptionByScheduler"': '"EvictionByEvictionAPI"'},
    ),
    "NNN-HINT-NOT-SCORED": Break(NOT_FIRST, changes={'"holder", cpu="3"': '"holder", cpu="4"'}),
    "NNN-HINT-EXTENDER-ASKED-FOR-ONE": Break(
        r"assert \[\[.*\]\] == \[\[",
        changes={f"{SOFT_TAINTED}{GATED}\n    {HINT}": (SOFT_TAINTED.replace("None, ", "") + GATED)},
    ),
    "NNN-HINT-EXTENDER-REFUSES": Break(NOT_SECOND, changes={"        asked.refused.add(hinted)\n": ""}),
}
CLEARING = {
    "NNN-CLEAR-WAKES-ITSELF": Break(
        "the hinted pod to be tried twice", changes={"    await arena.hint(pod, small)\n": ""}
    ),
    "NNN-KEPT-PREFILTER": Break(
        CLEARED,
        changes={
            f"{KEPT_BEFORE}    pod = await arena.gated_pod(spec=MISSING)": (
                f'{KEPT_BEFORE}    pod = await arena.gated_pod(cpu="8")'
            )
        },
    ),
    "NNN-CLEAR-PREFILTER": Break(KEPT),
    "NNN-PREFILTER-NEVER-PREEMPTS": Break(
        "preemption was tried", changes={"arena.pod(spec=MISSING, ": 'arena.pod(cpu="8", '}
    ),
    "NNN-CLEAR-ERROR": Break("the hint at .* was kept", where=OTHER_GATES),
    "NNN-KEPT-ERROR": Break(CLEARED),
    "NNN-CLEAR-BINDING-REFUSED": Break("the hint at .* was kept", where=OTHER_GATES),
    "NNN-KEPT-BINDING-REFUSED": Break(CLEARED),
    "NNN-CLEAR-NO-POSTFILTER": Break(KEPT, where=OTHER_GATES),
    "NNN-KEPT-NO-POSTFILTER": Break(CLEARED),
    "NNN-CLEAR-NO-POSTFILTER-NEVER": Break(KEPT, where=OTHER_GATES),
    "NNN-KEPT-NEVER": Break(
        CLEARED,
        changes={
            f'(small,) = await arena.nodes(1, cpu="1")\n    {NEVER}': (
                f'(small,) = await arena.nodes(1, cpu="1")\n    {HIGH}'
            )
        },
    ),
    "NNN-KEPT-NEVER-GHOST": Break(
        CLEARED,
        changes={
            f"    ghost = arena.nodes.future()\n    {NEVER}": f"    ghost = arena.nodes.future()\n    {HIGH}"
        },
    ),
    "NNN-CLEAR-PREEMPTOR-ARRIVES": Break(
        "the hint of holder-.* to be cleared; came instead: nominatedNodeName=no-such-node",
        changes={"arena.hint(holder, node)": 'arena.hint(holder, "no-such-node")'},
    ),
    "NNN-KEPT-PREEMPTOR-ELSEWHERE": Break(
        "somebody wrote the hint anew",
        changes={"arena.hint(holder, other)": "arena.hint(holder, node)"},
    ),
}
WAITERS = {
    "NNN-HINT-LEFT-WAKES": Break(RIVAL_WAITS),
    "NNN-HINT-LEFT-WAKES-NOBODY": Break(
        "more than holder and barrier entered a queue",
        changes={
            "    await arena.ungate(holder)\n    assert": (
                "    await arena.hint(holder, None)\n    await arena.ungate(holder)\n    assert"
            )
        },
    ),
    "NNN-HINT-CLEARED-WAKES-AFFINITY": Break(RIVAL_WAITS),
    "NNN-HINT-CLEARED-LEAVES-AFFINITY": Break(
        "more than the barrier entered a queue",
        changes={
            "    node, holder, rival = await kept_apart(arena)\n    incoming": (
                "    node, elsewhere, holder, rival = await holder_and_rival(arena)\n"
                "    await arena.nodes.cordon(elsewhere)\n    incoming"
            )
        },
    ),
}
LIMITS = {
    "NNN-HINT-TAKES-PREEMPTED-ROOM": Break(
        "preemptor-.* to lose its nomination; came instead: nodeName=",
        changes={"    await arena.hint(holder, node)\n    await arena.release": "    await arena.release"},
    ),
    "NNN-HINT-RESERVES-NODE-ONLY": Break(
        "holder-.* to be Unschedulable; came instead: nodeName=",
        changes={'{"topologyKey": TEST_LABEL, ': '{"topologyKey": "kubernetes.io/hostname", '},
    ),
}
BREAKS = {**WAITERS, **LIMITS, **MISFITS, **RESERVATIONS, **TOGETHER, **RESTARTS, **WRITTEN_LATER, **CLEARING}
