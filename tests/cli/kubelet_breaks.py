"""How each sentence about kubelets is broken, on nodes that have one."""

from tests.cli.breaks import Break

KIND_ON = "kind-configs/1.35-nnn-on.yaml"
KIND_OFF = "kind-configs/1.35-nnn-off.yaml"

BREAKS = {
    "NNN-KUBELET-VICTIM-ENDS-FIRST": Break(
        "the victim's process could not end by itself",
        where=KIND_ON,
        changes={
            'lingers=3, priority="hintbound-low", grace=60': 'lingers=30, priority="hintbound-low", grace=3'
        },
    ),
    "NNN-KUBELET-DEAF-VICTIM-KILLED": Break(
        "the victim did not get its grace period",
        where=KIND_ON,
        changes={'priority="hintbound-low", grace=GRACE': 'priority="hintbound-low", grace=1'},
    ),
    "NNN-KUBELET-HIGHER-TAKES-PLACE": Break(
        "second-.* to run; came instead",
        where=KIND_ON,
        changes={'"second", priority="hintbound-high"': '"second", priority="hintbound-mid"'},
    ),
    "NNN-KUBELET-BOTH-WRITERS-STAND": Break(
        "what hintbound-nominator did to the other's part",
        where=KIND_ON,
        changes={"body, PatchType.STRATEGIC)": "body)"},
    ),
    "NNN-KUBELET-CLEARS-HINT": Break(
        "awaited that the write is accepted, got .*422 Invalid.*already bound to a node", where=KIND_ON
    ),
    "NNN-KUBELET-SILENT-ON-HINT": Break(
        r"what its kubelet wrote of the hint \(assert \[None", where=KIND_OFF
    ),
}
