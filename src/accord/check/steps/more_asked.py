"""How a client answers what an agent asks in a turn: yes, no, with errors, not at all; and what it offers in part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accord.check.entry import Entry, is_answer, is_request
from accord.check.rule import EditionName
from accord.check.step import Notes, step
from accord.check.steps.more_turns import answered_turn
from accord.check.talk import BARE, StepFailed, Talk
from accord.check.terminals import Terminals
from accord.check.wire import Refusal, Reply, Silence

__all__: list[str] = []

BOTH: tuple[EditionName, ...] = ("v1", "v2_june")


def _words(talk: Talk) -> str:
    return talk.options.tool_prompt or talk.options.prompt


def _choosing(*kinds: str) -> Reply:
    """Chooses the first option of one of some kinds; otherwise it dismisses the question."""

    def choose(params: Any) -> Any:
        options = params.get("options") if isinstance(params, dict) else None
        for option in options if isinstance(options, list) else []:
            if isinstance(option, dict) and option.get("kind") in kinds:
                return {"outcome": {"outcome": "selected", "optionId": option.get("optionId")}}
        return {"outcome": {"outcome": "cancelled"}}

    return choose


@step("able", editions=BOTH, order=30)
async def more_work(talk: Talk) -> Notes:
    """A turn of a client that says yes to everything; then the session is closed, if it can be."""
    session = await talk.new()
    since = talk.now
    yes = _choosing("allow_once", "allow_always")
    with talk.replying(session__request_permission=yes, **Terminals(exitCode=0).replies()):
        prompt = await answered_turn(talk, session, _words(talk), "ACCORD-PERM-003")
        await talk.is_alive()
        end = talk.now
        await _close(talk, session)
    return {"session": session, "prompt": prompt, "since": since, "end": end}


async def _close(talk: Talk, session: str) -> None:
    for entry in talk.wire.entries:
        result = entry.message.get("result") if isinstance(entry.message, dict) and not entry.sent else None
        if isinstance(result, dict) and "protocolVersion" in result:
            said = result.get("agentCapabilities", result.get("capabilities"))
            path = "sessionCapabilities" if talk.edition == "v1" else "session"
            markers = said.get(path) if isinstance(said, dict) else None
            if isinstance(markers, dict) and isinstance(markers.get("close"), dict):
                await talk.request("session/close", {"sessionId": session}, "ACP-CLOSE-001")
            return


@step("able", editions=BOTH, order=32)
async def more_rejecting(talk: Talk) -> Notes:
    """A turn of a client that rejects whatever it is asked to permit."""
    session = await talk.new()
    since = talk.now
    no = _choosing("reject_once", "reject_always")
    with talk.replying(session__request_permission=no, **Terminals(exitCode=0).replies()):
        prompt = await answered_turn(talk, session, _words(talk), "ACCORD-PERM-004")
        await talk.is_alive()
    return {"session": session, "prompt": prompt, "since": since}


@step("able", editions=("v1",), order=34)
async def v1_more_refusing(talk: Talk) -> Notes:
    """A turn of a client that permits everything and then has no file and no terminal, and declines to say more."""
    session = await talk.new()
    since = talk.now
    missing = Refusal(-32002, "Resource not found")
    with talk.replying(
        session__request_permission=_choosing("allow_once", "allow_always"),
        fs__read_text_file=lambda _: missing,
        fs__write_text_file=lambda _: Refusal(-32603, "Internal error"),
        terminal__create=lambda _: Refusal(-32603, "Internal error"),
        elicitation__create=lambda _: {"action": "cancel"},
    ):
        prompt = await answered_turn(talk, session, _words(talk), "ACCORD-TOOL-003")
        await talk.is_alive()
    return {"session": session, "prompt": prompt, "since": since}


async def _cancelled_when(talk: Talk, holds: Callable[[Entry], bool], rule: str) -> Notes:
    """A turn that is cancelled when the agent waits for us; it may also end without ever doing so."""
    session = await talk.new()
    since = talk.now
    prompt = talk.prompt(session, _words(talk))
    bound = talk.options.turn_seconds
    entry = await talk.until(
        lambda entry: holds(entry) or is_answer(entry.message, prompt),
        since,
        "it neither asked nor ended its turn",
        talk.turn_rule(""),
        bound,
    )
    notes: Notes = {"session": session, "prompt": prompt, "since": since, "asked": None}
    if not holds(entry):
        return notes
    place = talk.notify("session/cancel", {"sessionId": session})
    if is_request(entry.message, "session/request_permission"):
        answer = {"outcome": {"outcome": "cancelled"}}
        talk.wire.say({"jsonrpc": "2.0", "id": entry.message["id"], "result": answer})
    await talk.answer(prompt, rule, talk.options.turn_seconds)
    await talk.is_alive()
    return {**notes, "asked": entry.place, "cancel": place}


@step("able", editions=BOTH, order=36)
async def more_cancel_in_permission(talk: Talk) -> Notes:
    """A turn that is cancelled while a permission is open, which is then answered as it has to be."""
    with talk.replying(session__request_permission=lambda _: None, **Terminals(exitCode=0).replies()):
        return await _cancelled_when(
            talk, lambda entry: is_request(entry.message, "session/request_permission"), "ACCORD-PERM-005"
        )


@step("able", editions=("v1",), order=38)
async def v1_more_cancel_in_terminal(talk: Talk) -> Notes:
    """A turn that is cancelled while a command runs that ends only when it is killed."""
    with talk.replying(session__request_permission=_choosing("allow_once", "allow_always"), **Terminals().replies()):
        return await _cancelled_when(
            talk,
            lambda entry: is_request(entry.message, "terminal/wait_for_exit", "terminal/output"),
            "ACCORD-TERMINAL-005",
        )


async def _offering(talk: Talk, offered: dict[str, Any]) -> Notes:
    initialize = talk.ask("initialize", {**BARE["v1"], "clientCapabilities": offered})
    try:
        talk.initialized = (await talk.wire.answer(initialize, talk.options.start_seconds)).get("result") or {}
    except Silence as silence:
        raise StepFailed(str(silence), "ACP-INIT-001") from None
    if talk.options.auth_method:
        await talk.log_in()
    session = await talk.new()
    yes = _choosing("allow_once", "allow_always")
    with talk.replying(session__request_permission=yes, **Terminals(exitCode=0).replies()):
        prompt = await answered_turn(talk, session, _words(talk), "ACCORD-OFFER-001")
    await talk.is_alive()
    return {"session": session, "prompt": prompt}


@step("own", editions=("v1",))
async def v1_more_reads_only(talk: Talk) -> Notes:
    """A turn of a client that offers to read files and to show forms, and nothing else."""
    return await _offering(talk, {"fs": {"readTextFile": True, "writeTextFile": False}, "elicitation": {"form": {}}})


@step("own", editions=("v1",))
async def v1_more_writes_only(talk: Talk) -> Notes:
    """A turn of a client that offers to write files, terminals and to open pages, and nothing else."""
    return await _offering(
        talk, {"fs": {"readTextFile": False, "writeTextFile": True}, "terminal": True, "elicitation": {"url": {}}}
    )
