"""The steps of the conformance test of stores: what a check expects, and the records and events that it uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from accord.errors import StoreError
from accord.session.content import Text
from accord.session.event import Event, MessageChunk
from accord.stores.interface import SessionRecord
from accord.time_scale import scaled

__all__ = ["PATIENCE_SECONDS", "StoreCheckFailed", "expect", "expect_refusal", "make_record", "make_texts"]

# Far more than any step takes: it turns a hang into a failure with a message.
PATIENCE_SECONDS = scaled(30.0)


class StoreCheckFailed(AssertionError):
    """The store broke a promise; the text says which."""


def expect(truth: object, otherwise: str) -> None:
    if not truth:
        raise StoreCheckFailed(otherwise)


async def expect_refusal(call: Callable[[], Awaitable[object]], reason: str, what: str) -> None:
    found = "nothing"
    try:
        await call()
    except StoreError as error:
        found = error.reason
    expect(found == reason, f"{what} raised {found} instead of {reason}")


def make_record(name: str, time: float = 1.0, cwd: str = "/work", title: str | None = None) -> SessionRecord:
    return SessionRecord(name, cwd, time, time, title, roots=("/more", "/mehr/ü"))


def make_texts(name: str, count: int, start: int = 0) -> list[Event]:
    return [MessageChunk("agent", Text(f"{name} {number}")) for number in range(start, start + count)]
