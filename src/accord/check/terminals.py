"""The terminals of the client that judges an agent: commands that have ended, or that run until they are killed."""

from __future__ import annotations

from typing import Any

from accord.check.wire import Deferred, Refusal, Reply

__all__ = ["Terminals"]

_NOT_FOUND = -32002
_KILLED = {"exitCode": None, "signal": "SIGTERM"}


class Terminals:
    """Terminals with an id each. With a status their commands have ended; without one each runs until it is killed.

    `terminal/kill` and `terminal/release` end a command that runs (v1, terminals): every `terminal/wait_for_exit` that
    waits for it is answered then, and `terminal/output` has its exit status from then on.
    """

    def __init__(self, **status: Any) -> None:
        self._status = status
        self._exits: dict[str, dict[str, Any] | None] = {}
        self._waiting: dict[str, list[Deferred]] = {}

    def replies(self) -> dict[str, Reply]:
        """For `Talk.replying`."""
        return {
            "terminal__create": self._create,
            "terminal__output": self._output,
            "terminal__wait_for_exit": self._wait,
            "terminal__kill": self._kill,
            "terminal__release": self._release,
        }

    def _create(self, _params: Any) -> Any:
        id_ = f"accord-terminal-{len(self._exits) + 1}"
        self._exits[id_] = dict(self._status) or None
        return {"terminalId": id_}

    def _output(self, params: Any) -> Any:
        id_ = self._id(params)
        if id_ is None:
            return _unknown(params)
        output = {"output": "hello\n", "truncated": False}
        ended = self._exits[id_]
        return output if ended is None else {**output, "exitStatus": ended}

    def _wait(self, params: Any) -> Any:
        id_ = self._id(params)
        if id_ is None:
            return _unknown(params)
        ended = self._exits[id_]
        if ended is not None:
            return ended
        deferred = Deferred()
        self._waiting.setdefault(id_, []).append(deferred)
        return deferred

    def _kill(self, params: Any) -> Any:
        id_ = self._id(params)
        if id_ is None:
            return _unknown(params)
        self._end(id_)
        return {}

    def _release(self, params: Any) -> Any:
        id_ = self._id(params)
        if id_ is not None:
            self._end(id_)
        return {}

    def _end(self, id_: str) -> None:
        if self._exits[id_] is None:
            self._exits[id_] = dict(_KILLED)
        for deferred in self._waiting.pop(id_, []):
            deferred.give(self._exits[id_])

    def _id(self, params: Any) -> str | None:
        id_ = params.get("terminalId") if isinstance(params, dict) else None
        return id_ if isinstance(id_, str) and id_ in self._exits else None


def _unknown(params: Any) -> Refusal:
    id_ = params.get("terminalId") if isinstance(params, dict) else None
    return Refusal(_NOT_FOUND, "Resource not found", {"terminalId": str(id_)})
