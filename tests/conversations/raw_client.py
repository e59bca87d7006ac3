"""A v1 client on bare pipes that knows nothing of Accord: JSON in one framing, which it also demands of the answers."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from tests.limits import limit

__all__ = ["RawClient", "RawFraming"]

RawFraming = Literal["lines", "headers"]

SECONDS = limit(60.0)

_HEADER = re.compile(rb"Content-Length: ([0-9]+)\r\n\r\n")


class RawClient:
    """Starts a program and talks to it; answers the questions that come while it waits for an answer of its own.

    Files are those of the disk. A permission is given by the first option that allows something once. `questions` are
    the methods that were asked, `updates` the updates of all sessions.
    """

    def __init__(self, argv: Sequence[str], framing: RawFraming, *, env: Mapping[str, str], cwd: Path) -> None:
        self._framing = framing
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(env), cwd=cwd, bufsize=0
        )
        self._received = b""
        self._last_id = 0
        self.questions: list[str] = []
        self.updates: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.leave()
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()

    def leave(self) -> int:
        """Hang up; the exit status of the program."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            return self._process.wait(timeout=SECONDS)
        finally:
            self._process.stdout.close()

    # --- bytes

    def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        view = memoryview(data)
        while view:
            view = view[os.write(self._process.stdin.fileno(), view) :]

    def framed(self, *messages: dict[str, Any]) -> bytes:
        texts = [json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() for message in messages]
        if self._framing == "lines":
            return b"".join(text + b"\n" for text in texts)
        return b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(text), text) for text in texts)

    def receive(self) -> dict[str, Any]:
        """The next message, whatever it is."""
        deadline = time.monotonic() + SECONDS
        while (text := self._cut()) is None:
            assert self._process.stdout is not None
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"nothing came within {SECONDS:g} s; unread: {self._received!r}"
            piece = os.read(self._process.stdout.fileno(), 65536)
            assert piece, f"the program has closed its stdout; unread: {self._received!r}"
            self._received += piece
        message = json.loads(text)
        assert message["jsonrpc"] == "2.0"
        return dict(message)

    def _cut(self) -> bytes | None:
        if self._framing == "lines":
            line, newline, rest = self._received.partition(b"\n")
            if not newline:
                return None
            self._received = rest
            return line
        header = _HEADER.match(self._received)
        if header is None:
            begun = b"Content-Length: ".startswith(self._received[:16]) and b"{" not in self._received
            assert begun, f"no frame: {self._received[:100]!r}"
            return None
        end = header.end() + int(header[1])
        if len(self._received) < end:
            return None
        text, self._received = self._received[header.end() : end], self._received[end:]
        return text

    # --- messages

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """A request as a message, with an id of its own; `write(framed(…))` sends it."""
        self._last_id += 1
        return {"id": self._last_id, "method": method, "params": params}

    def answer_of(self, request: dict[str, Any]) -> dict[str, Any]:
        """Wait for the answer, and do meanwhile what the agent asks for."""
        while True:
            message = self.receive()
            if "method" in message:
                self._hear(message)
            elif message["id"] == request["id"]:
                return message

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask, and wait for the result."""
        request = self.request(method, params)
        self.write(self.framed(request))
        answer = self.answer_of(request)
        assert "error" not in answer, answer
        return dict(answer["result"])

    def wait_for_question(self, method: str) -> dict[str, Any]:
        """Wait until the agent asks this; the question, for `reply`."""
        while True:
            message = self.receive()
            if message.get("method") == method:
                self.questions.append(method)
                return message
            self._hear(message)

    def reply(self, question: dict[str, Any], result: dict[str, Any]) -> None:
        self.write(self.framed({"id": question["id"], "result": result}))

    def _hear(self, message: dict[str, Any]) -> None:
        if message["method"] == "session/update":
            self.updates.append(message["params"]["update"])
        if "id" not in message:
            return
        self.questions.append(message["method"])
        self.reply(message, self._result(message["method"], message["params"]))

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "session/request_permission":
            once = next(option for option in params["options"] if option["kind"] == "allow_once")
            return {"outcome": {"outcome": "selected", "optionId": once["optionId"]}}
        if method == "fs/read_text_file":
            path = Path(params["path"])
            return {"content": path.read_text(encoding="utf-8") if path.exists() else ""}
        assert method == "fs/write_text_file", method
        Path(params["path"]).write_text(params["content"], encoding="utf-8")
        return {}

    # --- conversations

    def greet(self) -> dict[str, Any]:
        """`initialize`, with files and without terminals; the agent's capabilities."""
        files = {"readTextFile": True, "writeTextFile": True}
        answer = self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {"fs": files}})
        assert answer["protocolVersion"] == 1
        return dict(answer["agentCapabilities"])

    def open(self, cwd: Path, *servers: dict[str, Any]) -> str:
        """A new session; its id."""
        return str(self.call("session/new", {"cwd": str(cwd), "mcpServers": list(servers)})["sessionId"])

    def prompt(self, session_id: str, text: str) -> tuple[str, str]:
        """One turn: what the agent said in it, and its stop reason."""
        before = len(self.updates)
        answer = self.call("session/prompt", _prompt(session_id, text))
        return self.said("agent_message_chunk", before), str(answer["stopReason"])

    def prompt_and_cancel(self, session_id: str, text: str) -> str:
        """A turn that is cancelled in the same write; its stop reason."""
        request = self.request("session/prompt", _prompt(session_id, text))
        cancel = {"method": "session/cancel", "params": {"sessionId": session_id}}
        self.write(self.framed(request, cancel))
        return str(self.answer_of(request)["result"]["stopReason"])

    def prompt_and_cancel_at(self, session_id: str, text: str, method: str) -> str:
        """A turn that is cancelled while the agent waits for an answer to such a question; its stop reason."""
        request = self.request("session/prompt", _prompt(session_id, text))
        self.write(self.framed(request))
        question = self.wait_for_question(method)
        self.write(self.framed({"method": "session/cancel", "params": {"sessionId": session_id}}))
        if method == "session/request_permission":
            self.reply(question, {"outcome": {"outcome": "cancelled"}})
        return str(self.answer_of(request)["result"]["stopReason"])

    def said(self, kind: str, since: int = 0) -> str:
        """The text of all updates of this kind."""
        chunks = [update for update in self.updates[since:] if update["sessionUpdate"] == kind]
        return "".join(chunk["content"]["text"] for chunk in chunks)


def _prompt(session_id: str, text: str) -> dict[str, Any]:
    return {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
