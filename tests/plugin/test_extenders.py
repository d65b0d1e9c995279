"""The extender that scenarios play."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp

from hintbound.plugin.extenders import Extender, extender


async def ask(played: Extender, pod: str, *nodes: str) -> dict[str, Any]:
    """As a scheduler asks."""
    question = {"Pod": {"metadata": {"name": pod}}, "Nodes": None, "NodeNames": list(nodes)}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{played.url}/filter", json=question) as said,
    ):
        answer: dict[str, Any] = await said.json()
        return answer


async def test_every_node_passes_and_every_question_is_noted() -> None:
    async with extender() as played:
        assert await ask(played, "a", "n2", "n1") == {"NodeNames": ["n1", "n2"], "FailedNodes": {}}
        await ask(played, "b", "n1")
        assert (played.of("a"), played.of("b"), played.of("c")) == ([["n1", "n2"]], [["n1"]], [])


async def test_a_refused_node_fails() -> None:
    async with extender() as played:
        played.refused.add("n1")
        answer = await ask(played, "a", "n1", "n2")
        assert (answer["NodeNames"], list(answer["FailedNodes"])) == (["n2"], ["n1"])


async def test_an_error_is_the_whole_answer() -> None:
    async with extender() as played:
        played.error = "out of order"
        assert await ask(played, "a", "n1") == {"Error": "out of order"}


async def test_a_held_pod_is_answered_once_it_is_released() -> None:
    async with extender() as played:
        release = played.held["a"] = asyncio.Event()
        asked = asyncio.create_task(ask(played, "a", "n1"))
        await played.arrived.wait()
        assert (await ask(played, "b", "n1"))["NodeNames"] == ["n1"], "others are held up as well"
        assert not asked.done()

        release.set()
        assert (await asked)["NodeNames"] == ["n1"]


async def test_a_scenario_that_ends_leaves_nobody_waiting() -> None:
    async with extender() as played:
        played.held["a"] = asyncio.Event()
        asked = asyncio.create_task(ask(played, "a", "n1"))
        await played.arrived.wait()
    assert (await asked)["NodeNames"] == ["n1"]
