"""Whether any cluster fulfils a condition of `applies`; if none does, what contradicts what."""

from __future__ import annotations

import ast
import itertools
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

_COMPARISON = re.compile(r"(>=|<=|==|<|>)\s*1\.(\d+)(?:\.(\d+))?")
_COMPARE: Mapping[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}

Version = tuple[int, int]
"""Minor and patch: (35, 4) is 1.35.4."""


def holds_for(version: Version, wanted: ast.expr) -> bool:
    """Whether a version is as `">=1.35"` says; it compares as far as that is written."""
    found = comparison(wanted)
    assert found is not None
    sign, minor, patch = found.groups()
    right = (int(minor), int(patch)) if patch else (int(minor),)
    return _COMPARE[sign](version[: len(right)], right)


def comparison(node: ast.expr) -> re.Match[str] | None:
    """What `">=1.35"` says; None for anything else."""
    value = node.value if isinstance(node, ast.Constant) else None
    return _COMPARISON.fullmatch(value) if isinstance(value, str) else None


def word(node: ast.expr) -> str:
    """A bare name; empty for anything else."""
    return node.id if isinstance(node, ast.Name) else ""


def possible(tree: ast.expr) -> bool:
    """Whether some gates and versions make a condition (one that is in the language) hold."""
    return any(_ways(tree, True, _Cluster({}, _versions(tree))))


def contradiction(tree: ast.expr) -> str:
    """Of a condition that is not possible: the smallest part of its `and` that is not, in words."""
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    for count in (1, 2):
        for some in itertools.combinations(parts, count):
            together = some[0] if count == 1 else ast.BoolOp(ast.And(), list(some))
            if not possible(together):
                said = " and ".join(ast.unparse(part) for part in some)
                return f"{said} {'is never true' if count == 1 else 'are never true together'}"
    return "its parts are never true together"


@dataclass(frozen=True, slots=True)
class _Cluster:
    """What is still open about a cluster: gates that are settled, versions that are left."""

    gates: Mapping[tuple[str, str], bool]
    versions: Mapping[str, frozenset[Version]]


def _ways(node: ast.expr, wanted: bool, cluster: _Cluster) -> Iterator[_Cluster]:
    """The clusters, from this one on, for which a condition is as wanted."""
    match node:
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is wanted:
            yield from _all(values, wanted, cluster)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _ways(value, wanted, cluster)
        case ast.UnaryOp(operand=operand):
            yield from _ways(operand, not wanted, cluster)
        case ast.Call(func=func, args=[component, gate]) if word(func) == "gate":
            key = (word(component), word(gate))
            if cluster.gates.get(key, wanted) is wanted:
                yield replace(cluster, gates={**cluster.gates, key: wanted})
        case ast.Call(args=[component, asked]):
            kind = word(component)
            left = frozenset(v for v in cluster.versions[kind] if holds_for(v, asked) is wanted)
            if left:
                yield replace(cluster, versions={**cluster.versions, kind: left})


def _all(values: list[ast.expr], wanted: bool, cluster: _Cluster) -> Iterator[_Cluster]:
    """The clusters for which all of these are as wanted."""
    if not values:
        yield cluster
        return
    for narrowed in _ways(values[0], wanted, cluster):
        yield from _all(values[1:], wanted, narrowed)


def _versions(tree: ast.expr) -> Mapping[str, frozenset[Version]]:
    """Per component a version below, at and above each that is compared with: they stand for all others."""
    compared: dict[str, list[Version]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and word(node.func) == "version":
            found = comparison(node.args[1])
            assert found is not None
            compared[word(node.args[0])].append((int(found[2]), int(found[3] or 0)))
    return {kind: frozenset(_around(versions)) for kind, versions in compared.items()}


def _around(versions: list[Version]) -> Iterator[Version]:
    patches = {patch + step for _, patch in versions for step in (-1, 0, 1)} | {0}
    for minor in {minor + step for minor, _ in versions for step in (-1, 0, 1)}:
        yield from ((minor, patch) for patch in patches if minor >= 0 and patch >= 0)
