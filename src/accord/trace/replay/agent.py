"""The recorded agent, for a live client.

Each recorded message of the agent belongs to the last message of the client before it in its session: its cause. When
the live client sends the cause, the messages that belong to it are sent, in their order. So a client may ask in another
order, more or less than the recorded one.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Collection
from typing import Any

from accord.errors import TransportError
from accord.time_scale import scaled
from accord.trace.format import AGENT, CLIENT
from accord.trace.replay.conversation import (
    Pace,
    RecordedConversation,
    RecordedStep,
    id_key,
    read_message,
    session_of,
)
from accord.trace.replay.report import IdMap, ReplayReport, differences
from accord.transport.interface import Transport

__all__ = ["RecordedAgent"]

# The limit of the wait for a message that the recorded client sent during a turn.
PATIENCE_SECONDS = scaled(2.0)

_METHOD_NOT_FOUND = -32601
_INTERNAL_ERROR = -32603


class RecordedAgent:
    """Plays the agent of a recording once, at one end of a transport."""

    def __init__(
        self,
        conversation: RecordedConversation,
        *,
        speed: float = 0.0,
        ignore: Collection[str] = (),
        patience_seconds: float = PATIENCE_SECONDS,
        report: ReplayReport | None = None,
    ) -> None:
        self.report = report or ReplayReport()
        self._conversation = conversation
        self._ignore = frozenset(ignore)
        self._pace = Pace(speed)
        self._patience_seconds = patience_seconds
        self._ids = IdMap()
        self._effects = _effects_of(conversation)
        self._matched: set[int] = set()
        self._sent: set[int] = set()
        # The live id of each recorded request of the client, and the recorded request behind each id of ours.
        self._live_ids: dict[int, Any] = {}
        self._asked: dict[str, RecordedStep] = {}
        # A message beside a step is sent instead of the recorded one.
        self._queue: asyncio.Queue[tuple[RecordedStep, Any]] = asyncio.Queue()
        self._is_working = False
        self._last_activity = 0.0
        self._copies = 0
        self._link: Transport | None = None

    async def serve(self, transport: Transport) -> None:
        """Play until the client is gone."""
        self._link = transport
        loop = asyncio.get_running_loop()
        self._last_activity = loop.time()
        for step in self._effects[None]:
            self._enqueue(step)
        tasks = [loop.create_task(self._watch()), loop.create_task(self._play())]
        try:
            while texts := await transport.receive():
                self._last_activity = loop.time()
                for text in texts:
                    await self._take(text)
        except TransportError:
            pass  # the client is gone, which ends the replay
        finally:
            for task in tasks:
                task.cancel()
            self._conclude()
            await transport.close()

    async def _take(self, text: bytes) -> None:
        try:
            message = read_message(text)
        except RecursionError:
            self._take_noise(text, "it is nested too deeply to be compared")
            return
        if message is None:
            self._take_noise(text, "it is no JSON-RPC message")
        elif isinstance(message.get("method"), str):
            await (self._take_request(message) if "id" in message else self._take_notification(message))
        else:
            self._take_answer(message)

    def _take_noise(self, text: bytes, remark: str) -> None:
        for step in self._conversation.of_side(CLIENT, "noise"):
            if step.raw == text and step.index not in self._matched:
                self._accept(step, None)
                return
        self.report.unrecorded(CLIENT, "a text", remark)

    async def _take_request(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params")
        step = self._match("request", method, params)
        if step is None:
            await self._answer_unrecorded(message)
            return
        self._live_ids[step.index] = message["id"]
        self._accept(step, params)
        if self._conversation.answer_of(step) is None:
            error = {"code": _INTERNAL_ERROR, "message": "the recording ends before the answer to this request"}
            self._enqueue(step, {"jsonrpc": "2.0", "id": message["id"], "error": error})

    async def _take_notification(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params")
        step = self._match("notification", method, params)
        if step is not None:
            self._accept(step, params)
        elif not method.startswith("$/"):
            self.report.unrecorded(CLIENT, method, "the recorded client did not send it")

    def _take_answer(self, message: dict[str, Any]) -> None:
        request = self._asked.pop(id_key(message.get("id")), None)
        if request is None:
            self.report.unrecorded(CLIENT, "an answer", "it answers no request of the agent")
            return
        recorded = self._conversation.answer_of(request)
        if recorded is not None:
            self._accept(recorded, {key: message[key] for key in ("result", "error") if key in message})

    def _accept(self, step: RecordedStep, live: Any) -> None:
        """Mark a recorded message of the client as received, and queue the messages that it causes."""
        self._matched.add(step.index)
        self._ids.learn(step.body, live)
        if step.kind == "request":
            learn_root(self._ids, step.body, live)
        self.report.found(step, differences(step.body, self._ids.recorded(live), self._ignore))
        for effect in self._effects[step.index]:
            self._enqueue(effect)

    def _match(self, kind: str, method: str, params: Any) -> RecordedStep | None:
        """The recorded message that a live one is: the first of its method and session, an equal one before others."""
        found = [
            step
            for step in self._conversation.of_side(CLIENT)
            if step.kind == kind and step.method == method and step.index not in self._matched
        ]
        live_session = session_of(params)
        session = self._ids.recorded_session(live_session)
        in_session = [step for step in found if step.session == session]
        if live_session and not in_session and not self._ids.knows_session(live_session):
            # An id of the client's own: `session/load` of something else.
            in_session = [step for step in found if step.session]
        equal = [step for step in in_session if not differences(step.body, self._ids.recorded(params), self._ignore)]
        return next(iter(equal or in_session), None)

    async def _answer_unrecorded(self, message: dict[str, Any]) -> None:
        """Answer a request that was not recorded, or not so often."""
        method, params, id_ = message["method"], message.get("params"), message["id"]
        same = [step for step in self._conversation.of_side(CLIENT, "request") if step.method == method]
        session = self._ids.recorded_session(session_of(params))
        answered = [step for step in same if step.partner is not None]
        nearest = next((step for step in reversed(answered) if step.session == session), None)
        nearest = nearest or (answered[-1] if answered else None)
        if nearest is None:
            self.report.unrecorded(CLIENT, method, "the recording has no such request; answered with -32601")
            error = {"code": _METHOD_NOT_FOUND, "message": "Method not found", "data": {"method": method}}
            await self._send({"jsonrpc": "2.0", "id": id_, "error": error})
            return
        self.report.unrecorded(CLIENT, method, f"one more than recorded; answered as #{nearest.index + 1}")
        answer = self._conversation.answer_of(nearest)
        if answer is None or answer.value is None:
            return
        self._ids.learn(nearest.body, params)
        for step in self._conversation.turn_of(nearest):
            if step is answer:
                body = self._renamed(method, self._ids.live(answer.body))
                self._enqueue(step, {"jsonrpc": "2.0", "id": id_, **body})
            # The client expects the updates of a turn too, not its answer alone.
            elif step.kind == "notification" and step.session == nearest.session != "":
                self._enqueue(step, self._ids.live(step.value))

    def _renamed(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to a further `session/new` names a session of its own."""
        result = body.get("result")
        if method != "session/new" or not isinstance(result, dict) or not isinstance(result.get("sessionId"), str):
            return body
        self._copies += 1
        copy = f"{result['sessionId']}-{self._copies + 1}"
        self._ids.set("sessionId", self._ids.recorded_session(result["sessionId"]), copy)
        return {"result": {**result, "sessionId": copy}}

    def _enqueue(self, step: RecordedStep, message: Any = None) -> None:
        self._queue.put_nowait((step, message))

    async def _play(self) -> None:
        while True:
            self._is_working = False
            step, message = await self._queue.get()
            self._is_working = True
            if message is None and step.index in self._sent:
                continue
            await self._pace.before(step, self._conversation)
            try:
                await (self._send_step(step) if message is None else self._send(message))
            except TransportError:
                return  # `serve` sees the end too

    async def _send_step(self, step: RecordedStep) -> None:
        """Send a recorded message of the agent."""
        self._sent.add(step.index)
        if step.value is None:
            await self._send_text(step.raw)
        elif step.kind == "notification":
            await self._send(self._ids.live(step.value))
        elif step.kind == "request":
            id_ = step.value["id"]
            while id_key(id_) in self._asked:
                id_ = f"{id_}-again"
            self._asked[id_key(id_)] = step
            await self._send({**self._ids.live(step.value), "id": id_})
        elif step.partner in self._live_ids:
            await self._send_earlier_updates(step)
            live = {"jsonrpc": "2.0", "id": self._live_ids[step.partner], **self._ids.live(step.body)}
            await self._send(live)

    async def _send_earlier_updates(self, answer: RecordedStep) -> None:
        """Notifications keep their place between a request and its answer, also if their own cause did not come."""
        for step in self._conversation.steps[answer.partner : answer.index]:
            belongs = step.source == AGENT and step.kind == "notification" and step.session == answer.session != ""
            if belongs and step.index not in self._sent:
                await self._send_step(step)

    async def _send(self, message: Any) -> None:
        await self._send_text(json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode())

    async def _send_text(self, text: bytes) -> None:
        self._last_activity = asyncio.get_running_loop().time()
        if self._link is not None and b"\n" not in text:
            await self._link.send(text)

    async def _watch(self) -> None:
        """Go on without a recorded message of the client that does not come, while the client waits for an answer."""
        loop = asyncio.get_running_loop()
        while True:
            idle_since = self._last_activity
            await asyncio.sleep(max(0.01, idle_since + self._patience_seconds - loop.time()))
            if self._last_activity != idle_since or self._is_working or self._asked:
                # A request of ours is open, perhaps a question to a person: it has no limit.
                self._last_activity = max(self._last_activity, loop.time() - self._patience_seconds / 2)
                continue
            self._last_activity = loop.time()
            for step in self._awaited():
                self._matched.add(step.index)
                self.report.missing(step, "the live client waits for an answer and did not send it")
                for effect in self._effects[step.index]:
                    self._enqueue(effect)

    def _awaited(self) -> list[RecordedStep]:
        """The recorded messages of the client that the live one seems not to send, though it waits.

        They stand between a live request and its answer, or are notifications in a turn that goes on after the answer.
        """
        steps = self._conversation.steps
        found: dict[int, RecordedStep] = {}
        for index in self._live_ids:
            answer = steps[index].partner
            if answer is not None and answer not in self._sent:
                found |= {step.index: step for step in steps[index + 1 : answer] if self._is_due(step, steps[index])}
        for session in {steps[index].session for index in self._matched} - {""}:
            last = max(index for index in self._matched if steps[index].session == session)
            due = [step for step in steps[last + 1 :] if self._is_due(step, steps[last])]
            if due and due[0].kind == "notification":
                found[due[0].index] = due[0]
        return list(found.values())

    def _is_due(self, step: RecordedStep, before: RecordedStep) -> bool:
        return step.source == CLIENT and step.session == before.session and step.index not in self._matched

    def _conclude(self) -> None:
        for step in self._conversation.of_side(CLIENT, "request", "notification"):
            if step.index not in self._matched and not step.method.startswith("$/"):
                self.report.missing(step, "the live client did not send it")


def learn_root(ids: IdMap, recorded: Any, live: Any) -> None:
    """The directory of a new session stands for the recorded one."""
    if isinstance(recorded, dict) and isinstance(live, dict):
        before, now = recorded.get("cwd"), live.get("cwd")
        if isinstance(before, str) and isinstance(now, str):
            ids.set_root(before, now)


def _effects_of(conversation: RecordedConversation) -> dict[int | None, list[RecordedStep]]:
    """The messages of the agent by the message of the client that causes them; None for those before all others."""
    effects: dict[int | None, list[RecordedStep]] = defaultdict(list)
    last: dict[str, int] = {}
    last_said: dict[str, int] = {}
    opened: dict[str, int] = {}
    for step in conversation.steps:
        if step.source == CLIENT:
            last[step.session] = step.index
            # The answer to one request does not depend on another request.
            if step.kind in {"response", "notification"}:
                last_said[step.session] = step.index
            continue
        if step.kind == "response" and step.partner is not None:
            session = session_of((step.value or {}).get("result"))
            if session and not step.session:
                opened.setdefault(session, step.partner)
            cause: int | None = max(step.partner, last_said.get(step.session, -1))
        else:
            cause = last.get(step.session, opened.get(step.session, last.get("")))
        effects[cause].append(step)
    return effects
