"""Sessions of v2 that are refused, resumed, listed, closed and deleted, and options that are set wrongly."""

from __future__ import annotations

from typing import Any

from accord.check.rule import EditionName
from accord.check.settings import Setting, settings_in
from accord.check.step import Notes, step
from accord.check.steps.v2_more_asking import NOBODY, advertises, ask_all, heard, is_alive
from accord.check.talk import Talk, text
from accord.check.wire import Silence

__all__: list[str] = []

SESSION: dict[EditionName, str] = {"v2": "initialize.capabilities.session"}
_MOST_PAGES = 30
_NO_VALUE = "accord-check-no-such-value"
_SERVERS: dict[str, dict[str, Any]] = {
    "stdio": {"type": "stdio", "name": "accord-check", "command": "/bin/false", "args": [], "env": []},
    "http": {"type": "http", "name": "accord-check", "url": "http://127.0.0.1:9/", "headers": []},
}


@step("bare", editions=("v2",), gate=SESSION)
async def v2_refused_sessions(talk: Talk) -> Notes:
    """Sessions that must not be, and one with null in the place of lists."""
    unknown = {"type": "_accord.check/pigeons", "name": "accord-check"}
    ids = await ask_all(
        talk,
        relative=("session/new", {"cwd": "somewhere/else"}),
        nowhere=("session/new", {"mcpServers": []}),
        nulls=("session/new", {"cwd": talk.cwd, "mcpServers": None, "additionalDirectories": None}),
        pigeons=("session/new", {"cwd": talk.cwd, "mcpServers": [unknown]}),
    )
    for name, server in _SERVERS.items():
        if not advertises(talk, f"mcp.{name}"):
            ids |= await ask_all(talk, **{name: ("session/new", {"cwd": talk.cwd, "mcpServers": [server]})})
    return ids


@step("bare", editions=("v2",), gate={"v2": "initialize.capabilities.session.additionalDirectories"})
async def v2_relative_root(talk: Talk) -> Notes:
    """A session with an extra directory that is relative."""
    params = {"cwd": talk.cwd, "mcpServers": [], "additionalDirectories": ["somewhere/else"]}
    return await ask_all(talk, new=("session/new", params))


@step("bare", editions=("v2",), gate=SESSION)
async def v2_unknown_sessions(talk: Talk) -> Notes:
    """A session that never was is prompted, resumed and closed."""
    named = {"sessionId": NOBODY}
    return await ask_all(
        talk,
        prompt=("session/prompt", {**named, "prompt": [text(talk.options.prompt)]}),
        resume=("session/resume", {**named, "cwd": talk.cwd, "mcpServers": []}),
        close=("session/close", named),
    )


@step("bare", editions=("v2",), gate=SESSION)
async def v2_resumes(talk: Talk) -> Notes:
    """A session with a turn is closed, and resumed in several ways."""
    session = await talk.new()
    began = talk.now
    await talk.turn(session, talk.options.tool_prompt or talk.options.prompt)
    ended = talk.now
    named = {"sessionId": session, "cwd": talk.cwd, "mcpServers": []}
    ids: dict[str, Any] = {}
    for name, more in (
        ("plain", {}),
        ("start", {"replayFrom": {"type": "start"}}),
        ("unknown", {"replayFrom": {"type": "_accord.check/yesterday"}}),
        ("malformed", {"replayFrom": "start"}),
        ("elsewhere", {"cwd": str(talk.folder.parent)}),
    ):
        await heard(talk, talk.ask("session/close", {"sessionId": session}))
        ids |= await ask_all(talk, **{name: ("session/resume", {**named, **more})})
    await heard(talk, talk.ask("session/close", {"sessionId": session}))
    return {"session": session, "began": began, "ended": ended, **ids}


# Nobody else makes sessions by then, which could move others from one page to the next.
@step("again", editions=("v2",), gate=SESSION)
async def v2_lists(talk: Talk) -> Notes:
    """All pages of the list; and the first without params, with null for them, and a page that never was."""
    pages = []
    params: dict[str, Any] = {}
    for _ in range(_MOST_PAGES):
        pages.append(talk.ask("session/list", params))
        cursor = await _next_cursor(talk, pages[-1])
        if cursor is None:
            break
        params = {"cursor": cursor}
    absent = "accord-check-absent-params"
    talk.wire.say({"jsonrpc": "2.0", "id": absent, "method": "session/list"})
    await heard(talk, absent)
    ids = await ask_all(
        talk, null=("session/list", None), strange=("session/list", {"cursor": "accord-check-no-such-page"})
    )
    return {"pages": pages, "has_more": cursor is not None, "absent": absent, **ids}


async def _next_cursor(talk: Talk, id_: Any) -> Any:
    try:
        result = (await talk.wire.answer(id_, talk.options.timeout_seconds)).get("result")
    except Silence:
        return None
    return result.get("nextCursor") if isinstance(result, dict) else None


@step("bare", editions=("v2",), gate=SESSION)
async def v2_closes(talk: Talk) -> Notes:
    """A session with work and a prompt behind it is closed, prompted, and closed again."""
    session = await talk.new()
    working = await talk.begin(session)
    behind = talk.prompt(session, talk.options.prompt)
    await is_alive(talk)
    named = {"sessionId": session}
    close = talk.ask("session/close", named)
    await heard(talk, close, behind, working)
    await is_alive(talk)
    ids = await ask_all(
        talk,
        prompt=("session/prompt", {**named, "prompt": [text(talk.options.prompt)]}),
        again=("session/close", named),
    )
    return {"session": session, "close": close, "behind": behind, "working": working, **ids}


@step("bare", editions=("v2",), gate={"v2": "initialize.capabilities.session.delete"})
async def v2_deletes(talk: Talk) -> Notes:
    """A session is deleted, and resumed nevertheless."""
    session = await talk.new()
    named = {"sessionId": session}
    return await ask_all(
        talk,
        close=("session/close", named),
        delete=("session/delete", named),
        resume=("session/resume", {**named, "cwd": talk.cwd, "mcpServers": []}),
    )


@step("bare", editions=("v2",), gate={"v2": "new.configOptions"})
async def v2_wrong_options(talk: Talk) -> Notes:
    """An unknown option, an unknown value and one of an unknown type; then a value that is set already."""
    new = talk.ask("session/new", {"cwd": talk.cwd, "mcpServers": []})
    result = (await talk.answer(new, "ACP-SESSION-001")).get("result")
    named = {"sessionId": result.get("sessionId") if isinstance(result, dict) else None}
    selects = _selects(talk, result)
    unknown = {"configId": "accord-check-no-such-option", "type": "id", "value": "x"}
    ids = await ask_all(talk, option=("session/set_config_option", {**named, **unknown}))
    if not selects:
        return {"new": new, **ids}
    # What was changed by a refused request would be put right by setting the same option.
    last = {**named, "configId": selects[-1].key.id, "type": "id", "value": selects[-1].value}
    named |= {"configId": selects[0].key.id}
    ids |= await ask_all(
        talk,
        value=("session/set_config_option", {**named, "type": "id", "value": _NO_VALUE}),
        type=("session/set_config_option", {**named, "type": "_accord.check/colour", "value": "#fff"}),
        same=("session/set_config_option", last),
    )
    return {"new": new, **ids}


def _selects(talk: Talk, result: Any) -> list[Setting]:
    """The options of a new session with values to choose from, but for those that are to be left alone."""
    if talk.ledger is None:
        return []
    found = [each for each in settings_in(result) if each.key.kind == "option" and isinstance(each.value, str)]
    return [setting for setting in found if not talk.ledger.why_not(setting, _NO_VALUE)]
