"""Agents that are wrong about terminals, and about the files of a client."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.check.faults.change import after, instead, refuses, sets, skips
from tests.check.faults.fault import JUNE, V1, V2, breaks, full, plain
from tests.check.faults.reference.agent_v1_full import FullV1
from tests.check.faults.reference.raw import INTERNAL_ERROR
from tests.check.faults.reference.store import Session

__all__: list[str] = []

# --- files


def _also(*path: str, where: tuple[str, ...]) -> Any:
    """Takes one thing that a client offers for another."""
    return lambda _, old, *asked: old(*asked) or (asked == path and old(*where))


def _asks_with(**fields: Any) -> Any:
    """Questions about files have other fields."""
    return lambda _, old, method, params: old(method, {**params, **fields} if method.startswith("fs/") else params)


async def _reads_a_file(peer: Any, old: Any, session: Any, prompt: Any) -> None:
    await peer.ask("fs/read_text_file", {"sessionId": session.id, "path": f"{session.kept.cwd}/notes.txt"})
    await old(session, prompt)


async def _uses_files_first(peer: Any, old: Any, session: Session, tool: str) -> Any:
    await peer.use_files(session)
    return await old(session, tool)


_READ, _WRITE = ("fs", "readTextFile"), ("fs", "writeTextFile")
full("ACP-CLIENTCAP-001", V1, "FilesOfAll")(offers=lambda _, old, *path: path[0] == "fs" or old(*path))
full("ACP-CLIENTCAP-202", JUNE, "FilesFromThePast")(
    offers=lambda _, __, *path: path[0] == "fs", change=_uses_files_first
)
plain("ACP-CLIENTCAP-202", V2, "ReadsFilesOfTheClient")(reply=_reads_a_file)
full("ACCORD-FILES-001", V1, "ReadsWhereItMayWrite")(offers=_also(*_READ, where=_WRITE))
full("ACCORD-FILES-002", V1, "WritesWhereItMayRead")(offers=_also(*_WRITE, where=_READ))
full("ACCORD-FILES-003", V1, "RelativeFiles")(ask=_asks_with(path="notes.txt"))
full("ACCORD-SESSION-001", V1, "FilesOfAnotherSession")(ask=_asks_with(sessionId="somebody-else"))
full("ACCORD-OFFER-001", V1, "AllOrNothing")(
    use_files=refuses(INTERNAL_ERROR, lambda peer, _: peer.offers(*_READ) and not peer.offers(*_WRITE))
)

# --- terminals of the client, in v1


def _is_cancelled(*_: Any) -> bool:
    """Whether the turn that we are in was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _is_not_cancelled(*_: Any) -> bool:
    return not _is_cancelled()


def _looks_back(peer: Any, named: dict[str, Any]) -> None:
    peer.say({"jsonrpc": "2.0", "id": f"late-{id(named)}", "method": "terminal/output", "params": named})


async def _shows_it_too_late(peer: Any, session: Session, tool: str, content: list[dict[str, Any]]) -> None:
    terminal = await peer.create_terminal(session) if peer.offers("terminal") else None
    if terminal is None:
        return
    named = {"sessionId": session.id, "terminalId": terminal}
    try:
        await peer.ask("terminal/wait_for_exit", named)
    finally:
        peer.release(named)
    shown = [*content, {"type": "terminal", "terminalId": terminal}]
    peer.update(session, "tool_call_update", toolCallId=tool, content=shown)


full("ACP-CLIENTCAP-002", V1, "TerminalsOfAll")(offers=lambda _, old, *path: path == ("terminal",) or old(*path))
full("ACCORD-TERMINAL-001", V1, "RelativeCommands")(command=sets(cwd="."))
full("ACCORD-TERMINAL-002", V1, "KeepsTerminals")(release=skips(_is_not_cancelled))
full("ACCORD-TERMINAL-003", V1, "LooksBack")(release=after(_looks_back, _is_not_cancelled))
full("ACCORD-TERMINAL-004", V1, "ShowsItTooLate")(use_terminal=instead(_shows_it_too_late))
full("ACCORD-TERMINAL-006", V1, "KeepsCancelledTerminals")(release=skips(_is_cancelled))
full("ACCORD-TERMINAL-007", V1, "SendsAShellLine")(command=sets(command="echo hello && echo again", args=[]))


@breaks("ACCORD-TERMINAL-005", "v1")
class CommandsAreNotCancelled(FullV1):
    """Takes a command that is given up for the end of its work."""

    was_running = False

    async def use_terminal(self, session: Session, tool: str, content: list[dict[str, Any]]) -> None:
        try:
            await super().use_terminal(session, tool, content)
        except asyncio.CancelledError:
            self.was_running = True
            raise

    def cancelled_reason(self) -> str:
        was_running, self.was_running = self.was_running, False
        return "end_turn" if was_running else super().cancelled_reason()


# --- terminals of the agent, in v2


def _moves(peer: Any, session: Any, terminal: str, _: bytes) -> None:
    peer.update(session.id, {"sessionUpdate": "terminal_update", "terminalId": terminal, "cwd": "/"})


def _tells_text(peer: Any, session: Any, terminal: str, piece: bytes) -> None:
    chunk = {"sessionUpdate": "terminal_output_chunk", "terminalId": terminal, "data": piece.decode()}
    peer.update(session.id, chunk)


def _uses_one(peer: Any, session: Any, id_: str) -> None:
    terminal = f"terminal-of-{session.id}"
    peer.tell_terminal(session, terminal)
    peer.tell_content(session, id_, {"type": "terminal", "terminalId": terminal})
    peer.tell(session, "terminal_update", terminalId=terminal, exitStatus={"exitCode": 0})


def _shows_an_empty_one(peer: Any, session: Any, id_: str) -> None:
    peer.tell_content(session, id_, {"type": "terminal", "terminalId": "never-told"})


full("ACP-PATCH-206", V2, "MovesItsTerminal")(tell_output=after(_moves))
full("ACP-PATCH-207", V2, "TellsItsOutputAsText")(tell_output=instead(_tells_text))
full("ACCORD-TERM-201", V2, "ShowsAnEmptyTerminal")(run_command=instead(_shows_an_empty_one))
full("ACCORD-TERM-203", V2, "HasOneTerminal")(run_command=instead(_uses_one))
