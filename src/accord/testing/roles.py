"""The usual steps of a scripted agent and client, and the shapes of each edition that they write by hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from accord.json_values import JsonValue
from accord.testing.message import JsonRpcMessage, text_of
from accord.testing.peer import ScriptedPeer

__all__ = ["AgentPeer", "AgentScript", "ClientPeer", "Greeting"]


Greeting: TypeAlias = Literal["v1", "v2", "v2_june", "false v2"]
"""The edition of a scripted peer's handshake; a false v2 announces v2 in the shape of v1."""

WHO = {"name": "scripted", "version": "1"}


class WireShape(NamedTuple):
    """One edition as a scripted peer writes it."""

    version: int
    agent_info: str
    client_info: str
    agent_capabilities: str
    client_capabilities: str
    agent_baseline: dict[str, Any]
    """The capabilities that every agent of the edition declares."""
    agent_fields: dict[str, Any]
    """Further fields of every agent's answer to `initialize`."""
    reports_states: bool
    """Whether a prompt is answered on its insertion, and states report the run and the end of its turn."""
    names_messages: bool
    names_permission_subject: bool
    """Whether a permission request has a title and a subject of its own, and not only a tool call."""


_V1 = WireShape(
    version=1,
    agent_info="agentInfo",
    client_info="clientInfo",
    agent_capabilities="agentCapabilities",
    client_capabilities="clientCapabilities",
    agent_baseline={},
    agent_fields={"authMethods": []},
    reports_states=False,
    names_messages=False,
    names_permission_subject=False,
)
_JUNE = _V1._replace(
    version=2,
    agent_capabilities="capabilities",
    client_capabilities="capabilities",
    agent_baseline={"session": {}},
    agent_fields={},
    names_messages=True,
)
SHAPES: dict[Greeting, WireShape] = {
    "v1": _V1,
    "false v2": _V1._replace(version=2),
    "v2_june": _JUNE,
    "v2": _JUNE._replace(agent_info="info", client_info="info", reports_states=True, names_permission_subject=True),
}


def agent_greeting(edition: Greeting, capabilities: dict[str, Any]) -> dict[str, Any]:
    """The result of `initialize`; `capabilities` are in the edition's own shape."""
    shape = SHAPES[edition]
    declared = {**shape.agent_baseline, **capabilities}
    return {
        "protocolVersion": shape.version,
        shape.agent_info: WHO,
        shape.agent_capabilities: declared,
        **shape.agent_fields,
    }


def client_greeting(edition: Greeting, capabilities: dict[str, Any]) -> dict[str, Any]:
    """The params of `initialize`; `capabilities` are in the edition's own shape."""
    shape = SHAPES[edition]
    return {"protocolVersion": shape.version, shape.client_info: WHO, shape.client_capabilities: capabilities}


# --- roles


class AgentPeer(ScriptedPeer):
    """The steps of an agent, for scripts."""

    edition: Greeting = "v1"
    """The edition of its handshake."""

    async def greet(
        self, edition: Greeting = "v1", capabilities: dict[str, Any] | None = None, **more: JsonValue
    ) -> JsonRpcMessage:
        """Do the handshake; returns the client's `initialize`. A client that proposes again gets the same answer again.

        `more` are further fields of the answer: `authMethods`, for example.
        """
        self.edition = edition
        answer = {**agent_greeting(edition, capabilities or {}), **more}
        request = await self.expect("initialize")
        self.always("initialize", answer)
        await self.answer(request, answer)
        return request

    async def open_session(self, session: str = "s", **more: JsonValue) -> str:
        """Wait for `session/new` and answer it; returns the session's id. `more` are further fields of the answer."""
        await self.answer(await self.expect("session/new"), {"sessionId": session, **more})
        return session

    async def update(self, session: str, update: dict[str, Any]) -> None:
        """Send a `session/update`, whose body is `update`."""
        await self.notify("session/update", {"sessionId": session, "update": update})

    async def chunk(self, session: str, text: str, kind: str = "agent_message_chunk", message: str = "m") -> None:
        """Send a chunk of a message; `message` is its id, where the edition has ids."""
        await self.update(session, self._chunk(text, kind, message))

    async def take_prompt(self) -> JsonRpcMessage:
        """Wait for a prompt and begin its turn in the edition's way: in v2 it is accepted, echoed, and `running`."""
        prompt = await self.expect("session/prompt")
        if SHAPES[self.edition].reports_states:
            session, message_id = str(prompt.session), f"u-{prompt.id}"
            await self.answer(prompt, {"messageId": message_id})
            body = {"messageId": message_id, "content": prompt.params["prompt"]}
            await self.update(session, {"sessionUpdate": "user_message", **body})
            await self.state(session, "running")
        return prompt

    async def state(self, session: str, state: str, **more: JsonValue) -> None:
        """Send a `state_update`, which only v2 has."""
        await self.update(session, {"sessionUpdate": "state_update", "state": state, **more})

    async def end(self, prompt: JsonRpcMessage, stop_reason: str = "end_turn") -> None:
        """End the turn of a prompt in the edition's way."""
        if SHAPES[self.edition].reports_states:
            await self.state(str(prompt.session), "idle", stopReason=stop_reason)
        else:
            await self.answer(prompt, {"stopReason": stop_reason})

    async def permit(
        self,
        session: str,
        tool: dict[str, Any],
        options: list[dict[str, Any]] | None = None,
        *,
        id: JsonValue = ...,  # noqa: A002
    ) -> JsonRpcMessage:
        """Request permission for a tool call in the edition's shape; returns the client's answer."""
        return await self.call("session/request_permission", self.permission(session, tool, options), id=id)

    def permission(
        self, session: str, tool: dict[str, Any], options: list[dict[str, Any]] | None = None
    ) -> dict[str, Any]:
        """The params of a permission request; `options` are to allow and to reject once, unless given."""
        if options is None:
            options = [
                {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
                {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
            ]
        if SHAPES[self.edition].names_permission_subject:
            subject = {"type": "tool_call", "toolCall": tool}
            title = tool.get("title", "May I?")
            return {"sessionId": session, "title": title, "options": options, "subject": subject}
        return {"sessionId": session, "toolCall": tool, "options": options}

    async def flood(self, session: str, count: int, text: str = "x") -> None:
        """Send so many chunks, as fast as they are accepted."""
        params = {"sessionId": session, "update": self._chunk(text, "agent_message_chunk", "m")}
        said = text_of({"jsonrpc": "2.0", "method": "session/update", "params": params})
        for _ in range(count):
            await self.transport.send(said)

    def _chunk(self, text: str, kind: str, message: str) -> dict[str, Any]:
        named = {"messageId": message} if SHAPES[self.edition].names_messages else {}
        return {"sessionUpdate": kind, "content": {"type": "text", "text": text}, **named}


class ClientPeer(ScriptedPeer):
    """The steps of a client, for scripts."""

    edition: Greeting = "v1"
    """The edition of its handshake."""

    async def greet(
        self, edition: Greeting = "v1", capabilities: dict[str, Any] | None = None, **more: JsonValue
    ) -> JsonRpcMessage:
        """Do the handshake; returns the agent's answer. `more` are further fields of the params."""
        self.edition = edition
        return await self.call("initialize", {**client_greeting(edition, capabilities or {}), **more})

    async def open_session(self, cwd: str = "/", **more: JsonValue) -> str:
        """Create a session; returns its id."""
        answer = await self.call("session/new", {"cwd": cwd, "mcpServers": [], **more})
        return str(answer.result["sessionId"])

    async def prompt(self, session: str, *content: str | dict[str, Any]) -> JsonValue:
        """Send a prompt of texts and blocks without waiting; returns its id."""
        blocks = [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]
        return await self.request("session/prompt", {"sessionId": session, "prompt": blocks})

    async def turn(self, session: str, *content: str | dict[str, Any]) -> str | None:
        """Send a prompt and wait for the end of its turn; returns the stop reason. `updates` has the updates."""
        answer = await self.expect_answer(await self.prompt(session, *content))
        if not SHAPES[self.edition].reports_states:
            return None if answer.error else str(answer.result["stopReason"])
        while True:
            update = (await self.expect("session/update", session=session)).body
            if update.get("state") == "idle":
                return update.get("stopReason")

    async def cancel(self, session: str) -> None:
        """Stop a session's work."""
        await self.notify("session/cancel", {"sessionId": session})

    def updates(self, session: str | None = None) -> list[dict[str, Any]]:
        """The bodies of the received session updates."""
        return [each.body for each in self.received if each.body and session in {None, each.session}]


AgentScript: TypeAlias = Callable[[AgentPeer], Awaitable[object]]
"""The script of an agent."""
