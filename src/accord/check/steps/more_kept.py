"""Sessions from before: listed page by page, replayed, deleted, and asked for where there are none."""

from __future__ import annotations

from typing import Any

from accord.check.rule import EditionName
from accord.check.step import Notes, step
from accord.check.talk import StepFailed, Talk

__all__ = ["DELETE", "LIST", "LOAD", "RESUME"]

Gate = dict[EditionName, str]


def _gate(v1: str, june: str) -> Gate:
    return {"v1": f"initialize.agentCapabilities.{v1}", "v2_june": f"initialize.capabilities.session.{june}"}


LOAD = _gate("loadSession", "load")
LIST = _gate("sessionCapabilities.list", "list")
DELETE = _gate("sessionCapabilities.delete", "delete")
RESUME = _gate("sessionCapabilities.resume", "resume")
BOTH: tuple[EditionName, ...] = ("v1", "v2_june")
NOBODY = "accord-check-nobody"
_PAGES = 20


@step("again", editions=BOTH, gate=LOAD, order=30)
async def more_load(talk: Talk) -> Notes:
    """The session with two turns of another process, and one that never was."""
    before = talk.notes.get("more_turn")
    if before is None:
        raise StepFailed("there is no session from before")
    params = {"sessionId": before["session"], "cwd": talk.cwd, "mcpServers": []}
    since = talk.now
    load = talk.ask("session/load", params)
    await talk.answer(load, "ACP-LOAD-001")
    answered = talk.now
    await talk.is_alive()
    notes: Notes = {"session": before["session"], "words": before["words"], "load": load}
    return {**notes, "since": since, "answered": answered, "late": talk.now}


@step("bare", editions=BOTH, gate=LOAD, order=78)
async def more_load_nobody(talk: Talk) -> Notes:
    """A session that never was is loaded."""
    id_ = talk.ask("session/load", {"sessionId": NOBODY, "cwd": talk.cwd, "mcpServers": []})
    await talk.answer(id_, "ACCORD-LOAD-003")
    return {"load": id_}


@step("bare", editions=BOTH, gate=RESUME, order=78)
async def more_resume_nobody(talk: Talk) -> Notes:
    """A session that never was is resumed."""
    id_ = talk.ask("session/resume", {"sessionId": NOBODY, "cwd": talk.cwd})
    await talk.answer(id_, "ACCORD-RESUME-001")
    return {"resume": id_}


async def _pages(talk: Talk, **params: Any) -> list[Any]:
    """The ids of the requests for a whole list, as far as its cursors lead."""
    asked: list[Any] = []
    cursor: Any = None
    while len(asked) < _PAGES:
        asked.append(talk.ask("session/list", params if cursor is None else {**params, "cursor": cursor}))
        answer = await talk.answer(asked[-1], "ACCORD-LIST-002" if cursor is not None else "ACP-LIST-001")
        result = answer.get("result")
        cursor = result.get("nextCursor") if isinstance(result, dict) else None
        if cursor is None:
            break
    return asked


@step("bare", editions=BOTH, gate=LIST, order=40)
async def more_list(talk: Talk) -> Notes:
    """Every page of everything; the sessions of one folder, and of one that has none; a cursor that nobody gave."""
    folder = talk.folder / "more-list"
    folder.mkdir(exist_ok=True)
    here, there = await talk.new(), await talk.new(cwd=str(folder))
    await talk.turn(there)
    none = talk.ask("session/list", {"cwd": str(talk.folder / "more-nothing")})
    await talk.answer(none, "ACP-LIST-002")
    some = await _pages(talk, cwd=str(folder))
    bad = talk.ask("session/list", {"cursor": NOBODY})
    await talk.answer(bad, "ACCORD-LIST-001")
    notes: Notes = {"here": here, "there": there, "folder": str(folder), "none": none, "some": some, "bad": bad}
    return {**notes, "all": await _pages(talk)}


@step("bare", editions=BOTH, gate=DELETE, order=42)
async def more_delete(talk: Talk) -> Notes:
    """A session with a turn is deleted, and the list is asked for it before and after."""
    session = await talk.new()
    await talk.turn(session)
    before = await _pages(talk)
    delete = talk.ask("session/delete", {"sessionId": session})
    await talk.answer(delete, "ACP-DELETE-001")
    return {"session": session, "before": before, "delete": delete, "after": await _pages(talk)}
