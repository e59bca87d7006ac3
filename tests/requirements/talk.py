"""How a client of each edition says what every scene needs: the handshake, a session, a turn and its end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.requirements.wire import Entry, Reply, Wire

__all__ = ["ABLE", "BARE", "HANG", "REPLIES", "Talk", "is_state", "is_update", "text"]

HANG = "__hang__"
"""Both agents go on with this prompt until they are cancelled."""

INFO = {"name": "requirements", "version": "1"}

BARE: dict[str, dict[str, Any]] = {
    "v1": {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": INFO},
    "v2": {"protocolVersion": 2, "capabilities": {}, "info": INFO},
    "v2_june": {"protocolVersion": 2, "capabilities": {}, "clientInfo": INFO},
}
"""The handshake of a client that offers nothing."""

_ELICITATION: dict[str, Any] = {"form": {}, "url": {}}
ABLE: dict[str, dict[str, Any]] = {
    "v1": BARE["v1"]
    | {
        "clientCapabilities": {
            "fs": {"readTextFile": True, "writeTextFile": True},
            "terminal": True,
            "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
            "auth": {"terminal": True},
            "elicitation": _ELICITATION,
        }
    },
    "v2": BARE["v2"] | {"capabilities": {"auth": {"terminal": {}}, "elicitation": _ELICITATION}},
    "v2_june": BARE["v2_june"],
}
"""The handshake of a client that offers everything."""


def _allow(params: Any) -> Any:
    return {"outcome": {"outcome": "selected", "optionId": params["options"][0]["optionId"]}}


REPLIES: dict[str, Reply] = {
    "session/request_permission": _allow,
    "elicitation/create": lambda _: {"action": "accept", "content": {"name": "Ada"}},
    "fs/read_text_file": lambda _: {"content": "new\n"},
    "fs/write_text_file": lambda _: {},
    "terminal/create": lambda _: {"terminalId": "t"},
    "terminal/output": lambda _: {"output": "1 notes.txt\n", "truncated": False, "exitStatus": {"exitCode": 0}},
    "terminal/wait_for_exit": lambda _: {"exitCode": 0},
    "terminal/kill": lambda _: {},
    "terminal/release": lambda _: {},
}
"""How a client answers that says yes to everything, whether it offered it or not: what was asked is judged later."""


def text(words: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words}


def is_update(message: Any, session: str | None = None, *kinds: str) -> bool:
    """Whether a message is an update, of a session, of one of some kinds."""
    if not isinstance(message, dict) or message.get("method") != "session/update":
        return False
    params = message["params"]
    fits = session is None or params["sessionId"] == session
    return fits and (not kinds or params["update"]["sessionUpdate"] in kinds)


def is_state(message: Any, session: str, state: str) -> bool:
    """Whether a message tells that a session is in a state."""
    return is_update(message, session, "state_update") and message["params"]["update"]["state"] == state


class Talk:
    """A client that talks with one agent process. `before` are the notes of the scene that was played before it."""

    def __init__(self, edition: str, wire: Wire, folder: Path, before: Mapping[str, Any]) -> None:
        self.edition = edition
        self.wire = wire
        self.folder = folder
        self.before = before
        self.request = wire.request
        self.ask = wire.ask
        self.answer = wire.answer
        self.notify = wire.notify

    @property
    def cwd(self) -> str:
        """Where its sessions work."""
        return str(self.folder)

    async def shake_hands(self, *, able: bool = False) -> dict[str, Any]:
        """Introduce ourselves."""
        return await self.request("initialize", (ABLE if able else BARE)[self.edition])

    async def new(self, **params: Any) -> str:
        """Open a session; gives its id."""
        answer = await self.request("session/new", {"cwd": self.cwd, "mcpServers": [], **params})
        session: str = answer["result"]["sessionId"]
        return session

    async def prompt(self, session: str, *blocks: Any, **params: Any) -> int:
        """Send a prompt without waiting; gives the id of its request."""
        prompt = [text(block) if isinstance(block, str) else block for block in blocks]
        id_: int = await self.ask("session/prompt", {"sessionId": session, "prompt": prompt, **params})
        return id_

    async def turn(self, session: str, *blocks: Any, **params: Any) -> int:
        """A prompt up to the end of its turn, in whichever way the edition tells it; gives the id of its request."""
        since = len(self.wire.entries)
        id_ = await self.prompt(session, *blocks, **params)
        await self.end_of_turn(session, id_, since)
        return id_

    async def end_of_turn(self, session: str, id_: int, since: int) -> None:
        """Wait for the answer and, where that is a receipt only, for the end of the work."""
        answer = await self.answer(id_)
        if self.edition == "v2" and "result" in answer:
            await self.until(lambda entry: is_state(entry.message, session, "idle"), since)

    async def hang(self, session: str) -> int:
        """Begin a turn that goes on until it is cancelled, and wait until its handler does; gives the request's id."""
        since = len(self.wire.entries)
        id_ = await self.prompt(session, HANG)
        await self.until(lambda entry: HANG.encode() in entry.raw and _is_speech(entry.message, session), since)
        return id_

    async def until(self, holds: Any, since: int = 0) -> Entry:
        """Wait for something that the agent says."""
        return await self.wire.until(holds, since)

    async def is_alive(self) -> bool:
        """Whether the agent still answers."""
        answer = await self.request("_are_you_there", {})
        return bool(answer["error"]["code"] == -32601)


def _is_speech(message: Any, session: str) -> bool:
    return is_update(message, session, "agent_message", "agent_message_chunk")
