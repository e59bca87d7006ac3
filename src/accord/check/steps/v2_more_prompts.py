"""Prompts of v2 that are refused, held, taken back and cancelled, and work that is stopped piece by piece."""

from __future__ import annotations

from typing import Any

from accord.check.case import reached
from accord.check.entry import Entry, is_answer, is_state, is_update
from accord.check.step import Notes, step
from accord.check.steps.v2_more_asking import (
    NOBODY,
    advertises,
    ask_all,
    first_option,
    heard,
    hold_on,
    is_alive,
    settle,
    settle_cancelled,
    wait_for_question,
)
from accord.check.steps.v2_more_sessions import SESSION
from accord.check.talk import Talk, text

__all__: list[str] = []

_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_BLOCKS: dict[str, dict[str, Any]] = {
    "image": {"type": "image", "data": _PIXEL, "mimeType": "image/png"},
    "audio": {"type": "audio", "data": "UklGRiQAAABXQVZF", "mimeType": "audio/wav"},
    "embeddedContext": {"type": "resource", "resource": {"uri": "file:///notes.txt", "text": "hello"}},
}


@step("bare", editions=("v2",), gate=SESSION)
async def v2_refused_prompts(talk: Talk) -> Notes:
    """Prompts that no agent can read; an empty one comes last."""
    session = await talk.new()
    since = talk.now
    words = text(talk.options.prompt)
    prompts: dict[str, list[Any]] = {
        "pigeons": [words, {"type": "_accord.check/pigeons"}],
        "bad": [{"type": "text"}],
    }
    for name, block in _BLOCKS.items():
        if not advertises(talk, f"prompt.{name}"):
            prompts[name] = [words, block]
    ids = {}
    for name, blocks in {**prompts, "empty": []}.items():
        place = talk.now
        ids[name] = talk.ask("session/prompt", {"sessionId": session, "prompt": blocks})
        answers = [each for each in await _answered(talk, ids[name]) if "result" in each]
        if answers:
            await settle(talk, session, place)
    return {"session": session, "since": since, "ids": ids}


async def _answered(talk: Talk, id_: Any) -> list[Any]:
    await heard(talk, id_)
    return [entry.message for entry in talk.wire.entries if not entry.sent and is_answer(entry.message, id_)]


@step("bare", editions=("v2",), gate=SESSION)
async def v2_lenient_prompt(talk: Talk) -> Notes:
    """A block whose annotations are not what they should be."""
    session = await talk.new()
    since = talk.now
    block = {**text(talk.options.prompt), "annotations": {"priority": "high", "audience": 7}}
    prompt = talk.prompt(session, block)
    if any("result" in answer for answer in await _answered(talk, prompt)):
        await settle(talk, session, since)
    return {"prompt": prompt}


@step("bare", editions=("v2",), gate=SESSION)
async def v2_prompts_in_order(talk: Talk) -> Notes:
    """Three prompts at once: at least two of them wait, where prompts wait."""
    session = await talk.new()
    since = talk.now
    ids = [talk.prompt(session, talk.options.prompt) for _ in range(3)]
    for id_ in ids:
        answer = await talk.answer(id_, "ACP-PROMPT-201", 3 * talk.options.turn_seconds)
        if "result" in answer:
            await settle(talk, session, _place_of_message(talk, session, answer, since))
    return {"session": session, "since": since, "ids": ids}


def _place_of_message(talk: Talk, session: str, answer: dict[str, Any], since: int) -> int:
    """Where the message of a prompt was told, if it was."""
    message_id = answer["result"].get("messageId") if isinstance(answer["result"], dict) else None
    for entry in talk.wire.entries[since:]:
        is_echo = is_update(entry.message, session, "user_message", "user_message_chunk")
        if is_echo and entry.message["params"]["update"].get("messageId") == message_id:
            return entry.place
    return since


@step("bare", editions=("v2",), gate=SESSION)
async def v2_prompt_taken_back(talk: Talk) -> Notes:
    """A prompt behind work that goes on is taken back, and so is the one that began the work."""
    session = await talk.new()
    since = talk.now
    working = await talk.begin(session)
    await hold_on(talk, lambda entry: is_answer(entry.message, working), since, talk.options.timeout_seconds)
    answered_by = talk.now
    talk.notify("$/cancel_request", {"requestId": working})
    behind = talk.prompt(session, talk.options.prompt)
    await is_alive(talk)
    talk.notify("$/cancel_request", {"requestId": behind})
    await is_alive(talk)
    idle = await settle_cancelled(talk, session, since)
    await heard(talk, behind, working)
    return {"session": session, "working": working, "behind": behind, "answered_by": answered_by, "idle": idle}


@step("bare", editions=("v2",), gate=SESSION)
async def v2_prompts_and_cancel(talk: Talk) -> Notes:
    """A prompt behind work that is cancelled, and one behind the cancellation."""
    session = await talk.new()
    working = await talk.begin(session)
    before = talk.prompt(session, talk.options.prompt)
    await is_alive(talk)
    cancelled = talk.notify("session/cancel", {"sessionId": session})
    after = talk.prompt(session, talk.options.prompt)
    await heard(talk, before, working, after)

    def has_ended(entry: Entry) -> bool:
        message = entry.message
        return is_state(message, session, "idle") and message["params"]["update"].get("stopReason") != "cancelled"

    if any("result" in answer for answer in await _answered(talk, after)):
        await hold_on(talk, has_ended, cancelled)
    return {"session": session, "before": before, "after": after, "cancelled": cancelled}


@step("bare", editions=("v2",), gate=SESSION)
async def v2_cancelled_question(talk: Talk) -> Notes:
    """Work is cancelled while it waits for a permission, which is given when it is too late."""
    session = await talk.new()
    since = talk.now
    with talk.replying(session__request_permission=lambda _: None):
        prompt = talk.prompt(session, talk.options.tool_prompt or talk.options.prompt)
        asked = await wait_for_question(talk, "session/request_permission", session, since, prompt)
        if asked is None:
            await heard(talk, prompt)
            return {"session": session}
        cancelled = talk.notify("session/cancel", {"sessionId": session})
        idle = await settle(talk, session, cancelled)
        outcome = {"outcome": {"outcome": "selected", "optionId": first_option(asked.message)}}
        late = talk.wire.say({"jsonrpc": "2.0", "id": asked.message["id"], "result": outcome})
        await is_alive(talk)
        await is_alive(talk)
    return {"session": session, "asked": asked, "cancelled": cancelled, "idle": idle, "late": late}


@step("bare", editions=("v2",), gate=SESSION)
async def v2_same_ids(talk: Talk) -> Notes:
    """While the agent waits for a permission, a request has the id of its question."""
    session = await talk.new()
    since = talk.now
    with talk.replying(session__request_permission=lambda _: None):
        prompt = talk.prompt(session, talk.options.tool_prompt or talk.options.prompt)
        asked = await wait_for_question(talk, "session/request_permission", session, since, prompt)
        if asked is None:
            await heard(talk, prompt)
            return {"session": session}
        id_ = asked.message["id"]
        place = talk.wire.say({"jsonrpc": "2.0", "id": id_, "method": "session/close", "params": {"sessionId": NOBODY}})
        await heard(talk, id_)
        talk.notify("session/cancel", {"sessionId": session})
        idle = await settle(talk, session, place)
    return {"session": session, "id": id_, "place": place, "asked": asked, "idle": idle}


@step("bare", editions=("v2",), gate=SESSION)
async def v2_strange_choice(talk: Talk) -> Notes:
    """The answer to a permission chooses an option that was never offered."""
    session = await talk.new()
    since = talk.now
    outcome = {"outcome": {"outcome": "selected", "optionId": "accord-check-never-offered"}}
    with talk.replying(session__request_permission=lambda _: outcome):
        await talk.turn(session, talk.options.tool_prompt or talk.options.prompt)
    return {"session": session, "since": since}


@step("bare", editions=("v2",), gate=SESSION)
async def v2_finished_things(talk: Talk) -> Notes:
    """After a turn its tool calls and terminals are cancelled, and some that never were."""
    session = await talk.new()
    since = talk.now
    await talk.turn(session, talk.options.tool_prompt or talk.options.prompt)
    named = {"sessionId": session}
    ids = await ask_all(
        talk,
        no_tool=("tool_call/cancel", {**named, "toolCallId": NOBODY}),
        no_terminal=("terminal/cancel", {**named, "terminalId": NOBODY}),
    )
    tool, terminal = _last_id(talk, since, session, "toolCallId"), _last_id(talk, since, session, "terminalId")
    if tool:
        ids |= await ask_all(talk, tool=("tool_call/cancel", {**named, "toolCallId": tool}))
    if terminal:
        ids |= await ask_all(talk, terminal=("terminal/cancel", {**named, "terminalId": terminal}))
    return {"session": session, "tool_id": tool, "terminal_id": terminal, **ids}


def _last_id(talk: Talk, since: int, session: str, field: str) -> Any:
    """The id of the last tool call or terminal of a session that has ended."""
    for entry in reversed(talk.wire.entries[since:]):
        if is_update(entry.message, session):
            id_ = entry.message["params"]["update"].get(field)
            if isinstance(id_, str) and _has_ended(entry, session, id_):
                return id_
    return None


@step("bare", editions=("v2",), gate=SESSION)
async def v2_stopped_alone(talk: Talk) -> Notes:
    """In work that goes on, a tool call and a terminal are cancelled that say that they can be."""
    session = await talk.new()
    since = talk.now
    working = await talk.begin(session)
    await heard(talk, working)
    await is_alive(talk)
    notes: Notes = {"session": session}
    for field, kind, method in (
        ("toolCallId", "tool_call_update", "tool_call/cancel"),
        ("terminalId", "terminal_update", "terminal/cancel"),
    ):
        can = _cancellable(talk, since, session, kind, field)
        if can:
            place = talk.now
            ids = await ask_all(talk, **{field: (method, {"sessionId": session, field: can})})
            await hold_on(talk, lambda entry: _has_ended(entry, session, can), place, talk.options.timeout_seconds)  # noqa: B023
            notes |= {**ids, f"{field} id": can}
    await settle_cancelled(talk, session, since)
    return notes


def _cancellable(talk: Talk, since: int, session: str, kind: str, field: str) -> Any:
    """What says last that it can be cancelled."""
    can: dict[str, bool] = {}
    for entry in talk.wire.entries[since:]:
        if is_update(entry.message, session, kind):
            update = entry.message["params"]["update"]
            if "capabilities" in update and isinstance(update.get(field), str):
                can[update[field]] = reached(update["capabilities"], "cancel")
    return next((id_ for id_, is_so in can.items() if is_so), None)


def _has_ended(entry: Entry, session: str, id_: str) -> bool:
    if not is_update(entry.message, session, "tool_call_update", "terminal_update"):
        return False
    update = entry.message["params"]["update"]
    ended = update.get("status") in ("completed", "failed", "cancelled") or update.get("exitStatus") is not None
    return id_ in (update.get("toolCallId"), update.get("terminalId")) and ended
