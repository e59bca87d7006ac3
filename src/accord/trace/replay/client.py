"""The recorded client, for a live agent.

The recorded client's messages are sent in their order, each when the answers before it have come. Requests of the live
agent are answered as the recorded client answered them; updates are collected and compared at the end.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from accord.errors import TransportError
from accord.time_scale import scaled
from accord.trace.format import AGENT, CLIENT
from accord.trace.replay.conversation import (
    Pace,
    RecordedConversation,
    RecordedStep,
    ends_turn,
    id_key,
    read_message,
    session_of,
)
from accord.trace.replay.report import Deviation, IdMap, ReplayReport, differences
from accord.transport.interface import Transport

__all__ = ["RecordedClient"]


ANSWER_SECONDS = scaled(60.0)
# The limit of the wait for an update: the live agent may never send it.
UPDATE_SECONDS = scaled(5.0)

_METHOD_NOT_FOUND = -32601


class RecordedClient:
    """Plays the client of a recording once, at one end of a transport; `cwd` stands for the recorded directory."""

    def __init__(
        self,
        conversation: RecordedConversation,
        *,
        speed: float = 0.0,
        ignore: Collection[str] = (),
        cwd: str | None = None,
        answer_seconds: float = ANSWER_SECONDS,
        update_seconds: float = UPDATE_SECONDS,
        report: ReplayReport | None = None,
    ) -> None:
        self.report = report or ReplayReport()
        self._conversation = conversation
        self._ignore = frozenset(ignore)
        self._pace = Pace(speed)
        self._answer_seconds = answer_seconds
        self._update_seconds = update_seconds
        self._ids = IdMap()
        if cwd is not None:
            self._ids.set_root(conversation.cwd, cwd)
        self._answers: dict[int, asyncio.Future[dict[str, Any] | None]] = {}
        self._matched: set[int] = set()
        self._updates: dict[str, list[Any]] = defaultdict(list)
        # How many updates a session had when the last request in it was sent.
        self._seen: dict[str, int] = defaultdict(int)
        self._arrived = asyncio.Event()

    async def play(self, transport: Transport) -> None:
        """Play all of it; the transport stays open.

        A message of the agent that does not come in time is a deviation, and so is everything behind a link that is
        lost or that the agent does not read.
        """
        receiver = asyncio.get_running_loop().create_task(self._receive(transport))
        try:
            for step in self._conversation.steps:
                if step.source == CLIENT:
                    await self._pace.before(step, self._conversation)
                    await self._send_step(step, transport)
                else:
                    await self._await(step)
        except TransportError as error:
            self.report.unrecorded(AGENT, "the link", f"it ended: {type(error).__name__}")
        except TimeoutError:
            self.report.unrecorded(AGENT, "the link", f"the agent read nothing for {self._answer_seconds:g} s")
        finally:
            receiver.cancel()
            await asyncio.gather(receiver, return_exceptions=True)
        self._conclude()

    async def _send_step(self, step: RecordedStep, transport: Transport) -> None:
        if step.value is None:
            if b"\n" not in step.raw and step.kind == "noise":
                await self._send(transport, step.raw)
            return
        if step.kind == "request":
            self._answers[step.index] = asyncio.get_running_loop().create_future()
            session = session_of(self._ids.live(step.value).get("params"))
            self._seen[session] = len(self._updates[session])
            # Our own ids: those of the recording may have been of any form, and repeat.
            await self._send(transport, _encoded({**self._ids.live(step.value), "id": step.index}))
        elif step.kind == "notification":
            await self._await_updates_before(step)
            await self._send(transport, _encoded(self._ids.live(step.value)))
        # An answer is sent when the live agent sends its request: see `_answer`.

    async def _send(self, transport: Transport, text: bytes) -> None:
        """Send a text; an agent that does not read is waited for as long as one that does not answer."""
        async with asyncio.timeout(self._answer_seconds):
            await transport.send(text)

    async def _await(self, step: RecordedStep) -> None:
        """Wait for a message that the recorded client had received before it sent its next one."""
        if step.kind == "response" and step.partner in self._answers:
            await self._await_answer(step, self._answers[step.partner])
        elif step.kind == "notification" and ends_turn(step.value):
            live = self._ids.live(step.value)
            session, state = session_of(live["params"]), live["params"]["update"]["state"]
            wanted = sum(ends_turn(each.value) and each.session == step.session for each in self._before(step)) + 1
            await self._until(lambda: sum(u.get("state") == state for u in self._updates[session]) >= wanted)

    def _before(self, step: RecordedStep) -> list[RecordedStep]:
        return [each for each in self._conversation.steps[: step.index] if each.source == AGENT]

    async def _await_answer(self, step: RecordedStep, answer: asyncio.Future[dict[str, Any] | None]) -> None:
        try:
            async with asyncio.timeout(self._answer_seconds):
                live = await asyncio.shield(answer)
        except TimeoutError:
            remark = f"no answer in {self._answer_seconds:g} s"
            self.report.add(Deviation("unanswered", AGENT, step.method, step.index + 1, (), remark))
            return
        self._matched.add(step.index)
        if live is None:
            self.report.missing(step, "the agent ended before it")
            return
        body = {key: live[key] for key in ("result", "error") if key in live}
        self._ids.learn(step.body, body)
        self.report.found(step, differences(step.body, self._ids.recorded(body), self._ignore))

    async def _await_updates_before(self, step: RecordedStep) -> None:
        """A cancellation comes into a running turn: at least one update is waited for, where there was one."""
        before = [each for each in self._before(step) if each.kind == "notification" and each.session == step.session]
        asked = [each.index for each in self._conversation.steps[: step.index] if each.kind == "request"]
        if before and asked and before[-1].index > asked[-1]:
            session = session_of(self._ids.live(step.value or {}).get("params"))
            await self._until(lambda: len(self._updates[session]) > self._seen[session])

    async def _until(self, holds: Any) -> None:
        try:
            async with asyncio.timeout(self._update_seconds):
                while not holds():
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            return  # the comparison of the updates reports the missing ones

    async def _receive(self, transport: Transport) -> None:
        try:
            while texts := await transport.receive():
                for text in texts:
                    await self._take(text, transport)
                self._arrived.set()
        finally:
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_result(None)

    async def _take(self, text: bytes, transport: Transport) -> None:
        remark = "it is no JSON-RPC message"
        try:
            message = read_message(text)
        except RecursionError:
            message, remark = None, "it is nested too deeply to be compared"
        if message is None:
            if text not in {step.raw for step in self._conversation.of_side(AGENT, "noise")}:
                self.report.unrecorded(AGENT, "a text", remark)
        elif not isinstance(message.get("method"), str):
            self._take_answer(message)
        elif "id" in message:
            await transport.send(_encoded({"jsonrpc": "2.0", "id": message["id"], **self._answer(message)}))
        elif message["method"] == "session/update" and isinstance(message.get("params"), dict):
            update = message["params"].get("update")
            self._updates[session_of(message["params"])].append(update if isinstance(update, dict) else {})

    def _take_answer(self, message: dict[str, Any]) -> None:
        id_ = message.get("id")
        answer = self._answers.get(id_) if isinstance(id_, int) else None
        if answer is None or answer.done():
            self.report.unrecorded(AGENT, f"an answer to {id_key(id_)}", "it answers no open request of the client")
        else:
            answer.set_result(message)

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """The recorded client's answer to a request of the agent, or to the nearest one of its method."""
        method, params = message["method"], message.get("params")
        session = self._ids.recorded_session(session_of(params))
        same = [
            step
            for step in self._conversation.of_side(AGENT, "request")
            if step.method == method and step.partner is not None
        ]
        fresh = [step for step in same if step.index not in self._matched and step.session == session]
        equal = [step for step in fresh if not differences(step.body, self._ids.recorded(params), self._ignore)]
        step = next(iter(equal or fresh or same[-1:]), None)
        if step is None:
            self.report.unrecorded(AGENT, method, "the recording has no such request; answered with -32601")
            return {"error": {"code": _METHOD_NOT_FOUND, "message": "Method not found", "data": {"method": method}}}
        if step.index in self._matched:
            self.report.unrecorded(AGENT, method, f"one more than recorded; answered as #{step.index + 1}")
        else:
            self._matched.add(step.index)
            self.report.found(step, differences(step.body, self._ids.recorded(params), self._ignore))
        self._ids.learn(step.body, params)
        recorded = self._conversation.answer_of(step)
        body = self._ids.live(recorded.body) if recorded is not None else {"result": {}}
        return {"result": _fitting(body["result"], step.body, params)} if "result" in body else body

    def _conclude(self) -> None:
        for step in self._conversation.of_side(AGENT, "request"):
            if step.index not in self._matched and step.partner is not None:
                self.report.missing(step, "the live agent did not ask it")
        compare_updates(self._conversation, self._updates, self._ids, self._ignore, self.report)


def _fitting(result: Any, recorded: Any, live: Any) -> Any:
    """The answer to a permission request, with an option that the live request has: the one of the same kind."""
    outcome = result.get("outcome") if isinstance(result, dict) else None
    if not isinstance(outcome, dict) or "optionId" not in outcome:
        return result
    offered = _options(live)
    if not offered or outcome["optionId"] in {option.get("optionId") for option in offered}:
        return result
    kinds = {option.get("optionId"): option.get("kind") for option in _options(recorded)}
    wanted = kinds.get(outcome["optionId"])
    chosen = next((option for option in offered if option.get("kind") == wanted), offered[0])
    return {**result, "outcome": {**outcome, "optionId": chosen.get("optionId")}}


def _options(params: Any) -> list[dict[str, Any]]:
    options = params.get("options") if isinstance(params, dict) else None
    return [each for each in options if isinstance(each, dict)] if isinstance(options, list) else []


def _encoded(message: Any) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def compare_updates(
    conversation: RecordedConversation,
    live: Mapping[str, Sequence[Any]],
    ids: IdMap,
    ignore: Collection[str],
    report: ReplayReport,
) -> None:
    """Report how the updates of each session differ from the recorded ones."""
    recorded: dict[str, list[Any]] = {ids.recorded_session(session): [] for session in live}
    for step in conversation.of_side(AGENT, "notification"):
        if step.method == "session/update" and isinstance(step.body, dict):
            recorded.setdefault(step.session, []).append(step.body.get("update"))
    by_recorded = {ids.recorded_session(session): ids.recorded(list(updates)) for session, updates in live.items()}
    for session, updates in recorded.items():
        _compare(joined_chunks(updates), joined_chunks(by_recorded.get(session, [])), ignore, report)


def joined_chunks(updates: Sequence[Any]) -> list[dict[str, Any]]:
    """The updates, with the chunks of one message that follow each other as one."""
    runs: list[tuple[dict[str, Any], list[str]]] = []
    """Each update, and the texts of the chunks that are one with it."""
    for update in updates:
        if not isinstance(update, dict):
            continue
        text = _text_of(update)
        if text is not None and runs and runs[-1][1] and _key(runs[-1][0]) == _key(update):
            runs[-1][1].append(text)
        else:
            runs.append((update, [] if text is None else [text]))
    # Joined once: a turn may have a hundred thousand chunks.
    return [
        {**update, "content": {**update["content"], "text": "".join(texts)}} if len(texts) > 1 else update
        for update, texts in runs
    ]


def _compare(
    recorded: list[dict[str, Any]], live: list[dict[str, Any]], ignore: Collection[str], report: ReplayReport
) -> None:
    matcher = SequenceMatcher(None, list(map(_key, recorded)), list(map(_key, live)), autojunk=False)
    for tag, left, left_end, right, right_end in matcher.get_opcodes():
        if tag == "equal":
            for before, after in zip(recorded[left:left_end], live[right:right_end], strict=True):
                report.matched += 1
                found = differences(before, after, ignore)
                if found:
                    report.add(Deviation("changed", AGENT, f"session/update {_key(before)}", None, tuple(found)))
            continue
        for update in recorded[left:left_end]:
            report.add(Deviation("missing", AGENT, f"session/update {_key(update)}"))
        for update in live[right:right_end]:
            report.add(Deviation("extra", AGENT, f"session/update {_key(update)}"))


def _key(update: dict[str, Any]) -> str:
    kind = str(update.get("sessionUpdate"))
    details = [str(update[key]) for key in ("status", "state") if isinstance(update.get(key), str)]
    return " ".join([kind, *details])


def _text_of(update: dict[str, Any]) -> str | None:
    content = update.get("content")
    if not str(update.get("sessionUpdate")).endswith("_chunk") or not isinstance(content, dict):
        return None
    text = content.get("text")
    return text if isinstance(text, str) else None
