"""Requests of a raw client that reopen a session, in each edition's shape, and the resulting history."""

from __future__ import annotations

from typing import Any

from tests.agent.rig import Hand, Heard

__all__ = ["CWD", "FORKS", "error_of", "messages", "reopen", "reopening"]

FORKS = ("v1", "v2")
"""The editions in which sessions can be forked."""

CWD = "/tmp"  # noqa: S108 - no file is made there


def reopening(hand: Hand, session: str, *, replay: bool = True, **more: Any) -> tuple[str, dict[str, Any]]:
    """The request that opens a session again, with its conversation or without."""
    params: dict[str, Any] = {"sessionId": session, "cwd": CWD, "mcpServers": []}
    if hand.edition != "v2":
        return "session/load" if replay else "session/resume", {**params, **more}
    return "session/resume", {**params, **({"replayFrom": {"type": "start"}} if replay else {}), **more}


async def reopen(hand: Hand, session: str, *, replay: bool = True, **more: Any) -> Heard:
    """Open a session again; what was heard until the answer."""
    start = len(hand.received)
    answer = await hand.request(*reopening(hand, session, replay=replay, **more))
    return Heard(hand.received[start:], answer)


def messages(heard: Heard) -> list[tuple[str, str]]:
    """Who said what, one row for each message, whether it came whole or in pieces."""
    rows: dict[tuple[str, str], str] = {}
    for update in heard.updates:
        kind = update["sessionUpdate"].removesuffix("_chunk")
        if kind in {"user_message", "agent_message", "agent_thought"}:
            content = update["content"]
            blocks = content if isinstance(content, list) else [content]
            key = (kind, update["messageId"])
            rows[key] = rows.get(key, "") + "".join(block["text"] for block in blocks)
    return [
        (kind.split("_")[1] if kind == "agent_thought" else kind.split("_")[0], text)
        for (kind, _), text in rows.items()
    ]


def error_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The error of an answer that must be one."""
    assert "error" in answer, answer
    error: dict[str, Any] = answer["error"]
    return error
