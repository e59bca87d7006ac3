"""Turns that nobody disturbs."""

from __future__ import annotations

from typing import Any

from accord.check.step import Notes, step
from accord.check.steps.capability import SESSIONS, can
from accord.check.talk import Talk

__all__ = ["prompt_blocks", "turns"]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
LINK = {"type": "resource_link", "uri": "file:///notes.txt", "name": "notes.txt"}
TRACE = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
BLOCKS: dict[str, tuple[str, dict[str, Any]]] = {
    "image": ("image", {"type": "image", "mimeType": "image/png", "data": PIXEL}),
    "audio": ("audio", {"type": "audio", "mimeType": "audio/wav", "data": SILENCE}),
    "resource": (
        "embeddedContext",
        {"type": "resource", "resource": {"uri": "file:///notes.txt", "mimeType": "text/plain", "text": "milk"}},
    ),
}
"""By note: the capability that has to be advertised, and the block."""


@step(gate=SESSIONS, order=10)
async def turns(talk: Talk) -> Notes:
    """Three prompts: with text, with a link, with metadata; each note is the id of the request."""
    session = await talk.new()
    words = await talk.turn(session)
    link = await talk.turn(session, talk.options.prompt, LINK)
    meta = await talk.turn(session, talk.options.prompt, _meta=TRACE)
    return {"session": session, "words": words, "link": link, "meta": meta, "alive": await talk.is_alive()}


@step(gate=SESSIONS)
async def prompt_blocks(talk: Talk) -> Notes:
    """A turn for each kind of block that the agent says it accepts; the others have no note."""
    session = await talk.new()
    notes: Notes = {"session": session}
    for note, (capability, block) in BLOCKS.items():
        if can(talk, capability):
            notes[note] = await talk.turn(session, talk.options.prompt, block)
    return notes
