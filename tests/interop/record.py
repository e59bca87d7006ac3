"""The record of a conversation, in the same form for every SDK: per scene the result and the messages."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

import accord
from accord.protocol.model import Unknown
from tests.limits import limit

__all__ = ["BIG", "ODD", "Conversation", "Record", "brief", "counts", "plain", "refusal"]

BIG = "0123456789abcdef" * (5 * 1024 * 1024 // 16)
ODD = (
    'line\u2028separator\u2029paragraph\u0085next 👩\u200d👩\u200d👧 🌍 \u0000\u001f\u007f \ufeff é e\u0301 \\ " \r\n\t'
)
SCENE_SECONDS = limit(20.0)


def plain(value: Any) -> Any:
    """A typed value as the JSON it stands for."""
    return msgspec.to_builtins(value, enc_hook=_unknown)


def _unknown(value: Any) -> Any:
    if isinstance(value, Unknown):
        return {"unread": value.payload}
    raise NotImplementedError(type(value))


def brief(value: Any) -> Any:
    """JSON in which the five megabytes stand as one word: whether they are what was sent."""
    if isinstance(value, dict):
        return {key: brief(item) for key, item in value.items()}
    if isinstance(value, list):
        return [brief(item) for item in value]
    if isinstance(value, str) and len(value) > 100_000:
        return "equal" if value == BIG else "different"
    return value


async def refusal(answer: Awaitable[Any]) -> dict[str, Any]:
    """What a call was answered, an error too."""
    try:
        return {"result": plain(await answer)}
    except accord.RequestError as error:
        return {"code": error.code, "message": error.message, "data": error.data}


def counts(connection: accord.Connection) -> dict[str, Any]:
    """What Accord had to tolerate so far."""
    return {
        **{name: value for name, value in vars(connection.counts).items() if value},
        **({"dropped": connection._codec.dropped} if connection._codec.dropped else {}),
        **({"unknown": connection._codec.unknown} if connection._codec.unknown else {}),
        **({"strays": connection.stray_answers} if connection.stray_answers else {}),
    }


class Record:
    """Plays scenes one after the other and keeps what each gave and what arrived meanwhile."""

    def __init__(self) -> None:
        self.scenes: dict[str, dict[str, Any]] = {}
        self.received: list[Any] = []

    def heard(self, method: str, params: Any) -> None:
        self.received.append([method, plain(params)])

    async def play(self, name: str, act: Callable[[], Awaitable[Any]]) -> None:
        scene: dict[str, Any] = {}
        self.received = []
        try:
            async with asyncio.timeout(SCENE_SECONDS):
                scene.update(await refusal(act()))
        except Exception:  # noqa: BLE001 - the test tells what went wrong, and the next scene is played
            scene["broke"] = traceback.format_exc()
        scene["received"] = self.received
        self.scenes[name] = scene


class Conversation:
    """A conversation that is over. `exit` is how the agent's process ended."""

    def __init__(self, scenes: dict[str, dict[str, Any]], exit_: dict[str, Any]) -> None:
        self._scenes = scenes
        self.exit = exit_

    def has(self, name: str) -> bool:
        """Whether the scene was played: not every SDK has words for every scene."""
        return name in self._scenes

    def scene(self, name: str) -> dict[str, Any]:
        scene = self._scenes[name]
        assert "broke" not in scene, scene["broke"]
        return scene

    def trouble(self, name: str) -> str:
        """Why the scene broke, in the words of the program that played it."""
        return str(self._scenes[name]["broke"])

    def result(self, name: str) -> Any:
        """What the call of this scene gave."""
        scene = self.scene(name)
        assert "result" in scene, scene
        return scene["result"]

    def received(self, name: str) -> list[Any]:
        """What of the specification the agent sent during the scene, in order: pairs of method and params."""
        return [pair for pair in self.scene(name)["received"] if pair[0] != "_interop/saw"]

    def updates(self, name: str) -> list[Any]:
        return [params for method, params in self.received(name) if method == "session/update"]

    def saw(self, name: str) -> dict[str, Any]:
        """What the agent says it got during the scene."""
        (facts,) = (params for method, params in self.scene(name)["received"] if method == "_interop/saw")
        return {key: value for key, value in facts.items() if key != "sessionId"}
