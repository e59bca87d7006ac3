"""Servers that are wrong about WebSocket."""

from __future__ import annotations

import json
from typing import Any

from tests.check.faults.change import gives, instead, skips
from tests.check.faults.reference.server import BINARY, TEXT
from tests.check.faults.server.fault import server

__all__: list[str] = []


def _is_update(_: Any, __: Any, text: bytes) -> bool:
    return b'"session/update"' in text and b'"state_update"' not in text


def _serves(peer: Any, socket: Any, payload: bytes) -> None:
    answer = {"jsonrpc": "2.0", "id": json.loads(payload)["id"], "result": {"sessionId": "early"}}
    peer.say(socket, json.dumps(answer).encode())


def _drops(_: Any, socket: Any, *__: Any) -> None:
    socket.drop()


server("101", "PromptsAreForgotten")(
    on_text=skips(lambda _, __, payload: b'"session/prompt"' in payload and b"accord-check" not in payload)
)
server("102", "SpeaksInBinary")(say=instead(lambda _, socket, text: socket.frame(BINARY, text), _is_update))
server("102", "TwoAtOnce")(say=instead(lambda _, socket, text: socket.frame(TEXT, text + b"\n" + text), _is_update))
server("103", "UpgradesWithoutAnId")(upgrade_headers=gives({}))
server("104", "SilentAboutBrokenMessages")(on_broken=skips())
server("104", "BrokenMessagesEndIt")(on_broken=instead(lambda _, socket: socket.close(1011)))
server("105", "FallsOverBinary")(on_binary=instead(_drops))
server("106", "DeafToPings")(on_ping=skips())
server("106", "PongsOfItsOwn")(on_ping=lambda _, old, socket, payload: old(socket, payload[::-1]))
server("107", "LosesTheRest")(on_continuation=skips())
server("108", "LeavesWithoutAWord")(on_close=instead(_drops))
server("109", "ServesStrangersFirst")(on_first=instead(_serves, lambda _, __, payload: b'"initialize"' not in payload))
server("110", "ReadsAnyBytes")(on_no_utf8=skips())
