"""The language of `applies`."""

from __future__ import annotations

import pytest

from hintbound.plugin.applies import Condition, Facts, Unreadable
from hintbound.protocol import ComponentKind

API, SCHEDULER = ComponentKind.APISERVER, ComponentKind.SCHEDULER
FACTS = Facts(
    {API: {"On": True, "Off": False}, SCHEDULER: {}}, {API: "v1.35.4", SCHEDULER: "v1.34.0-gke.12+abc"}
)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True),
        ("  \n ", True),
        ("gate(apiserver, On)", True),
        ("gate(apiserver, Off)", False),
        ("gate(apiserver, Absent)", False),
        ("not gate(apiserver, Absent)", True),
        ("gate(apiserver, On) and not gate(apiserver, Off)", True),
        ("gate(apiserver, Off) or gate(scheduler, On)", False),
        ("not (gate(apiserver, On) and gate(apiserver, Off))", True),
        ('version(apiserver, ">=1.35")', True),
        ('version(apiserver, ">1.35")', False),
        ('version(apiserver, "==1.35")', True),
        ('version(apiserver, "<=1.35.3")', False),
        ('version(apiserver, ">1.35.3")', True),
        ('version(apiserver, "<1.100")', True),
        ('version(scheduler, "==1.34.0")', True),
        ('version(scheduler, "<1.34")', False),
        ("version(apiserver,\n    '< 1.36')", True),
    ],
)
def test_a_condition_holds_by_what_components_say_themselves(text: str, holds: bool) -> None:
    assert Condition(text).holds(FACTS) is holds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gate(apiserver,", "cannot be read"),
        ("gate(apiserver, On) extra", "cannot be read"),
        ("gate(apiserver, On)\0", "cannot be read"),
        ("not " * 5000 + "gate(apiserver, On)", "cannot be read: maximum recursion depth exceeded"),
        ("True", "True is not in the language"),
        ("gate", "gate is not in the language"),
        ("gates(apiserver, On)", "gates(apiserver, On) is not in the language"),
        ("__import__('os')", "is not in the language"),
        ("gate(apiserver, On) & gate(apiserver, Off)", "is not in the language"),
        ("gate(apiserver, On) if gate(apiserver, On) else gate(apiserver, On)", "is not in the language"),
        ("-gate(apiserver, On)", "is not in the language"),
        ("gate(apiserver)", "needs two arguments"),
        ("gate(apiserver, On, Off)", "needs two arguments"),
        ("gate(apiserver, name=On)", "needs two arguments"),
        ("gate(kubelet, On)", "kubelet is none of apiserver, scheduler, controller_manager"),
        ("gate(controller-manager, On)", "controller - manager is none of"),
        ("gate('apiserver', On)", "'apiserver' is none of"),
        ("gate(kube.apiserver, On)", "kube.apiserver is none of"),
        ('gate(apiserver, "On")', "'On' cannot stand there; write gate(component, Name)"),
        ("version(apiserver, 1.35)", "1.35 cannot stand there; write version(component,"),
        ('version(apiserver, "1.35")', "'1.35' cannot stand there"),
        ('version(apiserver, "~=1.35")', "cannot stand there"),
        ('version(apiserver, ">=2.0")', "cannot stand there"),
        ('version(apiserver, ">=1.35.x")', "cannot stand there"),
    ],
)
def test_what_is_not_in_the_language_is_refused_by_name_at_definition(text: str, said: str) -> None:
    with pytest.raises(ValueError, match="applies=") as refusal:
        Condition(text)
    assert said in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "gate(apiserver, X) and version(apiserver, '>=1.35') and not gate(apiserver, X)",
            "gate(apiserver, X) and not gate(apiserver, X) are never true together",
        ),
        (
            "version(scheduler, '<1.34') and version(scheduler, '>=1.35')",
            "version(scheduler, '<1.34') and version(scheduler, '>=1.35') are never true together",
        ),
        (
            "version(scheduler, '>1.34') and version(scheduler, '<1.35')",
            "version(scheduler, '>1.34') and version(scheduler, '<1.35') are never true together",
        ),
        ("version(scheduler, '==1.34.1') and version(scheduler, '>1.34')", "are never true together"),
        ("version(apiserver, '<1.0')", "version(apiserver, '<1.0') is never true"),
        ("not (gate(apiserver, X) or not gate(apiserver, X))", "is never true"),
        (
            "(gate(apiserver, A) or gate(apiserver, B)) and not gate(apiserver, A) and not "
            "gate(apiserver, B)",
            "its parts are never true together",
        ),
    ],
)
def test_a_condition_that_can_never_hold_is_refused_with_what_contradicts_what(text: str, said: str) -> None:
    with pytest.raises(ValueError, match="never holds: ") as refusal:
        Condition(text)
    assert str(refusal.value).endswith(said)


@pytest.mark.parametrize(
    "text",
    [
        "gate(apiserver, X) and not gate(scheduler, X)",
        "version(apiserver, '<1.34') and version(scheduler, '>=1.35')",
        "version(apiserver, '>1.34.1') and version(apiserver, '<1.34.3')",
        "version(apiserver, '>=1.34') and version(apiserver, '<=1.34')",
        "version(apiserver, '==1.34') and not version(apiserver, '==1.34.0')",
        "not (gate(apiserver, X) and not gate(apiserver, X))",
        "gate(apiserver, X) or not gate(apiserver, X)",
    ],
)
def test_a_condition_that_some_cluster_fulfils_is_taken(text: str) -> None:
    assert Condition(text).text == text


def test_many_gates_are_no_riddle() -> None:
    either = " and ".join(f"(gate(apiserver, A{n}) or gate(scheduler, B{n}))" for n in range(40))
    assert Condition(either).gates()


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("gate(controller_manager, X)", "the gates of kube-controller-manager"),
        ("not gate(controller_manager, X)", "the gates of kube-controller-manager"),
        ('version(controller_manager, ">=1.35")', "the version of kube-controller-manager"),
        ("gate(apiserver, On) and gate(controller_manager, X)", "the gates of kube-controller-manager"),
        ("gate(apiserver, Off) or gate(controller_manager, X)", "the gates of kube-controller-manager"),
    ],
)
def test_what_cannot_be_read_is_neither_on_nor_off(text: str, unread: str) -> None:
    with pytest.raises(Unreadable, match=f"{unread} cannot be read"):
        Condition(text).holds(FACTS)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("gate(controller_manager, X) and gate(apiserver, Off)", False),
        ("gate(controller_manager, X) or gate(apiserver, On)", True),
    ],
)
def test_what_decides_alone_outweighs_what_cannot_be_read(text: str, holds: bool) -> None:
    assert Condition(text).holds(FACTS) is holds


def test_a_version_that_is_no_version_cannot_be_read() -> None:
    with pytest.raises(Unreadable):
        Condition('version(apiserver, "<1.36")').holds(Facts({API: {}}, {API: "unknown"}))


def test_a_condition_tells_which_gates_it_speaks_of() -> None:
    condition = Condition("gate(apiserver, A) and not (gate(scheduler, B) or version(scheduler, '<1.36'))")
    assert sorted(condition.gates()) == [(API, "A"), (SCHEDULER, "B")]
    assert (Condition("").gates(), str(Condition(""))) == ([], "always")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "always"),
        ("gate(apiserver, Some)", "kube-apiserver has Some on"),
        ("not gate(scheduler, Some)", "kube-scheduler has Some off or lacks it"),
        ('version(scheduler, ">=1.35")', "kube-scheduler is 1.35 or newer"),
        ('not version(scheduler, "<1.37")', "kube-scheduler is 1.37 or newer"),
        ('not version(scheduler, "==1.34.2")', "kube-scheduler is not 1.34.2"),
        (
            'not (version(scheduler, "==1.34") and gate(scheduler, Some))',
            "kube-scheduler is not 1.34 or kube-scheduler has Some off or lacks it",
        ),
        (
            'gate(scheduler, A) and (version(scheduler, ">1.35") or not gate(apiserver, B))',
            "kube-scheduler has A on and (kube-scheduler is newer than 1.35 or kube-apiserver has B off or "
            "lacks it)",
        ),
    ],
)
def test_a_condition_can_be_said_in_words(text: str, words: str) -> None:
    assert Condition(text).in_words() == words
