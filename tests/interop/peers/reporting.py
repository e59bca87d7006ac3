"""The common part of the Python clients among the peers: the odd texts, the agent's command line, the report."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

BIG = "0123456789abcdef" * (5 * 1024 * 1024 // 16)
ODD = (
    'line\u2028separator\u2029paragraph\u0085next 👩\u200d👩\u200d👧 🌍 \u0000\u001f\u007f \ufeff é e\u0301 \\ " \r\n\t'
)
BRIEF = sys.argv[1] == "--handshake"
"""Whether only the handshake is to be played."""
AGENT = sys.argv[2:] if BRIEF else sys.argv[1:]


def plain(value: Any) -> Any:
    """A model of the SDK as plain JSON, without what is absent or null."""
    return _dump(value, exclude_none=True)


def plain_set(value: Any) -> Any:
    """A model of the SDK as plain JSON, without what is absent; null stays."""
    return _dump(value, exclude_unset=True)


def _dump(value: Any, **how: bool) -> Any:
    if isinstance(value, list):
        return [_dump(item, **how) for item in value]
    return value.model_dump(mode="json", by_alias=True, **how) if hasattr(value, "model_dump") else value


def brief(value: Any) -> Any:
    """Five megabytes are compared here; the report says only whether they are equal."""
    if isinstance(value, dict):
        return {key: brief(item) for key, item in value.items()}
    if isinstance(value, list):
        return [brief(item) for item in value]
    if isinstance(value, str) and len(value) > 100_000:
        return "equal" if value == BIG else "different"
    return value


class Report:
    """Plays scenes one after the other and keeps what each gave and what arrived meanwhile."""

    def __init__(self, request_error: type[Exception], dump: Callable[[Any], Any] = plain) -> None:
        self.scenes: dict[str, Any] = {}
        self.received: list[Any] = []
        self._request_error = request_error
        self._dump = dump

    def heard(self, method: str, params: Any) -> None:
        self.received.append([method, self._dump(params)])

    async def play(self, name: str, act: Callable[[], Awaitable[Any]]) -> dict[str, Any]:
        scene: dict[str, Any] = {}
        self.received = []
        try:
            scene["result"] = self._dump(await act())
        except self._request_error as error:
            scene.update(code=getattr(error, "code", None), message=str(error), data=getattr(error, "data", None))
        except Exception:  # noqa: BLE001 - the test tells what went wrong, and the next scene is played
            scene["broke"] = traceback.format_exc()
        scene["received"] = self.received
        self.scenes[name] = scene
        return scene

    def print(self, pid: int, code: int | None) -> None:
        report = {"scenes": brief(self.scenes), "exit": {"pid": pid, "code": code}}
        sys.stdout.write(json.dumps(report) + "\n")
