"""What the tests of both remote transports share."""

import asyncio
import types

import pytest

from tests.graces import short_graces

__all__ = ["delays", "short_graces"]


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The delays before attempts to open a link; they do not take their time, and every other sleep does."""
    noted = list[float]()

    async def sleep_and_note(seconds: float) -> None:
        noted.append(seconds)
        await asyncio.sleep(0)

    without_sleep = types.SimpleNamespace(**vars(asyncio))
    without_sleep.sleep = sleep_and_note
    monkeypatch.setattr("accord.transport.remote.asyncio", without_sleep)
    return noted
