"""`hintbound explain ID`: one behaviour for a reader who has never seen it."""

from __future__ import annotations

import shlex

import click


@click.command()
@click.argument("behaviour_id", metavar="ID")
@click.argument("paths", nargs=-1)
def command(behaviour_id: str, paths: tuple[str, ...]) -> None:
    """Explain the behaviour ID: its sentence, why it matters, when it applies, where it stands, how to judge
    it."""
    from hintbound.errors import one_of
    from hintbound.plugin import catalogue

    entries = {entry.behaviour.id: entry for entry in catalogue.collect(paths)}
    entry = entries.get(behaviour_id.upper())
    if entry is None:
        listing = shlex.join(["hintbound", "list", "behaviours", *paths])
        raise one_of("behaviour", behaviour_id, sorted(entries), listing=listing)
    behaviour = entry.behaviour
    capabilities = ", ".join(sorted(map(str, behaviour.needs))) or "nothing beyond an apiserver"
    alone = ", alone on a control plane of its own" if behaviour.exclusive else ""
    rows = {
        "must": behaviour.must,
        "why": behaviour.why,
        "applies": str(behaviour.applies),
        "affects": ", ".join(behaviour.affects),
        "advice": behaviour.advice,
        "level": f"{behaviour.level}; if broken: {behaviour.severity}",
        "needs": f"{capabilities}{alone}",
        "features": ", ".join(sorted(map(str, behaviour.features))),
        "source": behaviour.source,
        "about": entry.about,
        "file": entry.file,
        "judge it": shlex.join(["hintbound", "run", "--profile", "all", "--behaviour", behaviour.id]),
    }
    click.secho(behaviour.id, bold=True)
    for name, text in ((name, text) for name, text in rows.items() if text):
        click.echo(f"  {name:<9} {text}")
