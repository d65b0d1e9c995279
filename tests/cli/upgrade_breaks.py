"""How each sentence about components of two minors side by side is broken."""

from tests.cli.breaks import Break

OLDER = (
    "    older = await arena.own_apiserver(version=arena.extras.older)\n    pod = await hinted_pod(arena)\n"
)
EQUAL = "    older = await arena.own_apiserver()\n    pod = await hinted_pod(arena)\n"
BIND = '    await arena.bind(pod, "some-node")\n'
SHOWN = "what the unbound versions showed"
FORGETS = {
    "    await scheduler.stop()\n": "    await scheduler.stop()\n    await arena.hint(preemptor, None)\n"
}
NOT_KEPT = f"{SHOWN}|assert '.*-n2' == '.*-n1'|the other victim was taken"

BREAKS = {
    "NNN-UPGRADE-LATE-HINT-TAKEN": Break(
        "awaited that the write is accepted, got .*422 Invalid",
        changes={f"{OLDER}{BIND}": f"{EQUAL}{BIND}"},
    ),
    "NNN-UPGRADE-BINDING-KEEPS": Break("assert '' == 'some-node'", changes={f"{OLDER}\n": f"{EQUAL}\n"}),
    "NNN-UPGRADE-APISERVERS-AGREE": Break("assert 'some-node' == ''"),
    "NNN-UPGRADE-OLDER-HONOURS": Break(
        "assert '.*-n1' == '.*-n2'", changes={"    await arena.hint(pod, hinted)\n": ""}
    ),
    "NNN-UPGRADE-OLDER-HIDES": Break(
        SHOWN,
        changes={
            '(arena, arena.extras.older)\n    assert shown == {""}': '(arena, None)\n    assert shown == {""}'
        },
    ),
    "NNN-UPGRADE-OLDER-SHOWS": Break(SHOWN),
    "NNN-UPGRADE-HANDOVER": Break(NOT_KEPT, changes=FORGETS),
    "NNN-UPGRADE-ROLLED-BACK": Break(NOT_KEPT, changes=FORGETS),
}
