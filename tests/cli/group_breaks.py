"""How each sentence about gangs is broken."""

from tests.cli.breaks import POD_GROUPS, Break

HIGH = 'priority="hintbound-high"'
EACH = ") for _ in nodes]\n"

BREAKS = {
    "NNN-GROUP-HINTS-TAKEN": Break(
        "assert {.*} == {",
        where=POD_GROUPS,
        changes={"    for pod, node in hinted.items():\n        await arena.hint(pod, node)\n": ""},
    ),
    "NNN-GROUP-INCOMPLETE-KEPT": Break(
        "assert '.*-n[13]' == '.*-n2'",
        where=POD_GROUPS,
        changes={
            "    await arena.ungate(early)\n    barrier": "    await arena.ungate(early)\n"
            "    await arena.hint(early, None)\n    barrier"
        },
    ),
    "NNN-GROUP-MISFIT-OTHERS-CLEARED": Break(
        "to be Unschedulable; came instead: nodeName=",
        where=POD_GROUPS,
        changes={'"large", cpu="8"': '"large", cpu="2"'},
    ),
    "NNN-GROUP-PREEMPT-ALL-NOMINATED": Break(
        "member-.* to be nominated",
        where=POD_GROUPS,
        changes={
            f"gang(arena, 2, {HIGH})\n    pods": f"gang(arena, 3, {HIGH})\n    pods",
        },
    ),
    "NNN-GROUP-PREEMPT-LOWER-KEPT": Break(
        "what the hint became",
        where=POD_GROUPS,
        changes={
            f"spec=members{EACH}    for pod in pods": f"spec=None{EACH}    for pod in pods",
        },
    ),
}
