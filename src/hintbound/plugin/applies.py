"""The small language of `applies`: to which versions and gates a behaviour's sentence applies.

    gate(apiserver, ClearingNominatedNodeNameAfterBinding)
    not gate(scheduler, NominatedNodeNameForExpectation) and version(scheduler, ">=1.35")

`gate` is what the component says itself; a gate that it does not know is off. `version` compares as far as
it is written: "==1.34" holds for every 1.34. Components: apiserver, scheduler, controller_manager. An empty
text always applies.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hintbound.plugin.contradictions import comparison, contradiction, holds_for, possible, word
from hintbound.protocol import ComponentKind

COMPONENTS = {
    "apiserver": ComponentKind.APISERVER,
    "scheduler": ComponentKind.SCHEDULER,
    "controller_manager": ComponentKind.CONTROLLER_MANAGER,
}
_FORMS = {
    "gate": "write gate(component, Name)",
    "version": 'write version(component, ">=1.35"), with >=, <=, ==, < or > and 1.MINOR or 1.MINOR.PATCH',
}
_VERSION = re.compile(r"v?1\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a cluster: per component its version and gates as it says itself; absent when it does
    not."""

    gates: Mapping[ComponentKind, Mapping[str, bool]] = field(default_factory=dict)
    versions: Mapping[ComponentKind, str] = field(default_factory=dict)


class Unreadable(Exception):
    """A component's gates or version cannot be read, so whether the sentence applies is not known."""


class Condition:
    """A parsed `applies`. Raises ValueError, at definition, for what is not in the language."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())
        self._tree = _parse(self.text) if self.text else None
        if self._tree is not None and not possible(self._tree):
            raise ValueError(f"applies={self.text!r} never holds: {contradiction(self._tree)}")

    def __str__(self) -> str:
        return self.text or "always"

    def holds(self, facts: Facts) -> bool:
        """Whether it applies to a cluster of these facts. Raises Unreadable."""
        return self._tree is None or _evaluate(self._tree, facts)

    def in_words(self) -> str:
        """For who does not know the language: `kube-scheduler is 1.35 or newer and has Gate on`."""
        return "always" if self._tree is None else _words(self._tree)

    def gates(self) -> list[tuple[ComponentKind, str]]:
        """The gates it speaks of: those that matter to a reader of its verdict."""
        calls = [] if self._tree is None else [n for n in ast.walk(self._tree) if isinstance(n, ast.Call)]
        return [(COMPONENTS[word(c.args[0])], word(c.args[1])) for c in calls if word(c.func) == "gate"]


def _parse(text: str) -> ast.expr:
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ValueError(f"applies={text!r} cannot be read: {getattr(error, 'msg', error)}") from None
    _check(tree, text)
    return tree


def _check(node: ast.expr, text: str) -> None:
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            _check(value, text)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        _check(node.operand, text)
    elif isinstance(node, ast.Call) and word(node.func) in ("gate", "version"):
        _check_call(node, text)
    else:
        raise ValueError(
            f"applies={text!r}: {ast.unparse(node)} is not in the language; it knows gate(...), "
            f"version(...), and, or, "
            "not, brackets"
        )


def _check_call(node: ast.Call, text: str) -> None:
    name = word(node.func)
    if len(node.args) != 2 or node.keywords:
        raise ValueError(f"applies={text!r}: {ast.unparse(node)} needs two arguments; {_FORMS[name]}")
    component, wanted = node.args
    if word(component) not in COMPONENTS:
        raise ValueError(f"applies={text!r}: {ast.unparse(component)} is none of {', '.join(COMPONENTS)}")
    fits = bool(word(wanted)) if name == "gate" else comparison(wanted) is not None
    if not fits:
        raise ValueError(f"applies={text!r}: {ast.unparse(wanted)} cannot stand there; {_FORMS[name]}")


_SAID = {">=": "{} or newer", "<=": "{} or older", "==": "{}", "<": "older than {}", ">": "newer than {}"}
_OPPOSITE = {">=": "<", "<": ">=", "<=": ">", ">": "<="}


def _words(node: ast.expr, *, negated: bool = False, inside: bool = False) -> str:
    """`inside`: it stands in another `and` or `or`, so its own needs brackets."""
    match node:
        case ast.BoolOp(op=op, values=values):
            joint = " and " if isinstance(op, ast.And) is not negated else " or "
            text = joint.join(_words(value, negated=negated, inside=True) for value in values)
            return f"({text})" if inside else text
        case ast.UnaryOp(operand=operand):
            return _words(operand, negated=not negated, inside=inside)
        case ast.Call(func=func, args=[component, wanted]):
            kind = COMPONENTS[word(component)]
            if word(func) == "gate":
                return f"{kind} has {word(wanted)} {'off or lacks it' if negated else 'on'}"
            return f"{kind} is {_version_in_words(wanted, negated)}"
    raise AssertionError(ast.dump(node))


def _version_in_words(wanted: ast.expr, negated: bool) -> str:
    found = comparison(wanted)
    assert found is not None
    sign, minor, patch = found.groups()
    version = f"1.{minor}{f'.{patch}' if patch else ''}"
    if negated and sign == "==":
        return f"not {version}"
    return _SAID[_OPPOSITE[sign] if negated else sign].format(version)


def _evaluate(node: ast.expr, facts: Facts) -> bool:
    match node:
        case ast.BoolOp(op=op, values=values):
            return _together(values, facts, decides=isinstance(op, ast.Or))
        case ast.UnaryOp(operand=operand):
            return not _evaluate(operand, facts)
        case ast.Call(func=func, args=[component, wanted]):
            kind = COMPONENTS[word(component)]
            return _gate(kind, word(wanted), facts) if word(func) == "gate" else _version(kind, wanted, facts)
    raise AssertionError(ast.dump(node))


def _together(parts: Sequence[ast.expr], facts: Facts, *, decides: bool) -> bool:
    """`and` (which False decides) or `or` (which True decides); what decides also outweighs what cannot be
    read."""
    unreadable: Unreadable | None = None
    for part in parts:
        try:
            if _evaluate(part, facts) is decides:
                return decides
        except Unreadable as error:
            unreadable = unreadable or error
    if unreadable:
        raise unreadable
    return not decides


def _gate(kind: ComponentKind, name: str, facts: Facts) -> bool:
    if kind not in facts.gates:
        raise Unreadable(f"the gates of {kind} cannot be read")
    return facts.gates[kind].get(name, False)


def _version(kind: ComponentKind, wanted: ast.expr, facts: Facts) -> bool:
    found = _VERSION.match(facts.versions.get(kind, ""))
    if found is None:
        raise Unreadable(f"the version of {kind} cannot be read")
    return holds_for((int(found[1]), int(found[2] or 0)), wanted)
