"""The admission webhook that scenarios play."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hintbound.plugin.judgement import Unproven
from hintbound.plugin.webhooks import Webhook
from hintbound.protocol import SCHEDULER_USER


def review(user: str = SCHEDULER_USER, **about: Any) -> dict[str, Any]:
    """As the apiserver asks."""
    request = {"uid": "1", "name": "p", "operation": "UPDATE", "subResource": "status", **about}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {**request, "userInfo": {"username": user}},
    }


async def allowed(played: Webhook, **about: Any) -> bool:
    return bool((await played.answer(review(**about)))["response"]["allowed"])


async def test_everything_passes_until_told_otherwise() -> None:
    played = Webhook()
    answer = await played.answer(review())
    assert answer == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "1", "allowed": True},
    }
    assert played.seen == {"p"}


async def test_held_requests_wait_and_are_counted() -> None:
    played = Webhook()
    hold = played.hold("status", "p")
    waiting = [asyncio.create_task(allowed(played)) for _ in range(2)]
    await hold.first()
    assert await allowed(played, user="somebody"), "others are held up as well"
    assert await allowed(played, operation="CREATE", subResource="binding"), "so are other requests"
    assert await allowed(played, dryRun=True), "so is what has no effect"
    assert hold.asked == 2
    assert not any(task.done() for task in waiting)

    hold.release()
    assert await asyncio.gather(*waiting) == [True, True]
    assert await allowed(played), "it is held again after its release"


async def test_deletions_are_told_apart_from_what_has_a_subresource() -> None:
    played = Webhook()
    hold = played.hold("delete", "p")
    deleting = asyncio.create_task(allowed(played, operation="DELETE", subResource=""))
    await hold.first()
    hold.release()
    assert await deleting


async def test_as_many_are_refused_as_was_asked_for() -> None:
    played = Webhook()
    played.refuse("binding", "p", times=2)
    tries = [await allowed(played, operation="CREATE", subResource="binding") for _ in range(3)]
    assert tries == [False, False, True]


async def test_a_request_that_never_comes_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hintbound.plugin.webhooks.PATIENCE", 0.01)
    with pytest.raises(Unproven, match="did not come within"):
        await Webhook().hold("delete", "p").first()


async def test_a_whole_collection_has_no_name() -> None:
    asked = review(operation="DELETE")
    del asked["request"]["name"]
    assert (await Webhook().answer(asked))["response"]["allowed"]
