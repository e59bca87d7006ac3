"""An agent that is served, and a raw client on the other end of its link, in any edition.

`served` starts the agent and shakes hands. What the agent asks is answered by what was registered under the method's
name in `answers`, whenever the test listens; what is not registered is left to the test. Nothing is read unless the
test listens, so a client that does not read is one that does nothing.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from accord.agent import Agent, BlockingTurn, Turn
from accord.agent.shared_sessions import SharedSessions
from accord.stores import MemoryStore
from accord.stores.interface import Store
from accord.transport import memory_pair
from accord.transport.interface import Transport
from tests.connection.rig import BOUND_SECONDS, Hand as RawHand, until
from tests.tables import rows

__all__ = [
    "EDITIONS",
    "ELICITS",
    "IN_EVERY_EDITION",
    "Hand",
    "Heard",
    "agent_of",
    "allow",
    "choose",
    "noting",
    "served",
    "until",
]

EDITIONS = ("v1", "v2", "v2_june")
IN_EVERY_EDITION = rows("edition", EDITIONS)

ELICITS: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
"""The capability of a client that has forms and opens addresses, in v1 and v2."""

Answer = Callable[[dict[str, Any]], Any]
"""What answers a request of the agent: gets the params, gives the result, or a whole `{"error": ...}`; may be async."""


def choose(option_id: str) -> Answer:
    """Answer a permission question with an option."""
    return lambda _: {"outcome": {"outcome": "selected", "optionId": option_id}}


allow = choose("allow")


def agent_of(
    handler: Callable[[Turn], Any] | Callable[[BlockingTurn], Any],
    *,
    store: Store | None = None,
    stored: bool = True,
    **options: Any,
) -> Agent:
    """An agent with one prompt handler; with a store in memory unless told otherwise."""
    agent = Agent("tested", version="1", store=(store or MemoryStore()) if stored else None, **options)
    agent.prompt(accepts={"image", "audio", "resource"})(handler)
    return agent


def noting(seen: list[Any]) -> Callable[[Any], Awaitable[None]]:
    """A handler that notes the turn or the session that it is given."""

    async def note(given: Any) -> None:
        seen.append(given)

    return note


class Heard:
    """What came from the agent, in order."""

    def __init__(self, messages: list[dict[str, Any]], answer: dict[str, Any] | None = None) -> None:
        self.messages = messages
        self.answer = answer
        """The answer to the prompt, if it is among them."""

    @property
    def updates(self) -> list[dict[str, Any]]:
        """The bodies of the session updates."""
        return [each["params"]["update"] for each in self.messages if each.get("method") == "session/update"]

    @property
    def kinds(self) -> list[str]:
        """The kinds of the updates."""
        return [update["sessionUpdate"] for update in self.updates]

    @property
    def said(self) -> list[dict[str, Any]]:
        """The updates without states and without the echo of what the user said."""
        return [u for u in self.updates if u["sessionUpdate"] not in {"state_update", "user_message"}]

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        """The updates of some kinds."""
        return [update for update in self.updates if update["sessionUpdate"] in kinds]

    @property
    def text(self) -> str:
        """All that the agent said as plain text."""
        return "".join(u["content"].get("text", "") for u in self.of("agent_message_chunk"))

    @property
    def states(self) -> list[str]:
        """The states in order, as v2 tells them."""
        return [update["state"] for update in self.of("state_update")]

    @property
    def end(self) -> dict[str, Any]:
        """How the turn ended: a dict with `stopReason` or `error`, wherever the edition says so."""
        assert self.answer is not None
        if "error" in self.answer:
            return {"error": self.answer["error"]}
        if "stopReason" in self.answer["result"]:
            return dict(self.answer["result"])
        ends = [update for update in self.of("state_update") if update["state"] == "idle" and "stopReason" in update]
        return {key: ends[-1][key] for key in ("stopReason", "error") if key in ends[-1]}

    @property
    def stop_reason(self) -> str | None:
        """Why the turn ended; `error` where it failed."""
        return "error" if "error" in self.end else self.end["stopReason"]

    @property
    def error(self) -> dict[str, Any]:
        """What it failed with."""
        error: dict[str, Any] = self.end["error"]
        return error

    def requests(self, method: str) -> list[dict[str, Any]]:
        """What the agent asked, as whole messages."""
        return [each for each in self.messages if each.get("method") == method and "id" in each]

    def tools(self) -> dict[str, dict[str, Any]]:
        """The tool calls, folded as a client would: by id, the last word on every field; content in v2 is grown."""
        calls: dict[str, dict[str, Any]] = {}
        for update in self.of("tool_call", "tool_call_update", "tool_call_content_chunk"):
            call = calls.setdefault(update["toolCallId"], {"content": [], "statuses": []})
            if update["sessionUpdate"] == "tool_call_content_chunk":
                call["content"].append(update["content"])
                continue
            call.update({key: value for key, value in update.items() if key != "sessionUpdate"})
            if "status" in update:
                call["statuses"].append(update["status"])
        return calls


class Hand(RawHand):
    """The client. It speaks raw texts and every wait is bounded; `heard` is all that was ever read."""

    def __init__(self, transport: Transport, edition: str) -> None:
        super().__init__(transport)
        self.edition = edition
        self.received: list[dict[str, Any]] = []
        self.answers: dict[str, Answer] = {}
        self.info: dict[str, Any] = {}
        """What the agent said of itself in the handshake."""
        self._replies: set[asyncio.Task[None]] = set()

    # --- listening

    async def hear(self) -> dict[str, Any]:
        """The next message; answers it if somebody is registered for that."""
        message: dict[str, Any] = await super().hear()
        self.received.append(message)
        answer = self.answers.get(message.get("method", "")) if "id" in message else None
        if answer is not None:
            task = asyncio.ensure_future(self._reply(message, answer))
            self._replies.add(task)
            task.add_done_callback(self._replies.discard)
        return message

    async def _reply(self, message: dict[str, Any], answer: Answer) -> None:
        result = answer(message["params"])
        if inspect.isawaitable(result):
            result = await result
        await self.reply(message, result)

    async def reply(self, request: dict[str, Any], result: Any) -> None:
        """Answer a request of the agent by hand; a dict with nothing but `error` is an error."""
        body = result if isinstance(result, dict) and set(result) == {"error"} else {"result": result}
        await self.say({"jsonrpc": "2.0", "id": request["id"], **body})

    async def hear_until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Listen until a message is what was wanted; earlier ones are in `heard`."""
        while True:
            message = await self.hear()
            if wanted(message):
                return message

    async def answer_to(self, id_: Any) -> dict[str, Any]:
        """The answer to a request of ours, also if it was heard before."""
        found = self._answer(self.received, id_)
        return found or await self.hear_until(lambda message: self._answer([message], id_) is not None)

    @staticmethod
    def _answer(messages: Iterable[dict[str, Any]], id_: Any) -> dict[str, Any] | None:
        return next((each for each in messages if each.get("id") == id_ and "method" not in each), None)

    async def asked(self, method: str) -> dict[str, Any]:
        """The next request of the agent for a method."""
        return await self.hear_until(lambda message: message.get("method") == method and "id" in message)

    async def update_of(self, kind: str) -> dict[str, Any]:
        """The next session update of a kind."""
        message = await self.hear_until(
            lambda message: (
                message.get("method") == "session/update" and message["params"]["update"]["sessionUpdate"] == kind
            )
        )
        update: dict[str, Any] = message["params"]["update"]
        return update

    async def said(self, text: str) -> None:
        """Listen until the agent says a text."""
        await self.hear_until(lambda message: Heard([message]).text == text)

    async def state(self, state: str) -> dict[str, Any]:
        """Listen until the session is in a state (v2)."""
        while True:
            update = await self.update_of("state_update")
            if update["state"] == state:
                return update

    async def drain(self) -> list[dict[str, Any]]:
        """All that is on its way now: a request that nobody serves comes back behind it."""
        start = len(self.received)
        # What was told leaves in the next turns of the loop, and a refusal in the same.
        for _ in range(10):
            await asyncio.sleep(0)
        await self.request("_drain")
        return self.received[start:-1]

    @property
    def updates(self) -> list[dict[str, Any]]:
        """The bodies of all session updates that were heard."""
        return Heard(self.received).updates

    # --- speaking

    async def new_session(self, cwd: str = "/tmp", **more: Any) -> str:  # noqa: S108 - no file is made there
        """Open a session; gives its id."""
        answer = await self.request("session/new", {"cwd": cwd, "mcpServers": [], **more})
        assert "result" in answer, answer
        session: str = answer["result"]["sessionId"]
        return session

    async def prompt(self, session: str, content: str | list[dict[str, Any]] = "go", **more: Any) -> Any:
        """Send a prompt without waiting; gives its id."""
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return await self.ask("session/prompt", {"sessionId": session, "prompt": blocks, **more})

    async def turn(self, session: str, content: str | list[dict[str, Any]] = "go", **more: Any) -> Heard:
        """Run a whole turn; what was heard until its end."""
        start = len(self.received)
        return await self.ended(await self.prompt(session, content, **more), start)

    async def ended(self, prompt: Any, start: int = 0) -> Heard:
        """Listen until the turn of a prompt that was sent is over; what was heard from `start` on."""
        answer = await self.answer_to(prompt)
        result = answer.get("result", {})
        if "messageId" in result:
            while not self._is_over(result["messageId"]):
                await self.hear()
        return Heard(self.received[start:], answer)

    def _is_over(self, message_id: str) -> bool:
        """Whether the session is idle after it ran after a message of the user (v2)."""
        updates = self.updates
        own = [
            n for n, u in enumerate(updates) if u["sessionUpdate"] == "user_message" and u["messageId"] == message_id
        ]
        states = Heard(self.received).states if not own else [u["state"] for u in updates[own[0] :] if "state" in u]
        return "running" in states and "idle" in states[states.index("running") :]

    async def cancel(self, session: str) -> None:
        """Cancel what goes on in a session."""
        await self.notify("session/cancel", {"sessionId": session})

    async def withdraw(self, id_: Any) -> None:
        """Take one request back."""
        await self.notify("$/cancel_request", {"requestId": id_})


def _introduction(edition: str, capabilities: dict[str, Any]) -> dict[str, Any]:
    who = {"name": "hand", "version": "1"}
    match edition:
        case "v1":
            return {"protocolVersion": 1, "clientInfo": who, "clientCapabilities": capabilities}
        case "v2":
            return {"protocolVersion": 2, "info": who, "capabilities": capabilities}
        case _:
            return {"protocolVersion": 2, "clientInfo": who, "capabilities": capabilities}


@asynccontextmanager
async def served(
    agent: Agent,
    edition: str = "v1",
    capabilities: dict[str, Any] | None = None,
    *,
    max_bytes: int = 1024 * 1024,
    shared: SharedSessions | None = None,
) -> AsyncIterator[Hand]:
    """Serve the agent to a client that has shaken hands; `capabilities` are in the edition's own words.

    `max_bytes` is how much fits on the link while nobody reads; `shared` has the sessions that other clients have too.
    """
    ours, theirs = memory_pair(max_bytes)
    serving = asyncio.ensure_future(agent.serve(ours, shared=shared))
    hand = Hand(theirs, edition)
    try:
        answer = await hand.request("initialize", _introduction(edition, capabilities or {}))
        hand.info = answer["result"]
        yield hand
    finally:
        await theirs.close()
        async with asyncio.timeout(BOUND_SECONDS):
            await serving
