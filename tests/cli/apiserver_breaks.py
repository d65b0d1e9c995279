"""How each sentence about the apiserver's part is broken."""

from tests.cli.breaks import DEFAULT, OTHER_GATES, Break

ACCEPTED = r"but the write was accepted"
REFUSED = r"awaited that the write is accepted, got .*"
NOBODY = 'await arena.pod(scheduler="hintbound-nobody")'
ABSENT = 'Pod(arena.namespace, "no-such-pod", "")'
DELETE = "    await arena.delete(pod)\n"
PUT = 'admin.replace(resources.PODS, seen, subresource="status")'

BREAKS = {
    "NNN-BIND-ABSENT": Break(f"awaited 404, {ACCEPTED}", changes={ABSENT: NOBODY}),
    "NNN-BIND-COPIES-ANNOTATIONS": Break("assert None == ", changes={", annotations=marks": ""}),
    "NNN-BIND-COPIES-LABELS": Break("'pod' == 'binding'", where=OTHER_GATES),
    "NNN-BIND-DELETING": Break(f"awaited 409, {ACCEPTED}", changes={DELETE: ""}),
    "NNN-BIND-DROPS-LABELS": Break("'binding' == 'pod'", where=DEFAULT),
    "NNN-BIND-DRY-RUN": Break("the dry run changed the pod", changes={", dry_run=True": ""}),
    "NNN-BIND-GATED": Break(f"awaited 409, {ACCEPTED}", changes={"arena.gated_pod(": "arena.pod("}),
    "NNN-BIND-GHOST-NODE": Break(
        "assert 'node-a' == 'no-such-node'", changes={'bind(pod, "no-such-node")': 'bind(pod, "node-a")'}
    ),
    "NNN-BIND-OUTSIDER-CLEARS": Break("node and hint per version: .*legacy=False", where=OTHER_GATES),
    "NNN-BIND-OUTSIDER-KEEPS": Break("legacy=False .*'node-b', ''"),
    "NNN-BIND-STALE-VERSION": Break(f"awaited 409, {ACCEPTED}", changes={", resourceVersion=stale": ""}),
    "NNN-BIND-TWICE": Break(
        f"awaited 409, {ACCEPTED}", changes={'    await arena.bind(pod, "node-a")\n\n    for': "    for"}
    ),
    "NNN-BIND-WRONG-UID": Break(f"awaited 409, {ACCEPTED}", changes={"uid=other.uid": "uid=pod.uid"}),
    "NNN-DAMAGE-FINALIZER": Break("the pod is not being deleted", changes={DELETE: ""}),
    "NNN-DAMAGE-IP-FORGED": Break(f"{REFUSED}422 Invalid", changes={'"192.0.2.1"': '"not-an-address"'}),
    "NNN-DAMAGE-LABELS": Break(
        "selected by app=web", changes={'{"labels": {"app": "other"}}': '{"labels": {"app": "web"}}'}
    ),
    "NNN-DAMAGE-PHASE-FAILED": Break(
        "the failed pod was scheduled",
        changes={'patch_status(pod, {"phase": "Failed"})': 'patch_status(pod, {"phase": "Pending"})'},
    ),
    "NNN-DAMAGE-PHASE-FREES-HINT": Break(
        "rival-.* to be bound; came instead: .*Unschedulable",
        changes={'patch_status(holder, {"phase": "Failed"})': 'patch_status(holder, {"phase": "Pending"})'},
    ),
    "NNN-DAMAGE-PHASE-OVERCOMMITS": Break(
        "large-.* to be bound; came instead: .*Unschedulable",
        changes={'{"phase": "Succeeded"}': '{"phase": "Running"}'},
    ),
    "NNN-DAMAGE-PHASE-UNCHECKED": Break(
        "assert 'Running' == 'Bogus'", changes={'{"phase": "Bogus"}': '{"phase": "Running"}'}
    ),
    "NNN-DAMAGE-SCHEDULED-FORGED": Break(
        "assert 'False' == 'True'",
        changes={'"PodScheduled", "status": "True"': '"PodScheduled", "status": "False"'},
    ),
    "NNN-DAMAGE-STATUS-WIPED": Break("assert ", changes={'{"status": None}': '{"status": {}}'}),
    "NNN-FAIRNESS-HINT-REFUSED": Break(
        f"awaited 429, {ACCEPTED}",
        changes={
            "arena.refused(429, arena.hint(pod, hinted))": "arena.refused(429, arena.patch_status("
            'pod, {"nominatedNodeName": hinted}, actor=Actor.ADMIN))'
        },
    ),
    "NNN-FIELD-ABSENT-POD": Break(f"awaited 404, {ACCEPTED}", changes={ABSENT: NOBODY}),
    "NNN-FIELD-DRY-RUN": Break(r"\['node-a', 'node-a'\] == ", changes={", dry_run=True": ""}),
    "NNN-FIELD-GENERATION": Break(
        r"assert \{2\} == \{1\}",
        changes={
            f'    pod = {NOBODY}\n    before = (await arena.now(pod))["metadata"].get("generation")\n': (
                '    pod = await arena.gated_pod(scheduler="hintbound-nobody")\n'
                '    before = (await arena.now(pod))["metadata"].get("generation")\n'
                "    await arena.ungate(pod)\n"
            )
        },
    ),
    "NNN-FIELD-GRACE-IMMUTABLE": Break(
        f"awaited 422, {ACCEPTED}", changes={'{"deletionGracePeriodSeconds": 1}': '{"generation": 1}'}
    ),
    "NNN-FIELD-MISSPELT-DROPPED": Break(
        f"awaited 422, {ACCEPTED}", changes={'"nominatedNode": ': '"nominatedNodeName": '}
    ),
    "NNN-FIELD-QOS-IMMUTABLE": Break(f"awaited 422, {ACCEPTED}", changes={'"BestEffort"': '"Burstable"'}),
    "NNN-FIELD-SAME-VALUE": Break(
        "assert '[0-9]+' == '[0-9]+'",
        changes={
            'again = await arena.accepted(arena.hint(pod, "node-a"))': 'again = await arena.hint(pod, "b")'
        },
    ),
    "NNN-FIELD-SPEC-IGNORED": Break(
        "the spec was changed",
        changes={
            "    after = await arena.accepted(arena.write_status(pod, wish))\n": (
                "    await arena.ungate(pod)\n    after = await arena.write_status(pod, wish)\n"
            )
        },
    ),
    "NNN-FIELD-TERMINATING": Break("the pod is not being deleted", changes={DELETE: ""}),
    "NNN-FIELD-WITH-METADATA": Break(
        "annotation, label, hint per version",
        changes={
            "    await arena.accepted(arena.write_status(pod, hint))\n": (
                '    await arena.hint(pod, "node-a")\n    await arena.write_status(pod, {"metadata": mark})\n'
            )
        },
    ),
    "NNN-JSON-PATCH-ONLY-IF-EMPTY": Break(
        f"awaited 422, {ACCEPTED}",
        changes={'only_if(FIELD, None, "node-b")': 'only_if(FIELD, "node-a", "node-b")'},
    ),
    "NNN-JSON-PATCH-ONLY-IF-UNBOUND": Break(
        f"awaited 422, {ACCEPTED}", changes={'await arena.pod(node="node-a")': NOBODY}
    ),
    "NNN-JSON-PATCH-STALE-VERSION": Break(
        f"awaited 409, {ACCEPTED}", changes={"hint_at(stale)": "hint_at(present)"}
    ),
    "NNN-JSON-PATCH-TEST-FAILS": Break(
        f"awaited 422, {ACCEPTED}",
        changes={'only_if(path, "0", "node-b")': 'only_if(FIELD, "node-a", "node-b")'},
    ),
    "NNN-PRECONDITION-NONE-LAST-WINS": Break(
        f"{REFUSED}409 Conflict", changes={'    del unaware["metadata"]["resourceVersion"]\n': ""}
    ),
    "NNN-PRECONDITION-STALE-PUT": Break(
        f"awaited 409, {ACCEPTED}", changes={PUT: PUT.replace("seen", "await arena.now(pod)")}
    ),
    "NNN-PRECONDITION-STALE-VERSION": Break(
        f"awaited 409, {ACCEPTED}", changes={", resourceVersion=stale": ""}
    ),
    "NNN-PRECONDITION-UID-PATCH": Break(f"awaited 422, {ACCEPTED}", changes={"uid=other.uid": "uid=pod.uid"}),
    "NNN-PRECONDITION-UID-PUT": Break(f"awaited 409, {ACCEPTED}", changes={"= other.uid": "= pod.uid"}),
    "NNN-RBAC-STATUS-ONLY": Break(f"awaited 403, {ACCEPTED}", changes={"Actor.NOMINATOR": "Actor.AUTHOR"}),
    "NNN-SELECTOR-LIST": Break(
        "listed by status.nominatedNodeName=node-a", changes={'hint(to_b, "node-b")': 'hint(to_b, "node-a")'}
    ),
    "NNN-SELECTOR-WAITING": Break("assert .* == ", changes={'f"spec.nodeName=,{FIELD}!="': 'f"{FIELD}="'}),
    "NNN-SELECTOR-WATCH": Break(
        "assert .* == ", changes={'        lambda pod: arena.hint(pod, "node-b"),\n': ""}
    ),
    "NNN-SELECTOR-WATCH-BOUND": Break("told .*'MODIFIED', 'node-a'", where=OTHER_GATES),
    "NNN-SELECTOR-WATCH-BOUND-STAYS": Break("told .*'DELETED', 'node-a'"),
    "NNN-SSA-BOUND-OWNER-STAYS": Break("hint and owners: 'node-a', .*'one', 'Apply'", where=OTHER_GATES),
    "NNN-SSA-BOUND-REFUSED": Break(f"awaited 422, {ACCEPTED}", where=OTHER_GATES),
    "NNN-SSA-BOUND-RESURRECTS": Break(f"{REFUSED}422 Invalid"),
    "NNN-SSA-CONFLICT": Break(
        f"awaited 409, {ACCEPTED}",
        changes={'arena.apply_hint(preemptor, "node-b"))': "arena.apply_hint(preemptor, node))"},
    ),
    "NNN-SSA-FORCE": Break(
        "preemptor-.* again; came instead: ",
        changes={"nomination(o) == node,": 'nomination(o) == "no-node",'},
    ),
    "NNN-SSA-MAIN-RESOURCE": Break(
        "hint and owners: 'node-a', ",
        changes={
            'author.apply(resources.PODS, wish, field_manager="one", namespace=pod.namespace)': (
                "arena.apply_hint(pod, 'node-a')"
            ),
            '    assert applied["metadata"]["labels"] == {"app": "web"}\n': "",
        },
    ),
    "NNN-SSA-OWNS": Break(
        "hint and owners: 'node-a', ",
        changes={'apply_hint(pod, None, manager="one")': 'apply_hint(pod, None, manager="two")'},
    ),
    "NNN-SSA-PATCH-IS-ANOTHER": Break(
        f"awaited 409, {ACCEPTED}",
        changes={
            'arena.write_status(pod, wish, field_manager="one")': "arena.apply_hint("
            'pod, "node-b", manager="one")'
        },
    ),
    "NNN-SSA-RESURRECTS": Break(
        "hint and owners: 'nnn-ssa",
        changes={'gated_pod(cpu="2")': 'gated_pod(cpu="2", priority="hintbound-never")'},
    ),
    "NNN-SSA-SHARED": Break(
        f"{REFUSED}409 Conflict",
        changes={
            'apply_hint(preemptor, node, manager="one")': 'apply_hint(preemptor, "no-node", manager="one")'
        },
    ),
}
