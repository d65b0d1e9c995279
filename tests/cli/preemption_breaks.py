"""How each sentence about preemption, PreBind, restarts and skew is broken."""

from tests.cli.breaks import OTHER_GATES, Break

PREEMPTOR = '    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")\n'
HINTED_PREEMPTOR = (
    '    preemptor = await arena.gated_pod("preemptor", cpu="4", priority="hintbound-high")\n'
    "    await arena.hint(preemptor, node)\n"
    "    await arena.ungate(preemptor)\n"
)
WAITER = "    pod = await arena.pod(spec=claim.spec)\n"
BLIND = '    await arena.own_scheduler(gates={"NominatedNodeNameForExpectation": False})\n'
HINT_SMALL = "\n    await arena.hint(pod, small)\n    await arena.ungate(pod)\n\n    shown"
GATED = '    pod = await arena.gated_pod(cpu="2", spec=claim.spec)\n'
SHOWED = "what the (unbound )?versions showed"

PREEMPTION = {
    "NNN-PREEMPT-ONE-PATCH": Break(
        "the PATCH that nominates says {}",
        changes={
            PREEMPTOR: HINTED_PREEMPTOR,
            'r.verb == "patch" and r.user == SCHEDULER]': 'r.verb == "patch" and "hintbound" in r.user_agent '
            "and r.subresource]",
        },
    ),
    "NNN-PREEMPT-SYNC-VICTIM-FIRST": Break(r"assert \['nominated',", changes={PREEMPTOR: HINTED_PREEMPTOR}),
    "NNN-PREEMPT-HELD-VICTIM": Break(
        "the nomination did not stay",
        changes={
            "    assert nomination(retried) == node\n": "    assert nomination(retried) == node\n"
            '    await arena.hint(preemptor, "elsewhere")\n'
        },
    ),
    "NNN-PREEMPT-BUDGET-AVOIDED": Break(
        "assert '.*-n1' == '.*-n2'",
        changes={
            "    await arena.make(BUDGET)\n    await arena.own_scheduler()  #": "    "
            "await arena.own_scheduler()  #"
        },
    ),
    "NNN-PREEMPT-BUDGET-BROKEN": Break(
        "preemptor-.* to be bound; came instead: .*Unschedulable",
        changes={
            '(node, "guarded", cpu="4", priority="hintbound-low"': '(node, "guarded", cpu="4", '
            'priority="hintbound-high"'
        },
    ),
    "NNN-PREEMPT-EACH-VICTIM-ONCE": Break(
        "what the scheduler sent to victim-",
        changes={PREEMPTOR: f"    await arena.delete(victims[0])\n{PREEMPTOR}"},
    ),
    "NNN-PREEMPT-GRACE-UNTOUCHED": Break(
        r"assert set\(\) == \{None\}",
        changes={
            '    await arena.pod("preemptor", cpu="4", priority="hintbound-high")\n': "    await "
            "arena.delete(victim)\n"
        },
    ),
    "NNN-PREEMPT-NEVER-OVERCOMMITS": Break(
        "CPUs that the pods on the node ask for",
        changes={'arena.pod("preemptor", cpu="2", ': 'arena.pod("preemptor", cpu="2", node=node, '},
    ),
    "NNN-PREEMPT-HIGHER-TAKES-OVER": Break(
        "the nomination of loser-.* to be cleared",
        changes={'priority="hintbound-high")\n\n    since': 'priority="hintbound-mid")\n\n    since'},
    ),
    "NNN-PREEMPT-GOING-VICTIM-SPARED": Break("assert [2-9] == [1-9]", where=OTHER_GATES),
    "NNN-PREEMPT-GOING-VICTIM-DELETED-AGAIN": Break("Preempted by pod .*; it never came"),
    "NNN-PREEMPT-GOING-VICTIM-CLEARS": Break("assert '.*-n1' == ''"),
    "NNN-PREEMPT-GOING-VICTIM-TWO-NOMINATED": Break("assert '' != ''", where=OTHER_GATES),
    "NNN-PREEMPT-ROOM-KEPT": Break(
        "thief-.* to be Unschedulable; came instead: nodeName=",
        changes={
            PREEMPTOR: PREEMPTOR.replace("high", "mid"),
            'arena.pod("thief", cpu="1", priority="hintbound-low")': 'arena.pod("thief", cpu="1", '
            'priority="hintbound-high")',
        },
    ),
    "NNN-PREEMPT-OVERWRITES-HINT": Break(
        "to be nominated elsewhere; came instead: nodeName=",
        changes={
            '(cheaper, cpu="4", priority="hintbound-low")': '(cheaper, cpu="4", priority="hintbound-mid")'
        },
    ),
    "NNN-PREEMPT-NEVER-SPARES": Break(
        "low-.* was preempted", changes={'priority="hintbound-never"': 'priority="hintbound-high"'}
    ),
    "NNN-PREEMPT-REPAIRED": Break(
        "to be nominated again instead of None",
        changes={
            "    for value in": (
                "    await arena.release(victim)\n    await arena.bound(preemptor)\n    for value in"
            )
        },
    ),
    "NNN-PREEMPT-EVENT": Break(
        "assert 'Preempted by.*' == 'Preempted by", changes={"{preemptor.uid} on": "{victim.uid} on"}
    ),
}

PREBIND = {
    "NNN-PREBIND-SHOWN": Break(
        "to be nominated; came instead",
        changes={
            f"{WAITER}\n    assert await arena.nominated(pod) == node\n    assert await claim": f"{BLIND}"
            f"{WAITER}\n    assert await arena.nominated(pod) == node\n    assert await claim"
        },
    ),
    "NNN-PREBIND-SHOWN-ASYNC": Break(
        "to be nominated; came instead",
        changes={
            '"SchedulerAsyncAPICalls": True': '"SchedulerAsyncAPICalls": True, '
            '"NominatedNodeNameForExpectation": False'
        },
    ),
    "NNN-PREBIND-HIDDEN": Break(SHOWED),
    "NNN-PREBIND-PLAIN-NONE": Break(
        SHOWED,
        changes={
            "    pod = await arena.pod()\n": "    pod = await arena.gated_pod()\n"
            "    await arena.hint(pod, node)\n    await arena.ungate(pod)\n"
        },
    ),
    "NNN-PREBIND-HINT-REWRITTEN": Break(
        "to be nominated anew; came instead",
        changes={GATED + HINT_SMALL: BLIND + GATED + HINT_SMALL},
    ),
    "NNN-PREBIND-UNFIT-HINT-SHOWN": Break(SHOWED),
    "NNN-PREBIND-FITTING-HINT-SILENT": Break(
        "what the scheduler wrote besides the binding", changes={"    await arena.hint(pod, node)\n": ""}
    ),
    "NNN-PREBIND-OUTSIDER-STAYS": Break(
        "what unbound versions showed",
        changes={
            '    await arena.accepted(arena.hint(pod, "another-node"))\n': "    await arena.accepted("
            'arena.hint(pod, "another-node"))\n    await arena.accepted(arena.hint(pod, node))\n'
        },
    ),
    "NNN-PREBIND-FAILED-CLEARED": Break("assert '.*-n.*' == ''"),
    "NNN-PREBIND-FAILED-SECOND-CLEARED": Break("to become ''", where=OTHER_GATES),
    "NNN-PREBIND-FAILED-KEPT": Break(SHOWED),
    "NNN-PREBIND-RETRY-FLAPS": Break("to become ''", where=OTHER_GATES),
}

RESTARTS = {
    "NNN-RESTART-PREEMPTOR-KEPT": Break(
        rf"{SHOWED}|to be bound",  # equals now: whichever the restarted scheduler takes up first
        changes={
            "    await scheduler.kill()\n    rival": "    await scheduler.kill()\n"
            "    await arena.hint(preemptor, None)\n    rival"
        },
    ),
    "NNN-RESTART-HINT-WHILE-DOWN": Break(
        "assert '.*-n1' == '.*-n2'",
        changes={"    await arena.hint(pod, hinted)\n": ""},
    ),
    "NNN-RESTART-HINT-WHILE-PAUSED": Break(
        "assert '.*-n1' == '.*-n2'", changes={"    await arena.hint(pod, last)\n": ""}
    ),
    "NNN-RESTART-PREEMPTION-PAUSED": Break(
        "preemptor-.* to be bound; came instead",
        changes={"    await arena.release(victim)\n    await arena.gone(victim)\n    waiting": "    waiting"},
    ),
    "NNN-RESTART-PREBIND-KEPT": Break(
        SHOWED,
        changes={
            "    await scheduler.stop()\n": "    await scheduler.stop()\n    await arena.hint(pod, None)\n"
        },
    ),
    "NNN-RESTART-APISERVER-PREEMPTION": Break(
        "preemptor-.* to be bound; came instead",
        changes={"    await server.restart()\n": "", "patience=90": "patience=3"},
    ),
    "NNN-RESTART-APISERVER-HINT": Break(
        "assert '' == '.*-n2'",
        changes={"    await arena.accepted(arena.hint(pod, hinted, through=server))\n": ""},
    ),
}

SKEW = {
    "NNN-SKEW-BINDING": Break(
        "what the binding left of the hint", changes={"gates={GATE: gate})": "gates={GATE: not gate})"}
    ),
    "NNN-SKEW-LATE-HINT": Break(
        "awaited 422, but the write was accepted",
        changes={
            '422, arena.hint(pod, "node-b", through=clearing': '422, arena.hint(pod, "node-b", through=other'
        },
    ),
    "NNN-SKEW-OLD-HINT-STAYS": Break(
        "assert '' == 'some-node'",
        changes={'"other-node", through=other)': '"other-node", through=clearing)'},
    ),
    "NNN-SKEW-EMULATED-APISERVER": Break("assert '' == 'some-node'", changes={'(emulate="1.34")': "()"}),
    "NNN-SKEW-SCHEDULER-GATE": Break(
        "what the unbound pods showed", changes={"gates={GATE: gate})": "gates={GATE: True})"}
    ),
    "NNN-SKEW-FOREIGN-HINT": Break(
        "foreign-.* to be bound; came instead: .*Unschedulable",
        changes={"    await arena.own_scheduler()\n    foreign": "    foreign"},
    ),
    "NNN-SKEW-EMULATED-SCHEDULER": Break(SHOWED, changes={'(emulate="1.34")': "()"}),
}

BREAKS = {**PREEMPTION, **PREBIND, **RESTARTS, **SKEW}
