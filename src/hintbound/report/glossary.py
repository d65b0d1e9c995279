"""What a reader needs who has never seen the KEP: terms, usual causes of a failure, links of a source.

Kept here for all: `hintbound explain` and the reports show of it what their text uses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the catalogue and what it means, in one sentence."""

    name: str
    meaning: str
    pattern: re.Pattern[str]
    """What shows that a text uses it."""


def _term(name: str, pattern: str, meaning: str) -> Term:
    return Term(name, meaning, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE))


CAPABILITIES: Final = {
    "AUDIT": "an audit log of pods with both bodies",
    "FAKE_NODES": "nodes that KWOK serves",
    "ACTORS": "a user for each actor",
    "OWN_SCHEDULER": "a further scheduler for this scenario alone",
    "RESTART_COMPONENT": "components that can be ended and started again",
    "PAUSE_COMPONENT": "components that can be made to stand still",
    "ACTOR_PROXY": "fault proxies between its actors and the apiserver",
    "MANY_APISERVERS": "further apiservers on the same etcd",
    "NO_NODES": "a cluster that has no nodes of its own",
    "REAL_NODES": "nodes with a kubelet, on which containers run",
    "FAULTY_SCHEDULER": "the scheduler that fails on demand",
    "WEBHOOKS": "an apiserver that can call this machine",
    "OLDER_MINOR": "components of the minor before",
}
"""What a cluster must offer, in words."""

TERMS: Final = (
    _term(
        "hint",
        r"hints?|hinted|hinting",
        "a pod's status.nominatedNodeName (NNN) when somebody else than the scheduler wrote it: the node to "
        "try first",
    ),
    _term(
        "nomination",
        r"nominat(?:es?|ed|ions?|ing)|status\.nominatedNodeName|NNN",
        "a pod's status.nominatedNodeName (NNN) when the scheduler wrote it: the node where it means to "
        "bind the pod",
    ),
    _term(
        "nominator",
        r"nominators?",
        "whoever writes hints; it needs the right to patch pods/status",
    ),
    _term(
        "gated pod",
        r"(?<!clearing )gates? goes|gated|ungate|scheduling gates?",
        "a pod with spec.schedulingGates: no scheduler tries it until they are removed",
    ),
    _term(
        "clearing gate",
        r"clearing gate|ClearingNominatedNodeNameAfterBinding",
        "ClearingNominatedNodeNameAfterBinding of kube-apiserver: a binding clears nominatedNodeName",
    ),
    _term(
        "expectation gate",
        r"expectation gate|NominatedNodeNameForExpectation",
        "NominatedNodeNameForExpectation of kube-scheduler: it nominates pods that wait in PreBind as well",
    ),
    _term(
        "SchedulerAsyncPreemption",
        r"SchedulerAsyncPreemption|asynchronous preemption",
        "gate of kube-scheduler: victims are deleted in the background, after the nomination",
    ),
    _term(
        "SchedulerAsyncAPICalls",
        r"SchedulerAsyncAPICalls|asynchronous API calls",
        "gate of kube-scheduler: its writes wait in a queue, where a later one may overtake an earlier",
    ),
    _term(
        "DynamicResourceAllocation",
        r"DynamicResourceAllocation",
        "gate for devices by claim (on from 1.34); its plugin changes what follows a refusal before "
        "filtering",
    ),
    _term(
        "PodTopologyLabelsAdmission",
        r"PodTopologyLabelsAdmission",
        "gate of kube-apiserver: a node's topology labels are copied to the pod, through its binding",
    ),
    _term(
        "preemption",
        r"preempt(?:s|ed|ing|ion|ions|or|ors)?|victims?",
        "for a pod that fits nowhere (the preemptor) pods of lower priority on one node (the victims) are "
        "deleted",
    ),
    _term(
        "PreFilter",
        r"PreFilter|before filtering",
        "the scheduler's first step: it can refuse a pod for what no node can mend, e.g. a missing claim",
    ),
    _term(
        "Filter, Score",
        r"filter|filters|filtering|filtered|scor(?:e|es|ed|ing)",
        "the scheduler's main steps: which nodes fit a pod, and which of these is best",
    ),
    _term(
        "PostFilter",
        r"PostFilter",
        "scheduler plugins that run when no node fits; by default the one that preempts",
    ),
    _term(
        "PreBind",
        r"PreBind",
        "the scheduler's step between choosing a node and binding: e.g. it waits there for a volume",
    ),
    _term(
        "Reserve, Permit",
        r"Reserve plugin|in Reserve|Permit",
        "steps of the scheduler once a node is chosen: plugins claim what the pod needs there, and let it "
        "wait, say for its group",
    ),
    _term(
        "gang",
        r"gangs?|GenericWorkload",
        "pods of a PodGroup (gate GenericWorkload) of which minCount are scheduled together, or none",
    ),
    _term(
        "binding",
        r"bind(?:s|ing|ings|er|ers)?|bound",
        "the write that gives a pod its spec.nodeName, for good",
    ),
    _term(
        "Unschedulable",
        r"Unschedulable",
        "reason of the condition PodScheduled=False: no node fits; tried again when something changes",
    ),
    _term(
        "reserve",
        r"reserv(?:es?|ed|ation|ations)|hold[s]? (?:no )?room|holds the room|the room that",
        "the scheduler counts a nominated pod as if it ran on its node, for pods of equal and lower priority",
    ),
    _term(
        "backoff",
        r"backoff",
        "the time, 1 s and up to 10 s, that a failed pod waits before it is tried again",
    ),
    _term(
        "extender",
        r"extenders?",
        "a web service that the scheduler asks which nodes fit",
    ),
    _term(
        "profile",
        r"profiles?",
        "one schedulerName with its plugins; a kube-scheduler can have several",
    ),
    _term(
        "finalizer",
        r"finalizers?",
        "a mark that keeps an object that was deleted until it is removed",
    ),
    _term(
        "owner",
        r"managedFields|owns|owners?|ownership|apply|applying|applied|applier",
        "server-side apply notes in managedFields who set which field, and refuses others with 409",
    ),
    _term(
        "emulated version",
        r"emulat\w+",
        "`--emulated-version`: a newer program with an older one's gates",
    ),
    _term(
        "grace period",
        r"grace periods?",
        "the seconds that a deleted pod has to end",
    ),
    _term(
        "kubelet",
        r"kubelets?",
        "the agent of a node: it starts and ends the containers of its pods, and writes their status",
    ),
    _term(
        "API Priority and Fairness",
        r"API Priority and Fairness|FlowSchemas?",
        "the apiserver's guard against too many requests: a FlowSchema leads a request to a priority level, "
        "which may refuse it with 429",
    ),
)


def terms_in(text: str) -> list[Term]:
    """The terms that a text uses, in the order in which they are best read."""
    return [term for term in TERMS if term.pattern.search(text)]


_CAUSES: Final = {
    "suites/apiserver": "a webhook, policy or proxy that changes or refuses writes of pods/status, an "
    "apiserver with other gates behind the same address, or one that was changed",
    "suites/apiserver/binding": "a webhook or policy on pods/binding, an apiserver with other gates behind "
    "the same address, or one that was changed",
    "suites/apiserver/damage": "a policy that guards pods/status, and then the failure is good news",
    "suites/apiserver/skew": "a gate or --emulated-version that did not take effect: see `components` in "
    "report.yaml",
    "suites/kubelet": "a kubelet or container runtime that was changed, another writer of pods/status, or "
    "a node that is too busy to start a container",
    "suites/nominator": "a proxy or webhook that changes what the nominator sends",
    "suites/regressions": "a release that has the bug: docs/track-record.md says which do",
    "suites/scheduler/binding": "another writer of the field, an apiserver with other gates behind the same "
    "address, or a scheduler that clears by itself",
    "suites/scheduler/clearing": "a nominator that hints again at once, a profile with other PostFilter "
    "plugins or an extender, or a scheduler that was changed",
    "suites/scheduler/faults": "a client library that retries otherwise, or a scheduler that was changed",
    "suites/scheduler/groups": "a release in which pod groups behave otherwise: upstream has not settled it",
    "suites/scheduler/hints": "another writer of the field, a profile with other plugins or an extender, or "
    "a scheduler that was changed",
    "suites/scheduler/permit": "another plugin that waits or rejects, or a scheduler that was changed",
    "suites/scheduler/prebind": "a storage driver that binds the claim, another bindTimeoutSeconds, or "
    "a scheduler that was changed",
    "suites/scheduler/preemption": "a profile without DefaultPreemption, an admission plugin that changes "
    "priorities or grace periods, or a scheduler that was changed",
    "suites/scheduler/restarts": "a program that comes back without the state that the API holds, or is "
    "changed in how it starts",
    "suites/scheduler/skew": "a gate or --emulated-version that did not take effect: see `components` in "
    "report.yaml",
    "suites/soak": "the sum of small things: repeat it with the seed of the report, and read "
    "what the check proves",
}
"""By the folder of the suite: what a failure there most often comes from."""


def usual_cause(file: str) -> str:
    """What a failure of a test (`suites/…py::test_…`) most often comes from; empty for suites of others."""
    folders = [folder for folder in _CAUSES if file.startswith(f"{folder}/")]
    return _CAUSES[max(folders, key=len)] if folders else ""


_REFERENCES: Final = (
    (re.compile(r"\bKEP-(\d+)"), "https://github.com/kubernetes/enhancements/issues/{}"),
    (re.compile(r"(?:\bkubernetes|(?<=, ))#(\d+)"), "https://github.com/kubernetes/kubernetes/issues/{}"),
)


def links(source: str) -> list[str]:
    """The addresses of the KEPs, pull requests and issues that a source names (GitHub leads on from an
    issue's address to a pull request's)."""
    found = [address.format(number) for pattern, address in _REFERENCES for number in pattern.findall(source)]
    return list(dict.fromkeys(found))
