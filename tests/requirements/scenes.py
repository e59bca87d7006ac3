"""What clients do with an agent, one scene per process; the notes name what the rules look at afterwards.

Every scene goes on to the end of the process, so that also what is said too late is heard.
"""

from __future__ import annotations

import sys
from typing import Any

from tests.requirements.talk import BARE, Talk

__all__ = [
    "additional_directories",
    "bad_lines",
    "cancel",
    "cancel_with_meta",
    "closing",
    "deleting",
    "keep",
    "listing",
    "load",
    "load_after_restart",
    "logging_in",
    "mcp_servers",
    "meet_able",
    "options",
    "oversized_version",
    "prompt_blocks",
    "resume",
    "resume_after_restart",
    "sessions",
    "strange_outcome",
    "strange_requests",
    "turns",
    "two_prompts",
    "unanswered_permission",
    "unknown_session",
    "version_one",
]

Notes = dict[str, Any]
IDS = (7, "seven", 0, "", -3, 2**53)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
LINK = {"type": "resource_link", "uri": "file:///notes.txt", "name": "notes.txt"}
TRACE = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}


# --- handshakes


async def oversized_version(talk: Talk) -> Notes:
    """A client from the far future."""
    probe = await talk.ask("initialize", {**BARE[talk.edition], "protocolVersion": 65535})
    await talk.answer(probe)
    return {"probe": probe}


async def version_one(talk: Talk) -> Notes:
    """A client with the shape of this edition that asks for version 1."""
    probe = await talk.ask("initialize", {**BARE[talk.edition], "protocolVersion": 1})
    await talk.answer(probe)
    return {"probe": probe}


async def strange_requests(talk: Talk) -> Notes:
    """Ids of every kind, methods that nobody has, notifications that nobody takes, and a request that is wrong."""
    await talk.shake_hands()
    for id_ in IDS:
        await talk.request("_example.com/unknown", {"a": 1}, id_)
    unknown = await talk.ask("nonsense/method", {})
    await talk.answer(unknown)
    for method in ("_example.com/unknown", "_example.com/note", "nonsense/note", "$/nonsense"):
        await talk.notify(method, {"a": 1})
    await talk.notify("session/cancel", {"sessionId": "nobody"})
    wrong = await talk.ask("session/new", {"cwd": 5, "mcpServers": "none"})
    await talk.answer(wrong)
    relative = await talk.ask("session/new", {"cwd": "here", "mcpServers": []})
    await talk.answer(relative)
    return {"unknown": unknown, "wrong": [wrong, relative], "after": await talk.new(), "alive": await talk.is_alive()}


async def bad_lines(talk: Talk) -> Notes:
    """Lines that are no JSON and JSON that is no message, each followed by a sign of life."""
    await talk.shake_hands()
    reactions: dict[str, list[str]] = {}
    for name, line in (
        ("no JSON", b"this is not JSON"),
        ("half an object", b'{"jsonrpc": "2.0", "id": 1'),
        ("no UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}'),
        ("no JSON-RPC", b'{"hello":"world"}'),
        ("a number", b"42"),
        ("no version", b'{"id":77,"method":"_example.com/unknown"}'),
        ("a broken array", b'[{"jsonrpc":"2.0","id":78,"method":"_example.com/unknown"},'),
    ):
        since = await talk.wire.send(line)
        assert await talk.is_alive(), name
        reactions[name] = [entry.raw.decode() for entry in talk.wire.entries[since:] if not entry.sent][:-1]
    return {"reactions": reactions, "alive": await talk.is_alive()}


async def sessions(talk: Talk) -> Notes:
    """A client that offers nothing opens two sessions."""
    initialize = await talk.ask("initialize", BARE[talk.edition])
    await talk.answer(initialize)
    new = []
    servers: Notes = {"mcpServers": []}
    without = servers if talk.edition == "v1" else {}
    for given in (servers, without):
        new.append(await talk.ask("session/new", {"cwd": talk.cwd, **given}))
        await talk.answer(new[-1])
    return {"initialize": initialize, "new": new, "alive": await talk.is_alive()}


async def meet_able(talk: Talk) -> Notes:
    """A client that offers everything: its whole handshake, a session, a turn."""
    initialized = await talk.shake_hands(able=True)
    new = await talk.ask("session/new", {"cwd": talk.cwd, "mcpServers": []})
    session = (await talk.answer(new))["result"]["sessionId"]
    prompt = await talk.turn(session, "Hello")
    return {"initialized": initialized["result"], "new": new, "session": session, "prompt": prompt}


async def logging_in(talk: Talk) -> Notes:
    """Without a login, with one, and after it was given up; by the first method that can be called."""
    initialized = await talk.shake_hands()
    methods = initialized["result"]["authMethods"]
    method = next(each for each in methods if each.get("type", "agent") == "agent")
    login, logout = ("auth/login", "auth/logout") if talk.edition == "v2" else ("authenticate", "logout")
    notes: Notes = {}
    for name, asked, params in (
        ("before", "session/new", {"cwd": talk.cwd, "mcpServers": []}),
        ("login", login, {"methodId": method.get("methodId", method.get("id"))}),
        ("between", "session/new", {"cwd": talk.cwd, "mcpServers": []}),
        ("logout", logout, {}),
        ("after", "session/new", {"cwd": talk.cwd, "mcpServers": []}),
    ):
        notes[name] = await talk.ask(asked, params)
        await talk.answer(notes[name])
    return notes


# --- turns


async def turns(talk: Talk) -> Notes:
    """Three prompts: with text, with a link, with metadata."""
    await talk.shake_hands()
    session = await talk.new()
    words = await talk.turn(session, "Hello, äöü 🎼")
    link = await talk.turn(session, "Look at this", LINK)
    meta = await talk.turn(session, "Trace me", _meta=TRACE)
    return {"session": session, "words": words, "link": link, "meta": meta, "alive": await talk.is_alive()}


async def prompt_blocks(talk: Talk) -> Notes:
    """A turn for each kind of block that an agent may accept."""
    await talk.shake_hands()
    session = await talk.new()
    resource = {"uri": "file:///notes.txt", "mimeType": "text/plain", "text": "milk"}
    return {
        "session": session,
        "image": await talk.turn(session, "See", {"type": "image", "mimeType": "image/png", "data": PIXEL}),
        "audio": await talk.turn(session, "Hear", {"type": "audio", "mimeType": "audio/wav", "data": SILENCE}),
        "resource": await talk.turn(session, "Read", {"type": "resource", "resource": resource}),
    }


async def _cancelled(talk: Talk, **params: Any) -> Notes:
    await talk.shake_hands()
    session = await talk.new()
    since = len(talk.wire.entries)
    prompt = await talk.hang(session)
    await talk.notify("session/cancel", {"sessionId": session, **params})
    cancel = len(talk.wire.entries) - 1
    await talk.end_of_turn(session, prompt, since)
    return {"session": session, "prompt": prompt, "cancel": cancel, "alive": await talk.is_alive()}


async def cancel(talk: Talk) -> Notes:
    """A turn that is cancelled while its handler works; the session is left alone after that."""
    return await _cancelled(talk)


async def cancel_with_meta(talk: Talk) -> Notes:
    """The same with metadata beside the session's id; another turn shows that the session goes on."""
    notes = await _cancelled(talk, _meta=TRACE)
    return {**notes, "next": await talk.turn(notes["session"], "Hello again")}


async def unanswered_permission(talk: Talk) -> Notes:
    """A turn that is cancelled while the agent waits for a permission, if it asks for one; then idle is cancelled."""
    talk.wire.replies["session/request_permission"] = lambda _: None
    await talk.shake_hands()
    session = await talk.new()
    since = len(talk.wire.entries)
    prompt = await talk.prompt(session, "__hang__")
    asked = b'"session/request_permission"'
    await talk.until(
        lambda entry: asked in entry.raw or (b"__hang__" in entry.raw and b"agent_message" in entry.raw), since
    )
    await talk.notify("session/cancel", {"sessionId": session})
    await talk.end_of_turn(session, prompt, since)
    await talk.notify("session/cancel", {"sessionId": session})
    return {"session": session, "prompt": prompt, "alive": await talk.is_alive()}


async def strange_outcome(talk: Talk) -> Notes:
    """A client that answers a permission question with a word of its own."""
    talk.wire.replies["session/request_permission"] = lambda _: {"outcome": {"outcome": "_later", "when": "tomorrow"}}
    await talk.shake_hands()
    session = await talk.new()
    return {"session": session, "prompt": await talk.turn(session, "Hello"), "alive": await talk.is_alive()}


async def two_prompts(talk: Talk) -> Notes:
    """A second prompt before the first one ended."""
    await talk.shake_hands()
    session = await talk.new()
    since = len(talk.wire.entries)
    first = await talk.hang(session)
    second = await talk.prompt(session, "And this")
    await talk.notify("session/cancel", {"sessionId": session})
    await talk.end_of_turn(session, first, since)
    await talk.answer(second)
    return {"session": session, "first": first, "second": second, "alive": await talk.is_alive()}


async def unknown_session(talk: Talk) -> Notes:
    """A prompt and a cancellation for a session that is not there."""
    await talk.shake_hands()
    prompt = await talk.prompt("nobody", "Hello")
    await talk.answer(prompt)
    await talk.notify("session/cancel", {"sessionId": "nobody"})
    return {"prompt": prompt, "alive": await talk.is_alive()}


# --- sessions from before


async def keep(talk: Talk) -> Notes:
    """A session with a turn and an empty one, left behind."""
    await talk.shake_hands()
    session = await talk.new()
    prompt = await talk.turn(session, "Remember me")
    return {"session": session, "prompt": await talk.answer(prompt), "empty": await talk.new()}


async def load(talk: Talk) -> Notes:
    """A session is loaded while it is open."""
    await talk.shake_hands()
    session = await talk.new()
    await talk.turn(session, "Remember me")
    return await _loaded(talk, session)


async def load_after_restart(talk: Talk) -> Notes:
    """Two sessions of another process are loaded: one without a turn, then one with."""
    await talk.shake_hands()
    empty = await _loaded(talk, talk.before["empty"])
    return {"empty": empty["load"], **await _loaded(talk, talk.before["session"])}


async def _loaded(talk: Talk, session: str) -> Notes:
    load_ = await talk.ask("session/load", {"sessionId": session, "cwd": talk.cwd, "mcpServers": []})
    await talk.answer(load_)
    return {"session": session, "load": load_, "alive": await talk.is_alive()}


async def resume(talk: Talk) -> Notes:
    """A session is resumed while it is open, in every way that the edition has."""
    await talk.shake_hands()
    session = await talk.new()
    prompt = await talk.answer(await talk.turn(session, "Remember me"))
    return {"prompt": prompt, **await _resumed(talk, session)}


async def resume_after_restart(talk: Talk) -> Notes:
    """Two sessions of another process are resumed: one without a turn, then one with."""
    await talk.shake_hands()
    empty = await _resumed(talk, talk.before["empty"])
    notes = {"empty": empty["plain"], "prompt": talk.before["prompt"]}
    return {**notes, **await _resumed(talk, talk.before["session"])}


async def _resumed(talk: Talk, session: str) -> Notes:
    params: Notes = {"sessionId": session, "cwd": talk.cwd}
    plain = await talk.ask("session/resume", params)
    await talk.answer(plain)
    notes = {"session": session, "plain": plain, "alive": await talk.is_alive()}
    if talk.edition == "v2":
        notes["replayed"] = await talk.ask("session/resume", {**params, "replayFrom": {"type": "start"}})
        await talk.answer(notes["replayed"])
        notes["alive"] = await talk.is_alive()
    return notes


async def listing(talk: Talk) -> Notes:
    """Sessions in two folders; all of them, those of one folder, and those of a folder without any."""
    await talk.shake_hands()
    other = talk.folder / "other"
    other.mkdir()
    here, there = await talk.new(), await talk.new(cwd=str(other))
    notes: Notes = {"here": here, "there": there, "other": str(other)}
    unused = str(talk.folder / "unused")
    for name, params in (("all", {}), ("some", {"cwd": str(other)}), ("none", {"cwd": unused})):
        notes[name] = await talk.ask("session/list", params)
        await talk.answer(notes[name])
    return notes


async def deleting(talk: Talk) -> Notes:
    """A session is deleted, and again, and one that never was."""
    await talk.shake_hands()
    session = await talk.new()
    await talk.turn(session, "Forget me")
    notes: Notes = {"session": session}
    for name, method, params in (
        ("delete", "session/delete", {"sessionId": session}),
        ("list", "session/list", {}),
        ("again", "session/delete", {"sessionId": session}),
        ("unknown", "session/delete", {"sessionId": "nobody"}),
    ):
        notes[name] = await talk.ask(method, params)
        await talk.answer(notes[name])
    return notes


async def closing(talk: Talk) -> Notes:
    """An idle session is closed, then one that works."""
    await talk.shake_hands()
    idle = await talk.ask("session/close", {"sessionId": await talk.new()})
    await talk.answer(idle)
    session = await talk.new()
    prompt = await talk.hang(session)
    busy = await talk.ask("session/close", {"sessionId": session})
    await talk.answer(busy)
    await talk.answer(prompt)
    return {"idle": idle, "session": session, "prompt": prompt, "busy": busy, "alive": await talk.is_alive()}


async def additional_directories(talk: Talk) -> Notes:
    """A session with a second root, and resumed with another one."""
    await talk.shake_hands()
    roots = [talk.folder / "one", talk.folder / "two"]
    for root in roots:
        root.mkdir()
    new = await talk.ask("session/new", {"cwd": talk.cwd, "mcpServers": [], "additionalDirectories": [str(roots[0])]})
    session = (await talk.answer(new))["result"]["sessionId"]
    resumed = await talk.ask(
        "session/resume", {"sessionId": session, "cwd": talk.cwd, "additionalDirectories": [str(roots[1])]}
    )
    await talk.answer(resumed)
    return {"new": new, "resume": resumed, "prompt": await talk.turn(session, "Hello")}


async def mcp_servers(talk: Talk) -> Notes:
    """Well-formed MCP servers, of which none is there: the session is opened all the same."""
    await talk.shake_hands()
    stdio = {"type": "stdio", "name": "gone", "command": sys.executable, "args": ["-c", ""], "env": []}
    http = {"type": "http", "name": "nowhere", "url": "http://127.0.0.1:9/mcp", "headers": []}
    notes: Notes = {}
    for name, server in (("stdio", stdio), ("http", http)):
        notes[name] = await talk.ask("session/new", {"cwd": talk.cwd, "mcpServers": [server]})
        await talk.answer(notes[name])
    return {**notes, "alive": await talk.is_alive()}


# --- settings


async def options(talk: Talk) -> Notes:
    """Every option that a session offers gets another value; then its mode, where the edition has modes."""
    await talk.shake_hands(able=True)
    new = await talk.ask("session/new", {"cwd": talk.cwd, "mcpServers": []})
    opened = (await talk.answer(new))["result"]
    session = opened["sessionId"]
    changes = []
    for option in opened.get("configOptions") or []:
        id_, value = option.get("configId", option.get("id")), _another(option)
        params = {"sessionId": session, "configId": id_, "value": value}
        if option["type"] == "boolean" or talk.edition == "v2":
            params["type"] = "boolean" if option["type"] == "boolean" else "id"
        changes.append((id_, value, await talk.ask("session/set_config_option", params)))
        await talk.answer(changes[-1][-1])
    notes: Notes = {"session": session, "new": new, "changes": changes}
    if talk.edition == "v1" and opened.get("modes"):
        notes["mode"] = opened["modes"]["currentModeId"]
        notes["set_mode"] = await talk.ask("session/set_mode", {"sessionId": session, "modeId": notes["mode"]})
        await talk.answer(notes["set_mode"])
    notes["resume"] = await talk.ask("session/resume", {"sessionId": session, "cwd": talk.cwd})
    await talk.answer(notes["resume"])
    return {**notes, "alive": await talk.is_alive()}


def _another(option: dict[str, Any]) -> str | bool:
    current: str | bool = option["currentValue"]
    if isinstance(current, bool):
        return not current
    choices = option["options"]
    flat = [choice for each in choices for choice in each.get("options", [each])]
    return next(str(choice["value"]) for choice in flat if choice["value"] != current)
