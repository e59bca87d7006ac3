"""An agent of v1 by hand that does the least: sessions, turns, cancellation. Every step can be overridden."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from tests.check.faults.reference.mcp_servers import McpServers
from tests.check.faults.reference.raw import AUTH_REQUIRED, INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, RawPeer, Refused
from tests.check.faults.reference.store import Session, Store

__all__ = ["PlainV1", "text_of"]

LARGEST_VERSION = 65535
_STORES: dict[type, Store] = {}


def text_of(blocks: list[Any]) -> str:
    """What a prompt says in words."""
    return "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")


class PlainV1(RawPeer):
    """Conforms to v1 and has no capability."""

    accepts: ClassVar[frozenset[str]] = frozenset({"text", "resource_link"})
    """The kinds of blocks that a prompt may have."""
    capabilities_of_client = "clientCapabilities"
    capabilities_of_agent = "agentCapabilities"

    def __init__(self) -> None:
        super().__init__()
        self.store = _STORES.setdefault(type(self), Store())
        self.client: dict[str, Any] = {}
        """What the client can do."""
        self.sessions: dict[str, Session] = {}
        """Those that are open."""
        self.turns: dict[str, set[asyncio.Task[Any]]] = {}
        """The running turns of each session, and those that wait for them."""
        self.locks: dict[str, asyncio.Lock] = {}
        self.servers = McpServers()
        self.is_logged_in = True
        self.is_ending = False

    # --- life

    async def at_end(self) -> None:
        self.is_ending = True
        await super().at_end()
        await self.servers.close()

    async def take_request(self, message: dict[str, Any]) -> None:
        """A request; one that is worked on in the background has begun before the next line is read."""
        await super().take_request(message)
        await asyncio.sleep(0)

    async def take_notification(self, method: str, params: Any) -> None:
        """A notification; what makes no sense is ignored."""
        if isinstance(params, dict):
            await super().take_notification(method, params)

    async def perform(self, id_: Any, method: str, params: Any) -> Any:
        """The result of a request, whatever goes wrong."""
        if not isinstance(params, dict):
            raise Refused(INVALID_PARAMS, "Invalid params")
        try:
            return await super().perform(id_, method, params)
        except Refused:
            raise
        except Exception as error:
            raise Refused(INTERNAL_ERROR, "Internal error") from error

    async def take_cancel_request(self, request_id: Any) -> None:
        """A request that is taken back: a prompt ends as if it had been cancelled."""
        task = self.open_requests.get(request_id) if isinstance(request_id, int | str) else None
        if task is not None:
            task.cancel()

    # --- the handshake

    async def on_initialize(self, params: dict[str, Any]) -> Any:
        """Who are you, who am I."""
        asked = params.get("protocolVersion")
        if type(asked) is not int or not 0 <= asked <= LARGEST_VERSION:
            raise Refused(INVALID_PARAMS, "Invalid params: protocolVersion")
        self.client = self.client_capabilities(params)
        return self.handshake_result(params)

    def client_capabilities(self, params: dict[str, Any]) -> dict[str, Any]:
        said = params.get(self.capabilities_of_client)
        return said if isinstance(said, dict) else {}

    def offers(self, *path: str) -> bool:
        """Whether the client offers something; an empty object is a yes."""
        said: Any = self.client
        for key in path:
            said = said.get(key) if isinstance(said, dict) else None
        return said is not None and said is not False

    def handshake_result(self, params: dict[str, Any]) -> dict[str, Any]:
        return {
            "protocolVersion": self.version(params["protocolVersion"]),
            self.capabilities_of_agent: self.capabilities(),
            "agentInfo": self.info(),
            "authMethods": self.auth_methods(),
        }

    def version(self, _asked: int) -> int:
        """The version that is spoken from now on."""
        return 1

    def capabilities(self) -> dict[str, Any]:
        return {}

    def info(self) -> dict[str, Any]:
        return {"name": "by-hand", "title": "An agent by hand", "version": "1.0"}

    def auth_methods(self) -> list[dict[str, Any]]:
        return []

    # --- sessions

    async def on_session_new(self, params: dict[str, Any]) -> Any:
        self.check_login()
        session = Session(self.cwd_of(params), self.roots_of(params), values=self.first_values())
        session.updated_at = self.time()
        servers = self.servers_of(params)
        self.sessions[session.id] = session
        self.store.keep(session)
        await self.connect(session, servers)
        return self.session_result(session)

    async def connect(self, session: Session, servers: list[Any]) -> None:
        """Connect to the MCP servers of a session."""
        for server in servers:
            await self.servers.connect(server, session.cwd)

    def check_login(self) -> None:
        """Without a login there are no sessions."""
        if not self.is_logged_in:
            raise Refused(AUTH_REQUIRED, "Authentication required")

    def cwd_of(self, params: dict[str, Any]) -> str:
        cwd = params.get("cwd")
        if not isinstance(cwd, str) or not Path(cwd).is_absolute():
            raise Refused(INVALID_PARAMS, "Invalid params: cwd")
        return cwd

    def roots_of(self, _params: dict[str, Any]) -> list[str]:
        """The additional folders of a session."""
        return []

    def servers_of(self, params: dict[str, Any]) -> list[Any]:
        """The MCP servers of a session: a list, also an empty one."""
        servers = params.get("mcpServers", "absent")
        if servers is not None and not isinstance(servers, list):
            raise Refused(INVALID_PARAMS, "Invalid params: mcpServers")
        return servers or []

    def first_values(self) -> dict[str, Any]:
        """The options of a new session."""
        return {}

    def session_result(self, session: Session) -> dict[str, Any]:
        """The answer to a request for a new session."""
        return {"sessionId": session.id, **self.settings(session)}

    def settings(self, _session: Session) -> dict[str, Any]:
        """What a session can be set to."""
        return {}

    def find(self, params: dict[str, Any]) -> Session:
        id_ = params.get("sessionId")
        if not isinstance(id_, str):
            raise Refused(INVALID_PARAMS, "Invalid params: sessionId")
        if id_ not in self.sessions:
            raise Refused(NOT_FOUND, "Session not found", {"sessionId": id_})
        return self.sessions[id_]

    def time(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    # --- turns

    async def on_session_prompt(self, params: dict[str, Any]) -> Any:
        """A prompt: answered when its turn has ended, also when it was cancelled."""
        session = self.find(params)
        blocks = self.blocks_of(params)
        task = asyncio.current_task()
        running = self.turns.setdefault(session.id, set())
        lock = self.locks.setdefault(session.id, asyncio.Lock())
        if task is not None:
            running.add(task)
        try:
            async with lock:
                self.remember_prompt(session, blocks)
                reason = await self.turn(session, blocks)
        except asyncio.CancelledError:
            if self.is_ending or task is None:
                raise
            task.uncancel()
            await self.after_cancel(session)
            reason = self.cancelled_reason()
        finally:
            if task is not None:
                running.discard(task)
            if self.store.find(session.id) is not None:
                self.store.keep(session)
        return self.prompt_result(reason)

    def blocks_of(self, params: dict[str, Any]) -> list[Any]:
        blocks = params.get("prompt")
        if not isinstance(blocks, list):
            raise Refused(INVALID_PARAMS, "Invalid params: prompt")
        if not all(isinstance(block, dict) and block.get("type") in self.accepts for block in blocks):
            raise Refused(INVALID_PARAMS, "Invalid params: prompt")
        return blocks

    async def turn(self, session: Session, blocks: list[Any]) -> str:
        """The work; gives the reason why it stopped."""
        self.show_message(session, self.reply_to(text_of(blocks)))
        await self.obey(session, text_of(blocks))
        return self.stop_reason()

    def reply_to(self, words: str) -> str:
        heard = words[:200].encode(errors="replace").decode()
        return f"You said: {heard}"

    async def obey(self, _session: Session, words: str) -> None:
        """What a prompt asks of an agent like this: `__hang__` to go on until it is cancelled."""
        if "__hang__" in words:
            await asyncio.Event().wait()

    def stop_reason(self) -> str:
        """Why a turn ends that has done its work."""
        return "end_turn"

    def cancelled_reason(self) -> str:
        """Why a turn ends that was cancelled."""
        return "cancelled"

    def prompt_result(self, reason: str) -> dict[str, Any]:
        return {"stopReason": reason}

    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        """Stop; with no turn there is nothing to stop."""
        self.cancel(params.get("sessionId"))

    def cancel(self, session_id: Any) -> list[asyncio.Task[Any]]:
        """Stop the turns of a session; gives those that are still to be answered."""
        tasks = list(self.turns.get(session_id, ())) if isinstance(session_id, str) else []
        for task in tasks:
            task.cancel()
        return tasks

    async def after_cancel(self, session: Session) -> None:
        """A turn was cancelled, and its prompt is not yet answered."""

    # --- what is told of a session

    def update(self, session: Session, kind: str, /, **fields: Any) -> None:
        self.notify("session/update", {"sessionId": session.id, "update": {"sessionUpdate": kind, **fields}})

    def show(self, session: Session, kind: str, /, **fields: Any) -> None:
        """Tell the client, and again when the session is replayed."""
        session.history.append({"sessionUpdate": kind, **fields})
        self.update(session, kind, **fields)

    def remember_prompt(self, session: Session, blocks: list[Any]) -> None:
        """A prompt is part of the conversation; its client knows it already."""
        message_id = self.message_id()
        for block in blocks:
            session.history.append({"sessionUpdate": "user_message_chunk", "messageId": message_id, "content": block})

    def message_id(self) -> str:
        return f"message-{uuid.uuid4().hex}"

    def show_message(self, session: Session, words: str) -> None:
        """The agent says something, in two parts."""
        message_id = self.message_id()
        half = len(words) // 2
        for part in (words[:half], words[half:]):
            if part:
                content = {"type": "text", "text": part}
                self.show(session, "agent_message_chunk", messageId=message_id, content=content)
