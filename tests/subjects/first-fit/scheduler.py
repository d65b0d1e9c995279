#!/usr/bin/env python3
"""A scheduler that knows nothing of hints: the first node by name that has room gets the pod.

Called with a kubeconfig (as JSON) and the schedulerName to serve. It serves no port and writes no events.
"""

import json
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

KUBECONFIG, NAME = json.loads(Path(sys.argv[1]).read_text()), sys.argv[2]
Object = dict[str, Any]
CLUSTER, USER = KUBECONFIG["clusters"][0]["cluster"], KUBECONFIG["users"][0]["user"]
TLS = ssl.create_default_context(cafile=CLUSTER["certificate-authority"])
TLS.load_cert_chain(USER["client-certificate"], USER["client-key"])


def call(method: str, path: str, body: Object | None = None, kind: str = "application/json") -> Object:
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(CLUSTER["server"] + path, data, {"Content-Type": kind}, method=method)
    with urllib.request.urlopen(request, context=TLS, timeout=10) as answer:
        answered: Object = json.load(answer)
        return answered


def cpus(pod: Object) -> float:
    asked = [c.get("resources", {}).get("requests", {}).get("cpu", "0") for c in pod["spec"]["containers"]]
    return sum(int(a[:-1]) / 1000 if a.endswith("m") else int(a) for a in asked)


def fits(pod: Object, node: Object, on_it: list[Object]) -> bool:
    labels, spec = node["metadata"]["labels"], node["spec"]
    tolerated = {t.get("key") for t in pod["spec"].get("tolerations", []) if t.get("operator") == "Exists"}
    repelled = [t for t in spec.get("taints", []) if t["effect"] != "PreferNoSchedule"]
    return (
        (pod["spec"].get("nodeSelector") or {}).items() <= labels.items()
        and (None in tolerated or not spec.get("unschedulable"))
        and (None in tolerated or all(taint["key"] in tolerated for taint in repelled))
        and cpus(pod) + sum(map(cpus, on_it)) <= int(node["status"]["allocatable"]["cpu"])
    )


def schedule(pods: list[Object], nodes: list[Object]) -> None:
    bound = [pod for pod in pods if pod["spec"].get("nodeName")]
    waiting = [pod for pod in pods if pod["spec"]["schedulerName"] == NAME and pod not in bound]
    for pod in sorted(waiting, key=lambda pod: -pod["spec"].get("priority", 0)):
        if pod["spec"].get("schedulingGates") or "deletionTimestamp" in pod["metadata"]:
            continue
        path = "/api/v1/namespaces/{namespace}/pods/{name}".format(**pod["metadata"])
        for node in sorted(nodes, key=lambda node: str(node["metadata"]["name"])):
            name = node["metadata"]["name"]
            if fits(pod, node, [other for other in bound if other["spec"]["nodeName"] == name]):
                target = {"apiVersion": "v1", "kind": "Node", "name": name}
                binding = {"apiVersion": "v1", "kind": "Binding", "target": target}
                call("POST", path + "/binding", binding | {"metadata": {"name": pod["metadata"]["name"]}})
                pod["spec"]["nodeName"] = name
                bound.append(pod)
                break
        else:
            said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            call(
                "PATCH",
                path + "/status",
                {"status": {"conditions": [said]}},
                "application/strategic-merge-patch+json",
            )


while True:
    try:
        schedule(call("GET", "/api/v1/pods")["items"], call("GET", "/api/v1/nodes")["items"])
    except urllib.error.HTTPError as error:  # a pod went away or was changed meanwhile: look again
        sys.stderr.write(f"{error}\n")
    time.sleep(0.1)
