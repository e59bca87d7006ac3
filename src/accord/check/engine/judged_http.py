"""The transport of a check over streamable HTTP: what a server says with a refusal is part of the record."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from accord.transport.http import HttpTransport
from accord.transport.routing import Envelope

_SUCCESS = 2
_INTERNAL_ERROR = -32603
_ENDS = frozenset({401, 410})


class JudgedHttp(HttpTransport):
    """Goes on where a client would give up: one refused message is not the end of a check.

    A refusal with a JSON-RPC answer as its body is delivered as that answer. Any other one ends the request that it
    refuses with an error of ours, which has the status; known servers answer 404 for a session that they do not know.
    """

    def _check_first(self, response: httpx2.Response, body: bytes) -> None:
        if not _is_answer(body):
            super()._check_first(response, body)

    def _judge(self, response: httpx2.Response, body: bytes, message: Envelope) -> None:
        status = response.status_code
        if status // 100 == _SUCCESS or status in _ENDS:
            super()._judge(response, body, message)
        elif message.kind != "answer" and _is_answer(body):
            self._deliver(body)
        elif message.kind == "request":
            error = {"code": _INTERNAL_ERROR, "message": f"The server answered {status}", "data": {"status": status}}
            self._deliver(json.dumps({"jsonrpc": "2.0", "id": message.id, "error": error}).encode())


def _is_answer(text: bytes) -> bool:
    """Whether a text is one JSON-RPC answer."""
    try:
        message: Any = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and "id" in message and ("result" in message or "error" in message)
