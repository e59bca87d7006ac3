"""The agent's side of the wire for tricks: plain JSON lines, no part of Accord, and a journal of what was answered.

Every request that a trick makes of the client is noted with whether it was granted. A request is granted where the
client did what was asked, or chose an option that does not refuse; everything else is a refusal: an error, a
dismissal, an option that rejects, and no answer at all.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from typing import Any

YES = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
ALWAYS = {"optionId": "always", "name": "Always", "kind": "allow_always"}
NO = {"optionId": "no", "name": "No", "kind": "reject_once"}
OPTIONS = [YES, ALWAYS, NO]


class Hand:
    """Says and asks what a trick wants; `cwd` is the session's directory."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.session = ""
        self.sessions: list[str] = []
        self.cwd = os.getcwd()  # noqa: PTH109 - no more imports than needed
        self.arguments: list[str] = []
        self.resumed = False
        """Whether the client goes on with a session from before."""
        self.prompts = 0
        self.ended = False
        """Whether the trick has ended its turn itself."""
        self.is_holding = False
        """Whether messages wait, to leave in one piece with the next request."""
        self._prompt: Any = None
        self._ids = itertools.count(1000)
        self._waiting: list[dict[str, Any]] = []
        self._names = itertools.count(1)
        self._journal = os.environ.get("HOSTILE_JOURNAL")
        self.note({"pid": os.getpid()})
        self.run = self._count()
        """Which run on this stage it is, from 1."""

    def _count(self) -> int:
        if not self._journal:
            return 1
        with open(f"{self._journal}.runs", "a+b") as file:  # noqa: PTH123 - no more imports than needed
            file.write(b".")
            return file.tell()

    # --- the wire

    def note(self, entry: dict[str, Any]) -> None:
        """One line in the journal."""
        if self._journal:
            with open(self._journal, "a", encoding="utf-8") as file:  # noqa: PTH123 - no more imports than needed
                file.write(json.dumps(entry) + "\n")

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        sys.stdout.buffer.write(data)
        if not self.is_holding:
            sys.stdout.buffer.flush()

    def send(self, message: dict[str, Any]) -> None:
        """One message."""
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def read(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        while True:
            line = sys.stdin.buffer.readline()
            if not line:
                return None
            if line.strip():
                message: dict[str, Any] = json.loads(line)
                return message

    def next(self) -> dict[str, Any] | None:
        """The next message that is no answer, also one that came while an answer was awaited."""
        return self._waiting.pop(0) if self._waiting else self.read()

    def answer(self, id_: Any, result: Any) -> None:
        """Answer a request of the client."""
        self.send({"id": id_, "result": result})

    def ask(self, method: str, **params: Any) -> int:
        """Send a request and go on; `wait` has its answer."""
        id_ = next(self._ids)
        self.send({"id": id_, "method": method, "params": {"sessionId": self.session, **params}})
        return id_

    def wait(self, id_: int) -> dict[str, Any]:
        """The answer to a request; an empty one where the client is gone."""
        self.is_holding = False
        sys.stdout.buffer.flush()
        while True:
            message = self.read()
            if message is None:
                return {}
            if message.get("id") == id_ and "method" not in message:
                return message
            self._waiting.append(message)

    def wait_for(self, method: str) -> dict[str, Any]:
        """The next request or notification of a method; an empty one where the client is gone."""
        for at, earlier in enumerate(self._waiting):
            if earlier.get("method") == method:
                return self._waiting.pop(at)
        while True:
            message = self.read()
            if message is None:
                return {}
            if message.get("method") == method:
                return message
            self._waiting.append(message)

    # --- what a trick asks

    def request(self, what: str, method: str, **params: Any) -> dict[str, Any]:
        """Ask, wait, and note under `what` how it was answered."""
        self.note({"asks": what})
        return self.noted(what, self.wait(self.ask(method, **params)))

    def noted(self, what: str, answer: dict[str, Any]) -> dict[str, Any]:
        """Note how something was answered."""
        granted = "result" in answer
        if granted and what == "permission":
            outcome = (answer["result"] or {}).get("outcome") or {}
            granted = outcome.get("optionId") in self._allowing
        self.note({"what": what, "granted": granted, "answer": json.dumps(answer)[:2000]})
        return answer

    _allowing: frozenset[Any] = frozenset({"yes", "always"})

    def permission(
        self,
        call: dict[str, Any] | None = None,
        options: Any = OPTIONS,
        *,
        allowing: Any = ("yes", "always"),
        **more: Any,
    ) -> dict[str, Any]:
        """Ask for permission; `allowing` are the ids of options that must count as granted."""
        self._allowing = frozenset(allowing)
        return self.request("permission", "session/request_permission", **self.question(call, options, **more))

    def question(self, call: dict[str, Any] | None, options: Any = OPTIONS, **more: Any) -> dict[str, Any]:
        """The parameters of a question about a call."""
        call = {"toolCallId": f"call-{next(self._names)}", **(call or {})}
        if self.version == 1:
            return {"toolCall": call, "options": options, **more}
        more.setdefault("subject", {"type": "tool_call", "toolCall": call})
        return {"title": call.get("title", "May I?"), "options": options, **more}

    def write(self, path: str, text: str = "hostile\n", **more: Any) -> dict[str, Any]:
        """Have a file written."""
        return self.request("write", "fs/write_text_file", path=self.path(path), content=text, **more)

    def read_file(self, path: str, **more: Any) -> dict[str, Any]:
        """Have a file read."""
        return self.request("read", "fs/read_text_file", path=self.path(path), **more)

    def terminal(self, command: str, *args: str, **more: Any) -> dict[str, Any]:
        """Have a command run, and wait for its end where it was started."""
        answer = self.request("terminal", "terminal/create", command=command, args=list(args), **more)
        terminal = (answer.get("result") or {}).get("terminalId")
        if terminal is not None:
            self.wait(self.ask("terminal/wait_for_exit", terminalId=terminal))
        return answer

    def path(self, path: str) -> str:
        """A path in the playground: absolute, as it stands, where it begins with `=` exactly as it stands."""
        return path[1:] if path.startswith("=") else f"{self.cwd}/{path}"

    # --- what a trick does by itself, in the playground

    def link(self, target: str, name: str) -> None:
        """Make a link, in the place of whatever is there."""
        if os.path.lexists(f"{self.cwd}/{name}"):
            os.unlink(f"{self.cwd}/{name}")  # noqa: PTH108 - no more imports than needed
        os.symlink(target, f"{self.cwd}/{name}")  # noqa: PTH211

    def rename(self, old: str, new: str) -> None:
        """Give a file or a folder another name."""
        os.rename(f"{self.cwd}/{old}", f"{self.cwd}/{new}")  # noqa: PTH104

    # --- what a trick says

    def update(self, tag: str, **fields: Any) -> None:
        """A session update."""
        update = {"sessionUpdate": tag, **fields}
        self.send({"method": "session/update", "params": {"sessionId": self.session, "update": update}})

    def call(self, id_: str, **fields: Any) -> None:
        """A tool call begins."""
        tag = "tool_call" if self.version == 1 else "tool_call_update"
        self.update(tag, **{"toolCallId": id_, "title": "a call", "status": "in_progress", **fields})

    def change(self, id_: str, **fields: Any) -> None:
        """A tool call changes."""
        self.update("tool_call_update", toolCallId=id_, **fields)

    def say(self, text: str) -> None:
        """A piece of a message."""
        fields = {} if self.version == 1 else {"messageId": "m"}
        self.update("agent_message_chunk", content={"type": "text", "text": text}, **fields)

    def begin(self, prompt: dict[str, Any]) -> None:
        """A turn begins."""
        self._prompt, self.ended = prompt, False
        self.prompts += 1
        if self.version == 2:
            self.update("user_message", messageId="u", content=prompt["params"]["prompt"])
            self.answer(prompt["id"], {"messageId": "u"})
            self.update("state_update", state="running")

    def end(self, reason: str = "end_turn") -> None:
        """End the turn; the client has heard everything that was sent before."""
        if self.ended or self._prompt is None:
            return
        self.ended = True
        self.note({"ends": reason})
        if self.version == 2:
            self.update("state_update", state="idle", stopReason=reason)
        else:
            self.answer(self._prompt["id"], {"stopReason": reason})

    @property
    def prompt_id(self) -> Any:
        """The id of the prompt that runs."""
        return None if self._prompt is None else self._prompt["id"]


def diff(path: str, old: str | None = "old\n", new: str = "new\n") -> dict[str, Any]:
    """A change of one file in a tool call's content."""
    return {"type": "diff", "path": path, "oldText": old, "newText": new}
