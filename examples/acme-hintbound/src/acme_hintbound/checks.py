"""What must hold in every record: hints are the business of the nominator and of schedulers."""

from collections.abc import Iterator, Sequence

from hintbound.checks import Context, Violation, check
from hintbound.history import PodLife
from hintbound.protocol import Actor

SCHEDULER = "system:kube-scheduler"


@check(
    "acme-hints-by-nominator",
    must="Only the nominator and schedulers set nominatedNodeName.",
)
def hints_by_nominator(lives: Sequence[PodLife], context: Context) -> Iterator[Violation]:
    """Of each pod every version that shows another hint than the one before, and who made it.

    Hintbound's own damage suites write hints as others on purpose: this is about Acme's.
    """
    if not context.behaviour.startswith("ACME-"):
        return
    for life in lives:
        before = ""
        for version in life.versions:
            hint, writer = version.nominated_node_name, version.writer
            if hint and hint != before and writer and writer.user not in (Actor.NOMINATOR, SCHEDULER):
                yield Violation(f"{version} was hinted to {hint} by {writer.user}", (version, writer))
            before = hint
