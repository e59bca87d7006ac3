"""The sessions of a v2 agent by hand: opened, resumed with or without their history, listed, closed, deleted."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

from tests.check.faults.reference.agent_v2_handshake import HandshakeV2
from tests.check.faults.reference.agent_v2_history import KeptSession, Update, kept_by
from tests.check.faults.reference.raw import CANCELLED, INVALID_PARAMS, NOT_FOUND, Refused

__all__ = ["HeldPrompt", "OpenSession", "SessionsV2", "wrong"]


def wrong(field: str, expected: str) -> Refused:
    """-32602."""
    return Refused(INVALID_PARAMS, "Invalid params", {"field": field, "expected": expected})


class HeldPrompt:
    """A prompt that waits for its place in the conversation."""

    def __init__(self, request: Any, blocks: list[Any]) -> None:
        self.request = request
        self.blocks = blocks

    @property
    def text(self) -> str:
        return " ".join(block["text"] for block in self.blocks if block.get("type") == "text")


class OpenSession:
    """A session on this connection."""

    def __init__(self, kept: KeptSession) -> None:
        self.kept = kept
        self.id = kept.id
        self.state = "idle"
        self.is_closing = False
        self.work: asyncio.Task[str] | None = None
        """The turn that is going on."""
        self.held: list[HeldPrompt] = []
        self.cancellable: set[str] = set()
        """Tool calls and terminals that can be cancelled alone."""
        self.unfinished: list[str] = []
        """Tool calls that are cancelled if the turn is."""
        self.terminals: list[str] = []
        """Terminals that are ended if the turn is cancelled."""
        self.background: list[str] = []
        """Terminals that go on behind the foreground."""


class SessionsV2(HandshakeV2):
    """All that can be done with a session but a turn."""

    methods = HandshakeV2.methods | {
        "session/new",
        "session/resume",
        "session/list",
        "session/close",
        "session/prompt",
        "tool_call/cancel",
        "terminal/cancel",
    }
    page_size = 0
    """How many sessions a page of the list has; 0 for all."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = kept_by(type(self))
        self.sessions: dict[str, OpenSession] = {}
        """Those that are open."""
        self.is_over = False

    async def at_end(self) -> None:
        self.is_over = True
        for session in self.sessions.values():
            self.end_background(session)
        work = [session.work for session in self.sessions.values() if session.work is not None]
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await super().at_end()

    # --- what is told

    def tell(self, session: OpenSession, kind: str, /, **fields: Any) -> None:
        """An update, which is kept as well."""
        update = {"sessionUpdate": kind, **fields}
        session.kept.keep(update)
        self.update(session.id, update)

    def update(self, session_id: str, update: Update) -> None:
        if not self.is_over:
            self.notify("session/update", {"sessionId": session_id, "update": update})

    # --- opening

    def open_session(self, params: dict[str, Any]) -> OpenSession:
        """The session that a request is about, which has to be open."""
        id_ = params.get("sessionId")
        if not isinstance(id_, str):
            raise wrong("sessionId", "a string")
        if id_ not in self.sessions:
            raise Refused(NOT_FOUND, "Session not found", {"sessionId": id_})
        return self.sessions[id_]

    async def on_session_new(self, params: dict[str, Any]) -> Any:
        self.check_login()
        self.check_folders(params)
        self.check_servers(params)
        directories = list(params.get("additionalDirectories") or [])
        session = OpenSession(KeptSession(self.new_session_id(), params["cwd"], directories, self.first_values()))
        self.kept[session.id] = session.kept
        self.sessions[session.id] = session
        return self.new_result(session)

    def new_session_id(self) -> str:
        """An id that no session had before."""
        return f"session-{uuid.uuid4()}"

    def new_result(self, session: OpenSession) -> Any:
        """What is said of a new session."""
        return {"sessionId": session.id, **self.session_result(session)}

    def session_result(self, _session: OpenSession) -> dict[str, Any]:
        """What is said of any session that was opened."""
        return {}

    def first_values(self) -> dict[str, Any]:
        """The values of the options of a new session."""
        return {}

    def check_folders(self, params: dict[str, Any]) -> None:
        if not _is_absolute(params.get("cwd")):
            raise wrong("cwd", "an absolute path")
        directories = params.get("additionalDirectories") or []
        if not isinstance(directories, list) or not all(map(_is_absolute, directories)):
            raise wrong("additionalDirectories", "absolute paths")
        if directories and not self.has("additionalDirectories"):
            raise wrong("additionalDirectories", "nothing: it was not advertised")

    def check_servers(self, params: dict[str, Any]) -> None:
        """Only the transports that were advertised."""
        servers = params.get("mcpServers") or []
        if not isinstance(servers, list):
            raise wrong("mcpServers", "a list")
        for server in servers:
            if not isinstance(server, dict) or not self.has("mcp", str(server.get("type"))):
                raise wrong("mcpServers", "a transport that was advertised")

    def has(self, *path: str) -> bool:
        found = self.session_capabilities()
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found is not None

    # --- resuming

    async def on_session_resume(self, params: dict[str, Any]) -> Any:
        """One from before, told again from the start if that is wished."""
        self.check_login()
        kept = self.find_kept(params)
        self.check_folders(params)
        self.check_servers(params)
        self.check_cursor(params.get("replayFrom"))
        kept.directories = list(params.get("additionalDirectories") or [])
        session = self.sessions.setdefault(kept.id, OpenSession(kept))
        if self.wants_replay(params):
            self.replay(session)
        self.tell_state(session)
        return self.session_result(session)

    def find_kept(self, params: dict[str, Any]) -> KeptSession:
        """The session with an id, open or not."""
        id_ = params.get("sessionId")
        if not isinstance(id_, str):
            raise wrong("sessionId", "a string")
        if id_ not in self.kept:
            raise Refused(NOT_FOUND, "Session not found", {"sessionId": id_})
        return self.kept[id_]

    def check_cursor(self, cursor: Any) -> None:
        """There is one place to replay from."""
        if cursor is not None and (not isinstance(cursor, dict) or cursor.get("type") != "start"):
            raise wrong("replayFrom", "start")

    def wants_replay(self, params: dict[str, Any]) -> bool:
        """Whether the client asked for the history."""
        return params.get("replayFrom") is not None

    def replay(self, session: OpenSession) -> None:
        for entry in session.kept.history():
            for update in self.replayed(entry):
                self.update(session.id, update)

    def replayed(self, entry: Update) -> list[Update]:
        """One thing of the history, as updates."""
        return [entry]

    def tell_state(self, session: OpenSession) -> None:
        """How a session stands: not an end of work, so there is no reason for one."""
        self.update(session.id, self.state_update(session))

    def state_update(self, session: OpenSession, **more: Any) -> Update:
        """How a session stands, as an update."""
        return {"sessionUpdate": "state_update", "state": session.state, **more}

    # --- listing

    async def on_session_list(self, params: dict[str, Any]) -> Any:
        """The newest first, page by page."""
        self.check_login()
        cwd, cursor = params.get("cwd"), params.get("cursor")
        if cwd is not None and not _is_absolute(cwd):
            raise wrong("cwd", "an absolute path")
        found = [kept for kept in reversed(self.kept.values()) if self.is_listed(kept, cwd)]
        start = self.place_of_cursor(cursor, len(found))
        end = start + self.page_size if self.page_size else len(found)
        result: dict[str, Any] = {"sessions": [self.listed(kept) for kept in found[start:end]]}
        return {**result, "nextCursor": self.cursor(end)} if end < len(found) else result

    def is_listed(self, kept: KeptSession, cwd: str | None) -> bool:
        """Whether a session belongs in a list."""
        return cwd is None or kept.cwd == cwd

    def listed(self, kept: KeptSession) -> Any:
        session: dict[str, Any] = {"sessionId": kept.id, "cwd": kept.cwd}
        if kept.directories:
            session["additionalDirectories"] = kept.directories
        return {**session, "title": kept.title} if kept.title else session

    def cursor(self, place: int) -> str:
        """Where the next page begins, for nobody but us to read."""
        return f"page-{place}"

    def place_of_cursor(self, cursor: Any, count: int) -> int:
        if cursor is None:
            return 0
        for place in range(count + 1):
            if cursor == self.cursor(place):
                return place
        raise wrong("cursor", "one of ours")

    # --- closing

    async def on_session_close(self, params: dict[str, Any]) -> Any:
        """Stop what goes on, say the rest, forget the connection; one that is not open is closed already."""
        await self.close(params.get("sessionId"))
        return {}

    async def on_session_delete(self, params: dict[str, Any]) -> Any:
        """Close it and forget it; one that is not there is deleted already."""
        id_ = params.get("sessionId")
        await self.close(id_)
        if isinstance(id_, str):
            self.kept.pop(id_, None)
        return {}

    async def close(self, id_: Any) -> None:
        """Nothing is said about a session after this."""
        session = self.sessions.get(id_) if isinstance(id_, str) else None
        if session is None:
            return
        session.is_closing = True
        self.end_background(session)
        await self.stop(session)
        del self.sessions[session.id]

    def end_background(self, session: OpenSession) -> None:
        """End what goes on behind the foreground; the next state does not list it any more."""
        for terminal in session.background:
            self.tell_killed(session, terminal)
        session.background.clear()

    async def stop(self, session: OpenSession) -> None:
        """Cancel the work and wait for its end."""
        work = session.work
        self.cancel(session)
        if work is not None:
            # `end` was called by then: it was the first to want to know.
            await asyncio.wait([work])

    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        """Stop what goes on; where nothing does, nothing is said."""
        id_ = params.get("sessionId")
        session = self.sessions.get(id_) if isinstance(id_, str) else None
        if session is not None:
            self.cancel(session)

    def cancel(self, session: OpenSession) -> None:
        """Drop what waits, stop what runs."""
        for prompt in session.held:
            self.drop(prompt)
        session.held.clear()
        if session.work is not None:
            session.work.cancel()

    def drop(self, prompt: HeldPrompt) -> None:
        """A prompt never had its place in the conversation."""
        self.refuse(prompt.request, CANCELLED, "Request cancelled")

    async def take_cancel_request(self, request_id: Any) -> None:
        """A prompt that waits is withdrawn; one that has its place was answered."""
        for session in self.sessions.values():
            for prompt in session.held:
                if type(prompt.request) is type(request_id) and prompt.request == request_id:
                    session.held.remove(prompt)
                    self.drop(prompt)
                    return

    # --- tool calls and terminals alone

    async def on_tool_call_cancel(self, params: dict[str, Any]) -> Any:
        """Stop one tool call; the turn goes on."""
        session = self.open_session(params)
        self.stop_alone(session, params, "toolCallId")
        self.tell(session, "tool_call_update", toolCallId=params["toolCallId"], status="cancelled", capabilities=None)
        session.unfinished.remove(params["toolCallId"])
        return {}

    async def on_terminal_cancel(self, params: dict[str, Any]) -> Any:
        """Stop one terminal; the turn goes on."""
        session = self.open_session(params)
        self.stop_alone(session, params, "terminalId")
        session.terminals.remove(params["terminalId"])
        self.tell_killed(session, params["terminalId"])
        return {}

    def tell_killed(self, session: OpenSession, terminal: str) -> None:
        """A terminal was ended by a signal."""
        exit_status = {"signal": "SIGTERM"}
        self.tell(session, "terminal_update", terminalId=terminal, exitStatus=exit_status, capabilities=None)

    def stop_alone(self, session: OpenSession, params: dict[str, Any], field: str) -> None:
        """Only what is said to be cancellable is."""
        id_ = params.get(field)
        if not isinstance(id_, str) or id_ not in session.cancellable:
            raise wrong(field, "something that can be cancelled")
        session.cancellable.discard(id_)


def _is_absolute(path: Any) -> bool:
    return isinstance(path, str) and Path(path).is_absolute()
