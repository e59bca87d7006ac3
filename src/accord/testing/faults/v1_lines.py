"""Agents of v1 that are wrong about lines and JSON-RPC."""

from __future__ import annotations

import asyncio
from typing import Any

from accord.testing.faults.agent_v1 import PlainV1
from accord.testing.faults.fault import breaks

__all__: list[str] = []

METHOD_NOT_FOUND, SESSION_NOT_FOUND = -32601, -32002


# --- lines


@breaks("ACP-TRANSPORT-001", "v1")
class BannerOnStdout(PlainV1):
    """Greets the terminal that is not there."""

    async def at_start(self) -> None:
        """Before the first line."""
        self.write(b"Welcome to the agent!\n")


@breaks("ACP-TRANSPORT-001", "v1")
class LateGarbage(PlainV1):
    """Says goodbye to everybody."""

    async def at_end(self) -> None:
        """After the last line."""
        await super().at_end()
        self.write(b"bye\n")


@breaks("ACP-TRANSPORT-001", "v1")
class UnendedLine(PlainV1):
    """Ends in the middle of a line."""

    async def at_end(self) -> None:
        """After the last line."""
        await super().at_end()
        self.write(b'{"jsonrpc":"2.0"')


@breaks("ACP-TRANSPORT-002", "v1")
class InvalidUtf8(PlainV1):
    """Has an old encoding."""

    async def at_start(self) -> None:
        """Before the first line."""
        self.write(b'{"jsonrpc":"2.0","method":"_example.com/greeting","params":{"words":"gr\xfc\xdf"}}\n')


# --- JSON-RPC


@breaks("ACP-JSONRPC-001", "v1")
class EmptyIdIsNull(PlainV1):
    """Takes an id that is empty for none."""

    def say(self, message: Any) -> None:
        """One message, a line."""
        super().say({**message, "id": None} if isinstance(message, dict) and message.get("id") == "" else message)


@breaks("ACP-JSONRPC-001", "v1")
class NegativeIdsAreText(PlainV1):
    """Reads only digits as a number."""

    def say(self, message: Any) -> None:
        """One message, a line."""
        if isinstance(message, dict) and isinstance(message.get("id"), int) and message["id"] < 0:
            message = {**message, "id": str(message["id"])}
        super().say(message)


@breaks("ACP-JSONRPC-002", "v1")
class ResultAndError(PlainV1):
    """Says null beside an error."""

    def refuse(self, id_: Any, code: int, message: str, data: Any = None) -> None:
        """An error."""
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        self.say({"jsonrpc": "2.0", "id": id_, "error": error, "result": None})


@breaks("ACP-JSONRPC-002", "v1")
class ErrorWithoutMessage(PlainV1):
    """Says only by a number that a session is not there."""

    def refuse(self, id_: Any, code: int, message: str, data: Any = None) -> None:
        """An error."""
        if code == SESSION_NOT_FOUND:
            self.say({"jsonrpc": "2.0", "id": id_, "error": {"code": code}})
        else:
            super().refuse(id_, code, message, data)


@breaks("ACP-JSONRPC-003", "v1")
class AnswersNotifications(PlainV1):
    """Complains about a notification that it does not know."""

    async def take_notification(self, method: str, params: Any) -> None:
        """A notification."""
        if method == "nonsense/note":
            self.refuse(None, METHOD_NOT_FOUND, "Method not found")
        await super().take_notification(method, params)


@breaks("ACP-JSONRPC-004", "v1")
class UnknownMethodIsInternalError(PlainV1):
    """Has one code for everything that goes wrong."""

    def refuse(self, id_: Any, code: int, message: str, data: Any = None) -> None:
        """An error."""
        super().refuse(id_, -32603 if code == METHOD_NOT_FOUND else code, message, data)


@breaks("ACP-JSONRPC-005", "v1")
class DiesOfABadRequest(PlainV1):
    """Does not survive a request in which everything is wrong."""

    async def take_json(self, message: Any) -> None:
        """A line that is JSON."""
        params = message.get("params") if isinstance(message, dict) else None
        if isinstance(params, dict) and (params.get("cwd"), params.get("mcpServers")) == (5, "none"):
            text = "the cwd is no text"
            raise TypeError(text)
        await super().take_json(message)


@breaks("ACP-EXT-001", "v1")
class ExtensionsAreIgnored(PlainV1):
    """Leaves extension requests of others without an answer."""

    async def take_request(self, message: dict[str, Any]) -> None:
        """A request."""
        if not message["method"].startswith("_example.com/"):
            await super().take_request(message)


@breaks("ACP-ERROR-001", "v1")
class ErrorsWithParagraphs(PlainV1):
    """Writes errors that are read on a screen."""

    def refuse(self, id_: Any, code: int, message: str, data: Any = None) -> None:
        """An error."""
        super().refuse(id_, code, f"{message}.\nPlease try again.", data)


@breaks("ACP-ERROR-001", "v1")
class ErrorsWithoutWords(PlainV1):
    """Has nothing to say about errors."""

    def refuse(self, id_: Any, code: int, _message: str, data: Any = None) -> None:
        """An error."""
        super().refuse(id_, code, "", data)


@breaks("ACP-SHUTDOWN-001", "v1")
class NeverEnds(PlainV1):
    """Waits for somebody who has gone."""

    async def at_end(self) -> None:
        """After the last line."""
        await super().at_end()
        await asyncio.Event().wait()


# --- what is only recorded


@breaks("ACP-STDERR-001", "v1", note="bytes")
class ChattersOnStderr(PlainV1):
    """Tells the log what it does."""

    async def at_start(self) -> None:
        """Before the first line."""
        self.complain("listening, and glad to be here")


@breaks("ACP-INFO-PARSE-001", "v1", note="silence")
class SilentAboutBrokenLines(PlainV1):
    """Ignores a line that is no JSON."""

    async def take_broken(self, _line: bytes) -> None:
        """A line that is no JSON."""


@breaks("ACP-INFO-INVALIDREQ-001", "v1", note="silence")
class SilentAboutStrangeJson(PlainV1):
    """Ignores JSON that is no message."""

    async def take_strange(self, _message: Any) -> None:
        """JSON that is no message."""
