"""Agents of v1 that are wrong about unusual lines, large messages, wrong requests, errors, and their own end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from accord.testing.faults.agent_v1 import FullV1, PlainV1
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused
from accord.testing.faults.shelf import Session

__all__: list[str] = []

INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR = -32600, -32602, -32603
NOBODY = "accord-check-nobody"
_LARGE_BYTES = 1_000_000


# --- lines


@breaks("ACCORD-WIRE-001", "v1")
class DeafToCarriageReturns(PlainV1):
    """Does not know that a carriage return is white space."""

    async def take(self, line: bytes) -> None:
        """One line."""
        if not line.endswith(b"\r"):
            await super().take(line)


@breaks("ACCORD-WIRE-002", "v1")
class DeafToIndentation(PlainV1):
    """Wants a brace at the start of a line."""

    async def take(self, line: bytes) -> None:
        """One line."""
        if not line.startswith((b" ", b"\t")):
            await super().take(line)


@breaks("ACCORD-WIRE-003", "v1")
class WantsParams(PlainV1):
    """Does not answer who gives no params."""

    async def take_request(self, message: dict[str, Any]) -> None:
        """A request."""
        if "params" in message:
            await super().take_request(message)


@breaks("ACCORD-WIRE-004", "v1")
class DeafToNullParams(PlainV1):
    """Does not answer who gives null."""

    async def take_request(self, message: dict[str, Any]) -> None:
        """A request."""
        if message.get("params", {}) is not None:
            await super().take_request(message)


@breaks("ACCORD-WIRE-005", "v1")
class IdsAreFractions(PlainV1):
    """Reads every number as a floating point one."""

    async def take_request(self, message: dict[str, Any]) -> None:
        """A request."""
        id_ = message["id"]
        await super().take_request({**message, "id": int(float(id_))} if type(id_) is int else message)


@breaks("ACCORD-WIRE-006", "v1")
class DiesOfNotifications(PlainV1):
    """Thinks that it knows every notification."""

    async def take_notification(self, method: str, params: Any) -> None:
        """A notification."""
        if method == "_accord.check/unknown":
            raise LookupError(method)
        await super().take_notification(method, params)


@breaks("ACCORD-WIRE-007", "v1")
class AnswersAnswers(PlainV1):
    """Objects to an answer that it does not wait for."""

    def take_answer(self, message: dict[str, Any]) -> None:
        """An answer."""
        super().take_answer(message)
        if message.get("id") == NOBODY:
            self.refuse(None, INVALID_REQUEST, "Invalid request")


@breaks("ACCORD-WIRE-008", "v1", note="the error -32700")
class BlankLinesAreErrors(PlainV1):
    """Takes a blank line for a message."""

    async def take(self, line: bytes) -> None:
        """One line."""
        if line:
            await super().take(line)
        else:
            await self.take_broken(line)


@breaks("ACCORD-WIRE-009", "v1", note="nothing was said")
class SilentAboutBytes(PlainV1):
    """Drops what is no UTF-8."""

    async def take_broken(self, line: bytes) -> None:
        """A line that is no JSON."""
        if b"\xff" not in line:
            await super().take_broken(line)


@breaks("ACCORD-WIRE-010", "v1", note="the error -32600")
class StrictAboutIds(PlainV1):
    """Wants a text or a whole number."""

    async def take_request(self, message: dict[str, Any]) -> None:
        """A request."""
        if isinstance(message["id"], int | str):
            await super().take_request(message)
        else:
            self.refuse(None, INVALID_REQUEST, "Invalid request")


@breaks("ACCORD-WIRE-011", "v1", note="nothing was said")
class SilentAboutArrays(PlainV1):
    """Drops arrays."""

    async def take_array(self, _messages: list[Any]) -> None:
        """An array."""


@breaks("ACCORD-INIT-001", "v1", note="refused")
class HandshakeComesFirst(PlainV1):
    """Has no session for whom it does not know."""

    is_met = False

    async def on_initialize(self, params: dict[str, Any]) -> Any:
        """The handshake."""
        result = await super().on_initialize(params)
        self.is_met = True
        return result

    async def on_session_new(self, params: dict[str, Any]) -> Any:
        """A new session."""
        if not self.is_met:
            raise Refused(INVALID_REQUEST, "Invalid request")
        return await super().on_session_new(params)


@breaks("ACCORD-INIT-002", "v1", note="accepted")
class AnyVersionWillDo(PlainV1):
    """Does not look at the version."""

    async def on_initialize(self, params: dict[str, Any]) -> Any:
        """The handshake."""
        version = params.get("protocolVersion")
        return await super().on_initialize({**params, "protocolVersion": version if isinstance(version, int) else 1})


@breaks("ACCORD-SIZE-001", "v1")
class DeafToLargeLines(PlainV1):
    """Reads lines into a small buffer."""

    async def take(self, line: bytes) -> None:
        """One line."""
        if len(line) < _LARGE_BYTES or b'"session/prompt"' in line:
            await super().take(line)


@breaks("ACCORD-SIZE-002", "v1")
class RefusesLargePrompts(PlainV1):
    """Has no room for a prompt of a few megabytes."""

    async def on_session_prompt(self, params: dict[str, Any]) -> Any:
        """A prompt."""
        if len(str(params.get("_meta"))) > _LARGE_BYTES:
            raise Refused(INVALID_PARAMS, "Too large")
        return await super().on_session_prompt(params)


# --- wrong requests


@breaks("ACCORD-VALID-001", "v1")
class MissingFolderIsInternal(PlainV1):
    """Falls over a session without a folder."""

    def cwd_of(self, params: dict[str, Any]) -> str:
        """The folder of a session."""
        if "cwd" not in params:
            raise Refused(INTERNAL_ERROR, "Internal error")
        return super().cwd_of(params)


@breaks("ACCORD-VALID-002", "v1")
class RelativeFoldersWillDo(PlainV1):
    """Takes a relative folder as below its own."""

    def cwd_of(self, params: dict[str, Any]) -> str:
        """The folder of a session."""
        cwd = params.get("cwd")
        return super().cwd_of({**params, "cwd": str(Path(cwd).absolute())} if isinstance(cwd, str) else params)


@breaks("ACCORD-VALID-003", "v1", note="accepted")
class ServersMayBeMissing(PlainV1):
    """Takes no list for an empty one."""

    def servers_of(self, params: dict[str, Any]) -> list[Any]:
        """The MCP servers of a session."""
        return super().servers_of({"mcpServers": [], **params})


@breaks("ACCORD-VALID-004", "v1")
class MissingPromptIsInternal(PlainV1):
    """Falls over a prompt that is not there."""

    def blocks_of(self, params: dict[str, Any]) -> list[Any]:
        """What was said."""
        if not isinstance(params.get("prompt"), list):
            raise Refused(INTERNAL_ERROR, "Internal error")
        return super().blocks_of(params)


@breaks("ACCORD-VALID-005", "v1")
class AnySessionWillDo(PlainV1):
    """Has a turn with nobody."""

    async def on_session_prompt(self, params: dict[str, Any]) -> Any:
        """A prompt."""
        if params.get("sessionId") == NOBODY:
            return self.prompt_result("end_turn")
        return await super().on_session_prompt(params)


@breaks("ACCORD-AUTH-001", "v1")
class AnyLoginWillDo(FullV1):
    """Does not look at the way to log in."""

    async def on_authenticate(self, params: dict[str, Any]) -> Any:
        """Log in."""
        return {} if params.get("methodId") == NOBODY else await super().on_authenticate(params)


@breaks("ACCORD-AUTH-003", "v1")
class StaysLoggedIn(FullV1):
    """Says that it has logged out."""

    async def on_logout(self, _params: dict[str, Any]) -> Any:
        """Log out."""
        return {}


@breaks("ACCORD-ERROR-001", "v1")
class TracebacksForAll(PlainV1):
    """Sends the client what belongs in a log."""

    def find(self, params: dict[str, Any]) -> Session:
        """An open session."""
        try:
            return super().find(params)
        except Refused as refused:
            where = 'Traceback (most recent call last):\n  File "agent.py", line 7, in find\nKeyError'
            raise Refused(refused.code, refused.message, {"details": where}) from None


# --- the end


@breaks("ACCORD-EXIT-001", "v1")
class FinishesItsWorkFirst(PlainV1):
    """Works on when nobody listens any more."""

    async def at_end(self) -> None:
        """After the last line."""
        try:
            if any(self.turns.values()):
                await asyncio.Event().wait()
        finally:
            await super().at_end()


@breaks("ACCORD-EXIT-002", "v1", note="status 3")
class ComplainsAtTheEnd(PlainV1):
    """Ends with an error when it is left while it works."""

    async def at_end(self) -> None:
        """After the last line."""
        is_busy = any(self.turns.values())
        await super().at_end()
        if is_busy:
            raise SystemExit(3)
