"""The small language of `applies`: to which versions and gates a behaviour's sentence applies.

    gate(apiserver, ClearingNominatedNodeNameAfterBinding)
    not gate(scheduler, NominatedNodeNameForExpectation) and version(scheduler, ">=1.35")

`gate` is what the component says itself; a gate that it does not know is off. Components: apiserver, scheduler,
controller_manager. An empty text always applies.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hintbound.protocol import ComponentKind

COMPONENTS = {
    "apiserver": ComponentKind.APISERVER,
    "scheduler": ComponentKind.SCHEDULER,
    "controller_manager": ComponentKind.CONTROLLER_MANAGER,
}
_COMPARISON = re.compile(r"(>=|<=|==|<|>)\s*1\.(\d+)(?:\.(\d+))?")
_COMPARE: Mapping[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a cluster: per component its version and gates as it says itself; absent when it cannot."""

    gates: Mapping[ComponentKind, Mapping[str, bool]] = field(default_factory=dict)
    versions: Mapping[ComponentKind, str] = field(default_factory=dict)


class Unreadable(Exception):
    """A component's gates or version cannot be read, so whether the sentence applies is not known."""


class Condition:
    """A parsed `applies`. Raises ValueError, at definition, for what is not in the language."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())
        self._tree = _parse(self.text) if self.text else None

    def __str__(self) -> str:
        return self.text or "always"

    def holds(self, facts: Facts) -> bool:
        """Whether it applies to a cluster of these facts. Raises Unreadable."""
        return self._tree is None or _evaluate(self._tree, facts)

    def gates(self) -> list[tuple[ComponentKind, str]]:
        """The gates it speaks of: those that matter to a reader of its verdict."""
        calls = [] if self._tree is None else [n for n in ast.walk(self._tree) if isinstance(n, ast.Call)]
        return [(COMPONENTS[_word(c.args[0])], _word(c.args[1])) for c in calls if _word(c.func) == "gate"]


def _parse(text: str) -> ast.expr:
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"applies={text!r} cannot be read: {error.msg}") from None
    _check(tree, text)
    return tree


def _check(node: ast.expr, text: str) -> None:
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            _check(value, text)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        _check(node.operand, text)
    elif isinstance(node, ast.Call) and not node.keywords and len(node.args) == 2:
        _check_call(node, text)
    else:
        raise ValueError(f"applies={text!r}: only gate(…), version(…), and, or, not, brackets are known")


def _check_call(node: ast.Call, text: str) -> None:
    name, component = _word(node.func), _word(node.args[0])
    if component not in COMPONENTS:
        raise ValueError(f"applies={text!r}: {component!r} is none of {', '.join(COMPONENTS)}")
    if name == "gate" and isinstance(node.args[1], ast.Name):
        return
    wanted = node.args[1]
    if name == "version" and isinstance(wanted, ast.Constant) and _COMPARISON.fullmatch(str(wanted.value)):
        return
    raise ValueError(f'applies={text!r}: write gate(component, Name) or version(component, ">=1.35")')


def _evaluate(node: ast.expr, facts: Facts) -> bool:
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            return all([_evaluate(value, facts) for value in values])
        case ast.BoolOp(op=ast.Or(), values=values):
            return any([_evaluate(value, facts) for value in values])
        case ast.UnaryOp(operand=operand):
            return not _evaluate(operand, facts)
        case ast.Call(func=func, args=[component, wanted]):
            kind = COMPONENTS[_word(component)]
            return _gate(kind, _word(wanted), facts) if _word(func) == "gate" else _version(kind, wanted, facts)
    raise AssertionError(ast.dump(node))


def _gate(kind: ComponentKind, name: str, facts: Facts) -> bool:
    if kind not in facts.gates:
        raise Unreadable(f"the gates of {kind} cannot be read")
    return facts.gates[kind].get(name, False)


def _version(kind: ComponentKind, wanted: ast.expr, facts: Facts) -> bool:
    if kind not in facts.versions:
        raise Unreadable(f"the version of {kind} cannot be read")
    assert isinstance(wanted, ast.Constant)
    found = _COMPARISON.fullmatch(str(wanted.value))
    assert found is not None
    sign, minor, patch = found.groups()
    right = (int(minor), int(patch)) if patch else (int(minor),)
    numbers = [int(part) for part in re.findall(r"\d+", facts.versions[kind])[1:3]]
    return _COMPARE[sign](tuple(numbers[: len(right)]), right)


def _word(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else str(getattr(node, "value", ""))
