"""Sessions that are listed, deleted and closed."""

from __future__ import annotations

from accord.check.step import Notes, step
from accord.check.steps.asking import asked, folders, heard
from accord.check.steps.capability import can, gate
from accord.check.talk import Talk

__all__ = ["closing", "deleting", "listing"]


@step(gate=gate("list"), order=50)
async def listing(talk: Talk) -> Notes:
    """Sessions in two folders; all of them, those of one folder, and those of a folder without any."""
    with folders(talk, "other") as (other,):
        here, there = await talk.new(), await talk.new(cwd=str(other))
        notes: Notes = {"here": here, "there": there, "other": str(other)}
        unused = str(talk.folder / "accord-check-unused")
        for name, params in (("all", {}), ("some", {"cwd": str(other)}), ("none", {"cwd": unused})):
            notes[name] = await asked(talk, "session/list", params)
        return notes


@step(gate=gate("delete"), order=55)
async def deleting(talk: Talk) -> Notes:
    """A session is deleted, and again, and one that never was; `list` only where sessions can be listed."""
    session = await talk.new()
    await talk.turn(session)
    notes: Notes = {"session": session}
    notes["delete"] = await asked(talk, "session/delete", {"sessionId": session})
    if can(talk, "list"):
        notes["list"] = await asked(talk, "session/list", {})
    notes["again"] = await asked(talk, "session/delete", {"sessionId": session})
    notes["unknown"] = await asked(talk, "session/delete", {"sessionId": "nobody"})
    return {**notes, "alive": await talk.is_alive()}


@step(gate=gate("close"), order=56)
async def closing(talk: Talk) -> Notes:
    """An idle session is closed, then one that works: `prompt` is what it works on."""
    idle = await asked(talk, "session/close", {"sessionId": await talk.new()})
    session = await talk.new()
    prompt = await talk.begin(session)
    busy = await asked(talk, "session/close", {"sessionId": session})
    await heard(talk, prompt)
    return {"idle": idle, "session": session, "prompt": prompt, "busy": busy, "alive": await talk.is_alive()}
