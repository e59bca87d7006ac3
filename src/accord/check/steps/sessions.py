"""Sessions that are closed and opened again, with more roots, with MCP servers; and some to be left behind."""

from __future__ import annotations

import sys
from typing import Any

from accord.check.step import Notes, step
from accord.check.steps.asking import asked, folders, heard
from accord.check.steps.capability import SESSIONS, can, gate
from accord.check.talk import Talk

__all__ = ["additional_directories", "closed", "keep", "load", "loaded", "mcp_servers", "resume", "resumed"]


@step(gate=SESSIONS, order=40)
async def keep(talk: Talk) -> Notes:
    """A session with a turn and an empty one, left behind; `prompt` is the answer to the turn's request.

    `to_resume` is another such pair where sessions can be loaded too: what the next process has loaded is open there.
    """
    notes = await _left_behind(talk)
    if talk.edition != "v2" and can(talk, "load") and can(talk, "resume"):
        notes["to_resume"] = await _left_behind(talk)
    return notes


async def _left_behind(talk: Talk) -> Notes:
    session = await talk.new()
    prompt = await talk.turn(session, talk.options.prompt + " (äöü 🎼)")
    return {"session": session, "prompt": await talk.answer(prompt), "empty": await talk.new()}


async def closed(talk: Talk, session: str) -> bool:
    """Close a session, so that it can be opened again in this process; whether the agent can do that and did."""
    if not can(talk, "close"):
        return False
    answer = await heard(talk, talk.ask("session/close", {"sessionId": session}))
    return answer is not None and "result" in answer


@step(gate=gate("load") | {"v2": ""}, editions=("v1", "v2_june"), order=41)
async def load(talk: Talk) -> Notes:
    """A session is closed and loaded again; `turn` is the request of the turn that it has.

    Nothing says that an agent must load what is open. Where it cannot close, `load` is missing: the next process has
    `load_after_restart`.
    """
    session = await talk.new()
    turn = await talk.turn(session)
    if not await closed(talk, session):
        return {"turn": turn, "session": session}
    return {"turn": turn, **await loaded(talk, session)}


async def loaded(talk: Talk, session: str) -> Notes:
    """A session is loaded; notes for that."""
    load_ = await asked(talk, "session/load", {"sessionId": session, "cwd": talk.cwd, "mcpServers": []})
    return {"session": session, "load": load_, "alive": await talk.is_alive()}


@step(gate=gate("resume"), order=42)
async def resume(talk: Talk) -> Notes:
    """A session is closed and resumed, in every way that the edition has; like `load`, only where it can be closed."""
    session = await talk.new()
    prompt = await talk.answer(await talk.turn(session))
    if not await closed(talk, session):
        return {"prompt": prompt, "session": session}
    return {"prompt": prompt, **await resumed(talk, session)}


async def resumed(talk: Talk, session: str) -> Notes:
    """A session is resumed without a replay, and where there is such a wish, from the start; notes for that."""
    params: Notes = {"sessionId": session, "cwd": talk.cwd}
    plain = await asked(talk, "session/resume", params)
    notes = {"session": session, "plain": plain, "alive": await talk.is_alive()}
    if talk.edition == "v2":
        await closed(talk, session)
        notes["replayed"] = await asked(talk, "session/resume", {**params, "replayFrom": {"type": "start"}})
        notes["alive"] = await talk.is_alive()
    return notes


@step(gate=gate("additionalDirectories"), order=45)
async def additional_directories(talk: Talk) -> Notes:
    """A session with a second root, a turn, and resumed with another root where that is advertised."""
    with folders(talk, "one", "two") as (one, two):
        params: Notes = {"cwd": talk.cwd, "mcpServers": [], "additionalDirectories": [str(one)]}
        new = talk.ask("session/new", params)
        session = _session_in(await heard(talk, new))
        notes: Notes = {"new": new}
        if session is None:
            return notes
        if can(talk, "resume") and await closed(talk, session):
            again = {"sessionId": session, "cwd": talk.cwd, "additionalDirectories": [str(two)]}
            notes["resume"] = await asked(talk, "session/resume", again)
        return {**notes, "session": session, "prompt": await talk.turn(session)}


def _session_in(answer: dict[str, Any] | None) -> str | None:
    result = (answer or {}).get("result")
    session = result.get("sessionId") if isinstance(result, dict) else None
    return session if isinstance(session, str) else None


@step(gate=SESSIONS, order=65)
async def mcp_servers(talk: Talk) -> Notes:
    """Well-formed MCP servers, of which none is there, each in a session of its own; only kinds that are advertised."""
    stdio: Notes = {"name": "gone", "command": sys.executable, "args": ["-c", ""], "env": []}
    if talk.edition != "v1":
        stdio = {"type": "stdio", **stdio}
    http = {"type": "http", "name": "nowhere", "url": "http://127.0.0.1:9/mcp", "headers": []}
    notes: Notes = {}
    for name, server in (("stdio", stdio), ("http", http)):
        if can(talk, name):
            notes[name] = await asked(talk, "session/new", {"cwd": talk.cwd, "mcpServers": [server]})
    return {**notes, "alive": await talk.is_alive()}
