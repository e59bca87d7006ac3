"""A client by hand that offers everything: files, commands, forms, addresses; and uses what an agent lets it use."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.check.faults.reference.client import PlainClient, PlainClientJune, PlainClientV1, PlainClientV2
from tests.check.faults.reference.client_terminals import Terminal, decode
from tests.check.faults.reference.raw import INVALID_PARAMS, NOT_FOUND, Refused

__all__ = ["FullClient", "FullClientJune", "FullClientV1", "FullClientV2"]


class FullClient(PlainClient):
    """What all editions have: an option that is set, a request that is taken back, questions that are answered."""

    def option(self) -> dict[str, Any]:
        return {"configId": "size", "value": "large"}

    async def before_prompt(self) -> None:
        """Set an option, and take back a request."""
        await self.ask("session/set_config_option", {"sessionId": self.session, **self.option()})
        self.take_back()

    def take_back(self) -> None:
        """Ask for something and not want it any more."""
        self.say({"jsonrpc": "2.0", "id": "unwanted", "method": "_by_hand/unwanted", "params": {}})
        self.notify("$/cancel_request", {"requestId": "unwanted"})

    async def on_elicitation_create(self, params: dict[str, Any]) -> dict[str, Any]:
        """A question with a form or an address."""
        if params.get("mode") == "form":
            return self.fill_in()
        return self.visit()

    def fill_in(self) -> dict[str, Any]:
        return {"action": "accept", "content": {"name": "Ada", "age": 36, "agrees": True}}

    def visit(self) -> dict[str, Any]:
        return {"action": "accept"}


class FullClientJune(FullClient, PlainClientJune):
    """In the v2 of June, where there is nothing to offer and no request can be taken back."""

    def take_back(self) -> None:
        """There is no such thing."""


class FullClientV2(FullClient, PlainClientV2):
    """In v2."""

    def offers(self) -> Any:
        return {"auth": {"terminal": {}}, "elicitation": {"form": {}, "url": {}}}

    def option(self) -> dict[str, Any]:
        return {"configId": "size", "type": "id", "value": "large"}


class FullClientV1(FullClient, PlainClientV1):
    """In v1, with files and terminals."""

    in_background = PlainClient.in_background | {"terminal/wait_for_exit"}

    def __init__(self) -> None:
        super().__init__()
        self.terminals: dict[str, Terminal] = {}
        self.started: list[Terminal] = []

    def offers(self) -> Any:
        return {
            "fs": {"readTextFile": True, "writeTextFile": True},
            "terminal": True,
            "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
            "auth": {"terminal": True},
            "elicitation": {"form": {}, "url": {}},
        }

    async def at_end(self) -> None:
        await super().at_end()
        await asyncio.gather(*(terminal.close() for terminal in self.started))

    # --- files

    def place(self, path: str) -> Path:
        """Where a file is that may be used."""
        if not self.is_inside(path):
            raise Refused(INVALID_PARAMS, "That is outside of the session's directories")
        return Path(path)

    def is_inside(self, path: str) -> bool:
        """Whether a path belongs to the session; what it is judged with lies in folders of this name."""
        return Path(path).is_absolute() and any(part.startswith(".accord-check-") for part in Path(path).parts)

    def check_session(self, params: dict[str, Any]) -> None:
        """Only its own session may use files."""
        if params.get("sessionId") != self.session:
            raise Refused(NOT_FOUND, "That session has no files here")

    async def on_fs_read_text_file(self, params: dict[str, Any]) -> dict[str, Any]:
        self.check_session(params)
        return {"content": self.read(self.place(params["path"]), params.get("line"), params.get("limit"))}

    def read(self, path: Path, line: int | None, limit: int | None) -> str:
        """The text, or some lines of it."""
        if not path.exists():
            return self.missing()
        text = path.read_bytes().decode()
        return text if line is None and limit is None else self.choose(text, line, limit)

    def missing(self) -> str:
        """What a file has that is not there."""
        raise Refused(NOT_FOUND, "There is no such file")

    def choose(self, text: str, line: int | None, limit: int | None) -> str:
        start = max((line or 1) - 1, 0)
        return "".join(text.splitlines(keepends=True)[start : None if limit is None else start + limit])

    async def on_fs_write_text_file(self, params: dict[str, Any]) -> dict[str, Any]:
        self.put(self.place(params["path"]), params["content"])
        return {}

    def put(self, path: Path, content: str) -> None:
        path.write_bytes(content.encode())

    # --- terminals

    async def on_terminal_create(self, params: dict[str, Any]) -> dict[str, Any]:
        id_ = f"terminal-{len(self.started) + 1}"
        terminal = await Terminal.start(params, self.variables(params))
        self.terminals[id_] = terminal
        self.started.append(terminal)
        return self.created(id_)

    def variables(self, params: dict[str, Any]) -> dict[str, str]:
        """What its environment has besides ours."""
        return {each["name"]: each["value"] for each in params.get("env", ())}

    def created(self, id_: Any) -> dict[str, Any]:
        """The answer to a command to run."""
        return {"terminalId": id_}

    def find(self, params: dict[str, Any]) -> Terminal:
        terminal = self.terminals.get(params["terminalId"])
        if terminal is None:
            raise Refused(NOT_FOUND, "There is no such terminal")
        return terminal

    async def on_terminal_output(self, params: dict[str, Any]) -> dict[str, Any]:
        return self.shown(self.find(params))

    def shown(self, terminal: Terminal) -> dict[str, Any]:
        """The answer to who asks for the output."""
        shown = {"output": decode(terminal.output), "truncated": terminal.is_cut}
        return shown if terminal.status is None else {**shown, "exitStatus": terminal.status}

    async def on_terminal_wait_for_exit(self, params: dict[str, Any]) -> dict[str, Any]:
        terminal = self.find(params)
        await terminal.ended()
        return self.told(terminal.status or {"exitCode": None, "signal": "SIGKILL"})

    def told(self, status: dict[str, Any]) -> dict[str, Any]:
        return status

    async def on_terminal_kill(self, params: dict[str, Any]) -> dict[str, Any]:
        self.find(params).kill()
        return {}

    async def on_terminal_release(self, params: dict[str, Any]) -> dict[str, Any]:
        self.give_up(self.find(params))
        self.forget(params["terminalId"])
        return {}

    def give_up(self, terminal: Terminal) -> None:
        """End what runs, and tell who waits."""
        terminal.kill()
        terminal.is_released.set()

    def forget(self, id_: str) -> None:
        """The id means nothing any more."""
        del self.terminals[id_]
