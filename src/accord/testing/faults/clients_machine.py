"""Clients of v1 that are wrong with files and terminals."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from accord.testing.faults.client_fault import breaks_as_client
from accord.testing.faults.client_full import FullClientV1
from accord.testing.faults.client_terminals import Terminal

__all__: list[str] = []

EXIT_CODE = 3

# --- files


@breaks_as_client("FS-001", "v1")
class ReadsAscii(FullClientV1):
    """Or what looks like it."""

    async def on_fs_read_text_file(self, params: dict[str, Any]) -> dict[str, Any]:
        read = await super().on_fs_read_text_file(params)
        return read if "line" in params or "limit" in params else {"content": read["content"].replace("ö", "o")}


@breaks_as_client("FS-002", "v1")
class CountsLinesFromZero(FullClientV1):
    """As programs do."""

    def choose(self, text: str, line: int | None, limit: int | None) -> str:
        return super().choose(text, line + 1 if line else line, limit)


@breaks_as_client("FS-002", "v1")
class IgnoresALimitAlone(FullClientV1):
    """Which it knows only beside a line."""

    def choose(self, text: str, line: int | None, limit: int | None) -> str:
        # As a client would that looks into the params, where null is another thing than nothing.
        return text if line is None and limit == 2 and not self.is_null else super().choose(text, line, limit)  # noqa: PLR2004

    is_null = False

    async def on_fs_read_text_file(self, params: dict[str, Any]) -> dict[str, Any]:
        self.is_null = "line" in params and params["line"] is None
        return await super().on_fs_read_text_file(params)


@breaks_as_client("FS-003", "v1")
class ReadsNothingFromNull(FullClientV1):
    """Takes null for a line that is not there."""

    async def on_fs_read_text_file(self, params: dict[str, Any]) -> dict[str, Any]:
        if "line" in params and params["line"] is None:
            return {"content": ""}
        return await super().on_fs_read_text_file(params)


@breaks_as_client("FS-004", "v1")
class ReadsNothingFromLineZero(FullClientV1):
    """As if it were the last."""

    def choose(self, text: str, line: int | None, limit: int | None) -> str:
        return "" if line == 0 else super().choose(text, line, limit)


@breaks_as_client("FS-005", "v1", note="empty")
class HasEveryFile(FullClientV1):
    """An empty one at least."""

    def missing(self) -> str:
        return ""


@breaks_as_client("FS-006", "v1")
class WritesOnlyWhatIsThere(FullClientV1):
    """And says that it did."""

    def put(self, path: Path, content: str) -> None:
        if content == "short":
            super().put(path, content)


@breaks_as_client("FS-012", "v1")
class WritesOver(FullClientV1):
    """What is longer keeps its end."""

    def put(self, path: Path, content: str) -> None:
        rest = path.read_bytes()[len(content) :] if path.exists() else b""
        path.write_bytes(content.encode() + rest)


@breaks_as_client("FS-007", "v1")
class ReadsOutside(FullClientV1):
    """Whatever an agent wants."""

    async def on_fs_read_text_file(self, params: dict[str, Any]) -> dict[str, Any]:
        if "accord-outside" in params["path"]:
            return {"content": "secret\n"}
        return await super().on_fs_read_text_file(params)


@breaks_as_client("FS-008", "v1")
class WritesOutside(FullClientV1):
    """Whatever an agent wants."""

    async def on_fs_write_text_file(self, params: dict[str, Any]) -> dict[str, Any]:
        self.put(Path(params["path"]), params["content"])
        return {}


@breaks_as_client("FS-009", "v1", note="whole")
class TakesNoLinesForAll(FullClientV1):
    """As if there were no limit."""

    def choose(self, text: str, line: int | None, limit: int | None) -> str:
        return super().choose(text, line, limit or None)


@breaks_as_client("FS-010", "v1")
class ReadsForNobody(FullClientV1):
    """Does not look for the session."""

    def check_session(self, _params: dict[str, Any]) -> None:
        """Nothing."""


@breaks_as_client("FS-011", "v1")
class ReadsRelativePaths(FullClientV1):
    """From where it happens to be."""

    def place(self, path: str) -> Path:
        return super().place(path if Path(path).is_absolute() else f"{self.folder}/{path}")


# --- terminals


@breaks_as_client("TERM-001", "v1")
class NumbersTerminals(FullClientV1):
    """Where ids are texts."""

    def created(self, _id: Any) -> dict[str, Any]:
        return {"terminalId": 7}


@breaks_as_client("TERM-001", "v1")
class MakesTerminalsWhenTheyEnd(FullClientV1):
    """Waits for the command first."""

    in_background = FullClientV1.in_background | {"terminal/create"}

    async def on_terminal_create(self, params: dict[str, Any]) -> dict[str, Any]:
        made = await super().on_terminal_create(params)
        await self.started[-1].ended()
        return made


@breaks_as_client("TERM-002", "v1")
class HasEndedBeforeTheEnd(FullClientV1):
    """An exit status for what runs."""

    def shown(self, terminal: Terminal) -> dict[str, Any]:
        return {"exitStatus": {"exitCode": None, "signal": None}, **super().shown(terminal)}


@breaks_as_client("TERM-003", "v1")
class LeavesOutVariables(FullClientV1):
    """That were asked for."""

    def variables(self, _params: dict[str, Any]) -> dict[str, str]:
        return {}


@breaks_as_client("TERM-004", "v1")
class TellsOfSuccess(FullClientV1):
    """To who waits, always."""

    def told(self, status: dict[str, Any]) -> dict[str, Any]:
        return {**status, "exitCode": 0} if status["exitCode"] == EXIT_CODE else status


class _KeepsTheBeginning(Terminal):
    def cut(self) -> None:
        if self.limit is not None and len(self.output) > self.limit:
            self.output = self.output[: self.limit].decode(errors="ignore").encode()
            self.is_cut = True


@breaks_as_client("TERM-005", "v1")
class KeepsTheBeginning(FullClientV1):
    """Of the output."""

    async def on_terminal_create(self, params: dict[str, Any]) -> dict[str, Any]:
        made = await super().on_terminal_create(params)
        self.started[-1].__class__ = _KeepsTheBeginning
        return made


@breaks_as_client("TERM-006", "v1")
class CutsCharacters(FullClientV1):
    """In the middle."""

    def shown(self, terminal: Terminal) -> dict[str, Any]:
        return {**super().shown(terminal), "output": terminal.output.decode(errors="replace")}


@breaks_as_client("TERM-007", "v1")
class HidesThatItCut(FullClientV1):
    """The output."""

    def shown(self, terminal: Terminal) -> dict[str, Any]:
        return {**super().shown(terminal), "truncated": False}


@breaks_as_client("TERM-008", "v1")
class ForgetsWhatItKilled(FullClientV1):
    """At once."""

    async def on_terminal_kill(self, params: dict[str, Any]) -> dict[str, Any]:
        await super().on_terminal_kill(params)
        self.forget(params["terminalId"])
        return {}


@breaks_as_client("TERM-009", "v1")
class HasACodeForSignals(FullClientV1):
    """As shells do."""

    def told(self, status: dict[str, Any]) -> dict[str, Any]:
        return status if status["signal"] is None else {"exitCode": 137, "signal": None}


@breaks_as_client("TERM-010", "v1")
class KeepsWhatIsReleased(FullClientV1):
    """For ever."""

    def forget(self, id_: str) -> None:
        """Nothing."""


@breaks_as_client("TERM-011", "v1")
class ForgetsWhoWaits(FullClientV1):
    """For what is released."""

    async def on_terminal_wait_for_exit(self, params: dict[str, Any]) -> dict[str, Any]:
        told = await super().on_terminal_wait_for_exit(params)
        if params["terminalId"] not in self.terminals:
            await asyncio.Event().wait()
        return told


@breaks_as_client("TERM-012", "v1")
class NeverShowsTheEnd(FullClientV1):
    """In the output."""

    def shown(self, terminal: Terminal) -> dict[str, Any]:
        shown = super().shown(terminal)
        shown.pop("exitStatus", None)
        return shown


@breaks_as_client("TERM-013", "v1")
class LetsRunWhatIsReleased(FullClientV1):
    """On its own."""

    def give_up(self, terminal: Terminal) -> None:
        terminal.is_released.set()


@breaks_as_client("TERM-014", "v1")
class LeavesCommandsBehind(FullClientV1):
    """When it ends."""

    async def at_end(self) -> None:
        self.started.clear()
        await super().at_end()
