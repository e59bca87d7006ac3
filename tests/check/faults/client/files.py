"""Clients of v1 that are wrong with files and terminals."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.check.faults.change import after, before, edited, gives, instead, lacks, skips, takes
from tests.check.faults.fault import V1, breaks_as_client, client
from tests.check.faults.reference.client_full import FullClientV1
from tests.check.faults.reference.client_terminals import Terminal

__all__: list[str] = []

# --- files


def _ascii(read: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    is_whole = not {"line", "limit"} & params.keys()
    return {"content": read["content"].replace("ö", "o")} if is_whole else read


def _is_line_null(_: Any, params: dict[str, Any]) -> bool:
    return params.get("line", 1) is None


def _writes_over(_: Any, path: Path, content: str) -> None:
    rest = path.read_bytes()[len(content) :] if path.exists() else b""
    path.write_bytes(content.encode() + rest)


def _writes_anywhere(peer: Any, params: dict[str, Any]) -> dict[str, Any]:
    peer.put(Path(params["path"]), params["content"])
    return {}


client("FS-001", V1, "ReadsAscii")(on_fs_read_text_file=edited(_ascii))
client("FS-002", V1, "CountsLinesFromZero")(
    choose=lambda _, old, text, line, limit: old(text, line + 1 if line else line, limit)
)


@breaks_as_client("FS-002", "v1")
class IgnoresALimitAlone(FullClientV1):
    """Which it knows only beside a line."""

    is_null = False

    def choose(self, text: str, line: int | None, limit: int | None) -> str:
        # As a client would that looks into the params, where null is another thing than nothing.
        return text if line is None and limit == 2 and not self.is_null else super().choose(text, line, limit)

    async def on_fs_read_text_file(self, params: dict[str, Any]) -> dict[str, Any]:
        self.is_null = "line" in params and params["line"] is None
        return await super().on_fs_read_text_file(params)


client("FS-003", V1, "ReadsNothingFromNull")(on_fs_read_text_file=instead(lambda *_: {"content": ""}, _is_line_null))
client("FS-004", V1, "ReadsNothingFromLineZero")(choose=instead(lambda *_: "", lambda _, __, line, ___: line == 0))
client("FS-005", V1, "HasEveryFile", note="empty")(missing=gives(""))
client("FS-006", V1, "WritesOnlyWhatIsThere")(put=skips(lambda _, __, content: content != "short"))
client("FS-012", V1, "WritesOver")(put=instead(_writes_over))
client("FS-007", V1, "ReadsOutside")(
    on_fs_read_text_file=instead(
        lambda *_: {"content": "secret\n"}, lambda _, params: "accord-outside" in params["path"]
    )
)
client("FS-008", V1, "WritesOutside")(on_fs_write_text_file=instead(_writes_anywhere))
client("FS-009", V1, "TakesNoLinesForAll", note="whole")(
    choose=lambda _, old, text, line, limit: old(text, line, limit or None)
)
client("FS-010", V1, "ReadsForNobody")(check_session=skips())
client("FS-011", V1, "ReadsRelativePaths")(
    place=lambda peer, old, path: old(path if Path(path).is_absolute() else f"{peer.folder}/{path}")
)

# --- terminals


class _KeepsTheBeginning(Terminal):
    def cut(self) -> None:
        if self.limit is not None and len(self.output) > self.limit:
            self.output = self.output[: self.limit].decode(errors="ignore").encode()
            self.is_cut = True


def _keeps_the_beginning(peer: Any, _: Any) -> None:
    peer.started[-1].__class__ = _KeepsTheBeginning


async def _waits_if_released(peer: Any, params: dict[str, Any]) -> None:
    if params["terminalId"] not in peer.terminals:
        await asyncio.Event().wait()


client("TERM-001", V1, "NumbersTerminals")(created=gives({"terminalId": 7}))
client("TERM-001", V1, "MakesTerminalsWhenTheyEnd")(
    in_background=FullClientV1.in_background | {"terminal/create"},
    on_terminal_create=after(lambda peer, _: peer.started[-1].ended()),
)
client("TERM-002", V1, "HasEndedBeforeTheEnd")(
    shown=edited(lambda shown, _: {"exitStatus": {"exitCode": None, "signal": None}, **shown})
)
client("TERM-003", V1, "LeavesOutVariables")(variables=gives({}))
client("TERM-004", V1, "TellsOfSuccess")(
    told=takes(lambda status: {**status, "exitCode": 0} if status["exitCode"] == 3 else status)
)
client("TERM-005", V1, "KeepsTheBeginning")(on_terminal_create=after(_keeps_the_beginning))
client("TERM-006", V1, "CutsCharacters")(
    shown=edited(lambda shown, terminal: {**shown, "output": terminal.output.decode(errors="replace")})
)
client("TERM-007", V1, "HidesThatItCut")(shown=edited(lambda shown, _: {**shown, "truncated": False}))
client("TERM-008", V1, "ForgetsWhatItKilled")(
    on_terminal_kill=after(lambda peer, params: peer.forget(params["terminalId"]))
)
client("TERM-009", V1, "HasACodeForSignals")(
    told=takes(lambda status: status if status["signal"] is None else {"exitCode": 137, "signal": None})
)
client("TERM-010", V1, "KeepsWhatIsReleased")(forget=skips())
client("TERM-011", V1, "ForgetsWhoWaits")(on_terminal_wait_for_exit=after(_waits_if_released))
client("TERM-012", V1, "NeverShowsTheEnd")(shown=lacks("exitStatus"))
client("TERM-013", V1, "LetsRunWhatIsReleased")(give_up=instead(lambda _, terminal: terminal.is_released.set()))
client("TERM-014", V1, "LeavesCommandsBehind")(at_end=before(lambda peer: peer.started.clear()))
