"""Sessions that are opened again while they are open, with more roots, with MCP servers; and some to be left behind."""

from __future__ import annotations

import sys
from typing import Any

from accord.check.step import Notes, step
from accord.check.steps.ability import SESSIONS, can, gate
from accord.check.steps.asking import asked, folders, heard
from accord.check.talk import Talk

__all__ = ["additional_directories", "keep", "load", "loaded", "mcp_servers", "resume", "resumed"]


@step(gate=SESSIONS, order=40)
async def keep(talk: Talk) -> Notes:
    """A session with a turn and an empty one, left behind; `prompt` is the answer to the turn's request."""
    session = await talk.new()
    prompt = await talk.turn(session, talk.options.prompt + " (äöü 🎼)")
    return {"session": session, "prompt": await talk.answer(prompt), "empty": await talk.new()}


@step(gate=gate("load") | {"v2": ""}, editions=("v1", "v2_june"), order=41)
async def load(talk: Talk) -> Notes:
    """A session is loaded while it is open; `turn` is the request of the turn that it has."""
    session = await talk.new()
    turn = await talk.turn(session)
    return {"turn": turn, **await loaded(talk, session)}


async def loaded(talk: Talk, session: str) -> Notes:
    """A session is loaded; notes for that."""
    load_ = await asked(talk, "session/load", {"sessionId": session, "cwd": talk.cwd, "mcpServers": []})
    return {"session": session, "load": load_, "alive": await talk.is_alive()}


@step(gate=gate("resume"), order=42)
async def resume(talk: Talk) -> Notes:
    """A session is resumed while it is open, in every way that the edition has."""
    session = await talk.new()
    prompt = await talk.answer(await talk.turn(session))
    return {"prompt": prompt, **await resumed(talk, session)}


async def resumed(talk: Talk, session: str) -> Notes:
    """A session is resumed without a replay, and where there is such a wish, from the start; notes for that."""
    params: Notes = {"sessionId": session, "cwd": talk.cwd}
    plain = await asked(talk, "session/resume", params)
    notes = {"session": session, "plain": plain, "alive": await talk.is_alive()}
    if talk.edition == "v2":
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
        if can(talk, "resume"):
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
