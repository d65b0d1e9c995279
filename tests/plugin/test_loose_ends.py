"""A test that forgets an await, or leaves a task to itself, does not pass."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import warnings

import pytest

from hintbound.plugin.loose_ends import LooseEnds
from tests.plugin.sessions import Sessions

FAILS = """
async def fails(error):
    await asyncio.sleep(0)
    raise error

async def goes_on():
    await asyncio.sleep(60)

@one("T-ONE", deadline=5)
async def test_one(arena):
"""


def ran_one(sessions: Sessions, body: str) -> tuple[str, str]:
    """Verdict and reason of a test with this body."""
    ran = sessions.run(FAILS + "".join(f"    {line}\n" for line in body.splitlines()))
    return ran.verdicts["T-ONE"], ran.reason("T-ONE")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("fails(None)", "test_it.py:18: fails() was never awaited, so it did nothing"),
        ("kept = arena.gated_pod()", "test_it.py:18: gated_pod() was never awaited, so it did nothing"),
        (
            "async def deeper():\n    fails(None)\nawait asyncio.create_task(deeper())",
            "test_it.py:19: fails() was never awaited, so it did nothing",
        ),
        ("fails(None)\nraise NotSeen('it never came')", "it never came; test_it.py:18: fails() was never"),
    ],
)
def test_a_forgotten_await_is_unknown_and_named(sessions: Sessions, body: str, said: str) -> None:
    verdict, reason = ran_one(sessions, body)
    assert (verdict, reason[: len(said)]) == ("unknown", said)


@pytest.mark.parametrize(
    ("error", "verdict", "said"),
    [
        ("AssertionError('broken')", "fail", "in its task fails(), which it never awaited: broken"),
        ("NotSeen('it never came')", "fail", "in its task fails(), which it never awaited: it never came"),
        ("pytest.fail.Exception('said')", "fail", "in its task fails(), which it never awaited: said"),
        ("Unproven('too little')", "unknown", "in its task fails(), which it never awaited: too little"),
        ("KeyError('x')", "unknown", "in its task fails(), which it never awaited, KeyError was raised: 'x'"),
    ],
)
def test_a_task_that_failed_unseen_counts(sessions: Sessions, error: str, verdict: str, said: str) -> None:
    body = f"task = asyncio.create_task(fails({error}))\nawait asyncio.sleep(0.05)"
    found, reason = ran_one(sessions, body)
    assert (found, said in reason) == (verdict, True), reason


def test_a_failure_unseen_outweighs_what_proved_nothing(sessions: Sessions) -> None:
    body = (
        "asyncio.create_task(fails(AssertionError('broken')))\nawait asyncio.sleep(0.05)\nraise Unproven('x')"
    )
    assert ran_one(sessions, body) == ("fail", "in its task fails(), which it never awaited: broken")


def test_a_task_that_still_runs_at_the_end_is_unknown_and_ended(sessions: Sessions) -> None:
    body = "test_one.task = asyncio.create_task(goes_on(), name='the load')"
    verdict, reason = ran_one(sessions, body)
    assert verdict == "unknown"
    assert reason == "it ended while its task the load was still running: await it, or cancel it"


@pytest.mark.parametrize(
    "body",
    [
        "task = asyncio.create_task(goes_on())\nawait asyncio.sleep(0)\ntask.cancel()",
        "task = asyncio.create_task(fails(ValueError()))\nwith pytest.raises(ValueError):\n    await task",
        "await asyncio.gather(fails(ValueError()), fails(KeyError()), return_exceptions=True)",
        "await asyncio.wait_for(asyncio.sleep(0), 1)",
        "async with asyncio.TaskGroup() as group:\n    group.create_task(asyncio.sleep(0))",
        "await arena.pod()",
    ],
)
def test_what_a_test_takes_care_of_passes(sessions: Sessions, body: str) -> None:
    assert ran_one(sessions, body) == ("pass", "")


def test_tasks_of_libraries_are_their_own_business(sessions: Sessions) -> None:
    body = (
        "from hintbound.plugin.extenders import extender\n"
        "import aiohttp\n"
        "async with extender() as played, aiohttp.ClientSession() as session:\n"
        "    question = {'Pod': {'metadata': {'name': 'p'}}, 'NodeNames': ['n']}\n"
        "    async with session.post(played.url + '/filter', json=question) as answer:\n"
        "        assert (await answer.json())['NodeNames'] == ['n']"
    )
    assert ran_one(sessions, body) == ("pass", "")


def test_the_interpreter_is_left_as_it_was(sessions: Sessions) -> None:
    before = (vars(warnings)["_warn_unawaited_coroutine"], sys.get_coroutine_origin_tracking_depth())
    ran_one(sessions, "pass")
    assert (
        vars(warnings)["_warn_unawaited_coroutine"],
        sys.get_coroutine_origin_tracking_depth(),
    ) == before


async def test_outside_of_scenarios_python_warns_as_ever() -> None:
    from hintbound.plugin.loose_ends import Watch

    async def forgotten() -> None:
        pass

    watch = Watch()
    watch.on(asyncio.get_running_loop())
    try:
        with pytest.warns(RuntimeWarning, match="was never awaited"):
            forgotten()  # type: ignore[unused-coroutine]
    finally:
        watch.off()


def test_a_task_that_is_deaf_to_the_tests_own_cancelling_still_runs() -> None:
    async def play() -> list[str]:
        loose, released = LooseEnds(__file__), asyncio.Event()

        async def deaf() -> None:
            while not released.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await released.wait()

        task = asyncio.create_task(deaf(), name="deaf")
        loose.created(task, sys._getframe())
        await asyncio.sleep(0)
        task.cancel()
        said = await loose.end(0.05)
        released.set()
        await task
        return said

    assert asyncio.run(play()) == ["it ended while its task deaf was still running: await it, or cancel it"]
