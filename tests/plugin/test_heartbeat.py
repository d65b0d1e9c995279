import asyncio

import pytest

from hintbound.plugin import heartbeat
from hintbound.plugin.heartbeat import Heartbeat


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def beats(heart: Heartbeat, clock: Clock, *steps: float) -> None:
    """Let it beat once for each step, during which the clock goes on by so much."""
    task = asyncio.create_task(heart.beat())
    for step in steps:
        await asyncio.sleep(0)
        clock.now += step
        await asyncio.sleep(heartbeat.BEAT * 2)
    task.cancel()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "BEAT", 0.01)


async def test_a_time_it_stood_still_is_told_to_who_began_before_its_end() -> None:
    clock = Clock()
    heart = Heartbeat(clock)

    await beats(heart, clock, 0.01, 24.0, 0.01)

    assert heart.since(110.0) == ["hintbound itself stood still for 24 s"]
    assert heart.since(clock.now) == []


async def test_a_busy_machine_is_no_standstill() -> None:
    clock = Clock()
    heart = Heartbeat(clock)

    await beats(heart, clock, 1.0, 2.5)

    assert heart.since(0.0) == []
