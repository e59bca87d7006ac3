"""One hostile agent: `python agent.py TRICK [VERSION] [ANYTHING]` plays one trick of the registry.

It speaks JSON lines on stdin and stdout, without any part of Accord, and starts from any directory. With
`HOSTILE_JOURNAL` it notes its process, and how the client answered each of its requests.
"""

from __future__ import annotations

import os
import sys
from typing import Any

sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")))  # noqa: PTH100, PTH118, PTH120

from tests.hostile.hand import Hand
from tests.hostile.registry import Row, row_of


def initialize(version: int) -> dict[str, Any]:
    info = {"name": "hostile", "version": "1"}
    able: dict[str, Any] = {"list": {}, "resume": {}, "close": {}}
    if version == 1:
        capabilities = {"loadSession": True, "sessionCapabilities": able}
        return {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": capabilities}
    return {"protocolVersion": 2, "info": info, "capabilities": {"session": able}}


def play(hand: Hand, row: Row) -> None:
    row.play(hand)
    hand.note({"played": row.name})


def open_session(hand: Hand, row: Row, message: dict[str, Any]) -> None:
    method, params = message["method"], message["params"]
    hand.resumed = method != "session/new"
    hand.cwd = params.get("cwd", hand.cwd)
    session = params.get("sessionId") or ("s" if row.same_id else f"s-{len(hand.sessions) + 1}")
    hand.sessions.append(session)
    hand.session = hand.sessions[0]
    if row.at == "new" or (row.at == "load" and method != "session/new"):
        play(hand, row)
    # In one piece, so that what is asked after the answer is read before any prompt can be sent.
    hand.is_holding = row.at == "opened"
    hand.answer(message["id"], {"sessionId": session} if method == "session/new" else {})
    if row.at == "opened":
        play(hand, row)


def prompted(hand: Hand, row: Row, message: dict[str, Any]) -> None:
    hand.begin(message)
    if row.at == "prompt":
        play(hand, row)
    hand.end("cancelled" if row.interrupt else "end_turn")
    if row.at == "end":
        play(hand, row)


def serve(hand: Hand, row: Row, message: dict[str, Any]) -> None:
    match message.get("method"):
        case "initialize":
            hand.answer(message["id"], initialize(hand.version))
        case "session/new" | "session/load" | "session/resume":
            open_session(hand, row, message)
        case "session/prompt":
            prompted(hand, row, message)
        case "session/list":
            hand.answer(message["id"], {"sessions": []})
        case _ if "id" in message and "method" in message:
            hand.answer(message["id"], {})
        case _:
            pass


def main() -> None:
    row = row_of(sys.argv[1])
    hand = Hand(int(sys.argv[2]) if len(sys.argv) > 2 else row.version)
    hand.arguments = sys.argv[3:]
    if row.at == "start":
        play(hand, row)
    while (message := hand.next()) is not None:
        serve(hand, row, message)


if __name__ == "__main__":
    main()
