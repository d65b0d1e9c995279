"""How each sentence about plugins that say no, or make wait, is broken."""

from tests.cli.breaks import OTHER_GATES, Break

SHOWN = "what the (unbound )?versions showed"

RESERVE_PERMIT = {
    "NNN-CLEAR-RESERVE": Break(r"assert \{.*-n1'\} == \{", where=OTHER_GATES),
    "NNN-KEPT-RESERVE": Break("what the failures left of the hint: .*'SchedulerError': ''"),
    "NNN-CLEAR-PERMIT": Break(r"assert \{.*-n1'\} == \{", where=OTHER_GATES),
    "NNN-KEPT-PERMIT": Break("what the failures left of the hint: .*'SchedulerError': ''"),
}
WAITING = {
    "NNN-PERMIT-WAIT-SHOWN": Break(
        SHOWN,
        changes={
            "    await lift(arena, pod)\n    assert await arena.bound(pod) == node\n\n    shown = [": (
                "    await arena.hint(pod, None)\n    await lift(arena, pod)\n"
                "    assert await arena.bound(pod) == node\n\n    shown = ["
            )
        },
    ),
    "NNN-PERMIT-WAIT-HIDDEN": Break(SHOWN),
    "NNN-PERMIT-TIMED-OUT-CLEARED": Break("the hint at .* was kept", where=OTHER_GATES),
    "NNN-PERMIT-TIMED-OUT-KEPT": Break("assert '' == '.*-n1'"),
    "NNN-RESTART-PERMIT-RESUMED": Break(
        "assert '.*-n2' == '.*-n1'",
        changes={
            "    await scheduler.kill()\n": "    await scheduler.kill()\n    await arena.hint(pod, None)\n"
        },
    ),
    "NNN-RESTART-PERMIT-FORGOTTEN": Break("assert '.*-n1' == '.*-n2'", where=OTHER_GATES),
}
BREAKS = {**RESERVE_PERMIT, **WAITING}
