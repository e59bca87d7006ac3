"""Agents of v1 that are wrong about what they use of a client: files, terminals, forms, and what it does not know."""

from __future__ import annotations

import asyncio
from typing import Any

from accord.testing.faults.agent_v1 import FullV1
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused
from accord.testing.faults.shelf import Session

__all__: list[str] = []

INTERNAL_ERROR = -32603


def _is_cancelled() -> bool:
    """Whether the turn that we are in was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


# --- files


@breaks("ACCORD-FILES-001", "v1")
class ReadsWhereItMayWrite(FullV1):
    """Takes the one for the other."""

    def offers(self, *path: str) -> bool:
        """Whether the client offers something."""
        return super().offers(*path) or (path == ("fs", "readTextFile") and super().offers("fs", "writeTextFile"))


@breaks("ACCORD-FILES-002", "v1")
class WritesWhereItMayRead(FullV1):
    """Takes the one for the other."""

    def offers(self, *path: str) -> bool:
        """Whether the client offers something."""
        return super().offers(*path) or (path == ("fs", "writeTextFile") and super().offers("fs", "readTextFile"))


@breaks("ACCORD-FILES-003", "v1")
class RelativeFiles(FullV1):
    """Reads and writes below the folder of the session."""

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        """Ask the client and wait."""
        return await super().ask(method, {**params, "path": "notes.txt"} if method.startswith("fs/") else params)


@breaks("ACCORD-SESSION-001", "v1")
class FilesOfAnotherSession(FullV1):
    """Reads and writes in nobody's name."""

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        """Ask the client and wait."""
        changed = {**params, "sessionId": "somebody-else"} if method.startswith("fs/") else params
        return await super().ask(method, changed)


@breaks("ACCORD-OFFER-001", "v1")
class AllOrNothing(FullV1):
    """Knows only clients that read and write files, and clients without files."""

    async def use_files(self, session: Session) -> bool:
        """Write and read by the client."""
        if self.offers("fs", "readTextFile") and not self.offers("fs", "writeTextFile"):
            raise Refused(INTERNAL_ERROR, "Internal error")
        return await super().use_files(session)


# --- terminals


@breaks("ACCORD-TERMINAL-001", "v1")
class RelativeCommands(FullV1):
    """Runs commands where it thinks it is."""

    def command(self, session: Session) -> dict[str, Any]:
        """What is run."""
        return {**super().command(session), "cwd": "."}


@breaks("ACCORD-TERMINAL-002", "v1")
class KeepsTerminals(FullV1):
    """Does not give a terminal back."""

    def release(self, named: dict[str, Any]) -> None:
        """Give a terminal back."""
        if _is_cancelled():
            super().release(named)


@breaks("ACCORD-TERMINAL-003", "v1")
class LooksBack(FullV1):
    """Reads the output of a terminal that is gone."""

    def release(self, named: dict[str, Any]) -> None:
        """Give a terminal back."""
        super().release(named)
        if not _is_cancelled():
            self.say({"jsonrpc": "2.0", "id": f"late-{id(named)}", "method": "terminal/output", "params": named})


@breaks("ACCORD-TERMINAL-004", "v1")
class ShowsItTooLate(FullV1):
    """Shows a terminal that is gone."""

    async def use_terminal(self, session: Session, tool: str, content: list[dict[str, Any]]) -> None:
        """Run a command by the client, if it offers that."""
        terminal = await self.create_terminal(session) if self.offers("terminal") else None
        if terminal is None:
            return
        named = {"sessionId": session.id, "terminalId": terminal}
        try:
            await self.ask("terminal/wait_for_exit", named)
        finally:
            self.release(named)
        shown = [*content, {"type": "terminal", "terminalId": terminal}]
        self.update(session, "tool_call_update", toolCallId=tool, content=shown)


@breaks("ACCORD-TERMINAL-005", "v1")
class CommandsAreNotCancelled(FullV1):
    """Takes a command that is given up for the end of its work."""

    was_running = False

    async def use_terminal(self, session: Session, tool: str, content: list[dict[str, Any]]) -> None:
        """Run a command by the client, if it offers that."""
        try:
            await super().use_terminal(session, tool, content)
        except asyncio.CancelledError:
            self.was_running = True
            raise

    def cancelled_reason(self) -> str:
        """Why a turn ends that was cancelled."""
        was_running, self.was_running = self.was_running, False
        return "end_turn" if was_running else super().cancelled_reason()


@breaks("ACCORD-TERMINAL-006", "v1")
class KeepsCancelledTerminals(FullV1):
    """Does not give a terminal back when its turn is cancelled."""

    def release(self, named: dict[str, Any]) -> None:
        """Give a terminal back."""
        if not _is_cancelled():
            super().release(named)


# --- forms


def _form(**fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}}
    return {"mode": "form", "message": "Who are you?", "requestedSchema": schema, **fields}


@breaks("ACCORD-ELICIT-001", "v1")
class FormsForAll(FullV1):
    """Shows a form to whoever can open a page."""

    async def elicit(self, session: Session) -> None:
        """Ask the user something."""
        if self.offers("elicitation"):
            await self.ask("elicitation/create", _form(sessionId=session.id))


@breaks("ACCORD-ELICIT-002", "v1")
class PagesForAll(FullV1):
    """Opens a page by whoever can show a form."""

    async def elicit(self, session: Session) -> None:
        """Ask the user something."""
        await super().elicit(session)
        if self.offers("elicitation"):
            page = {"mode": "url", "elicitationId": "page-1", "url": "https://example.com/", "message": "Look"}
            await self.ask("elicitation/create", {**page, "sessionId": session.id})


@breaks("ACCORD-ELICIT-003", "v1")
class FormsOfNobody(FullV1):
    """Shows a form for a request that nobody made."""

    async def elicit(self, _session: Session) -> None:
        """Ask the user something."""
        if self.offers("elicitation", "form"):
            await self.ask("elicitation/create", _form(requestId=987654))


@breaks("ACCORD-ELICIT-004", "v1")
class FormsInForms(FullV1):
    """Shows a form with a form inside."""

    async def elicit(self, session: Session) -> None:
        """Ask the user something."""
        if self.offers("elicitation", "form"):
            inner = {"type": "object", "properties": {"street": {"type": "string"}}}
            schema = {"type": "object", "properties": {"address": inner}}
            await self.ask("elicitation/create", _form(sessionId=session.id, requestedSchema=schema))


# --- what it does not know


@breaks("ACCORD-NOTICE-001", "v1")
class NoticesForAll(FullV1):
    """Sends notices to whoever is there."""

    def show_extras(self, session: Session) -> None:
        """What only some clients know."""
        super().show_extras(session)
        if not self.offers("session", "notices"):
            self.update(session, "notice", severity="info", title="Almost done")


@breaks("ACCORD-COMPACT-001", "v1")
class CompactionsForAll(FullV1):
    """Tells of compactions whoever is there."""

    def show_extras(self, session: Session) -> None:
        """What only some clients know."""
        super().show_extras(session)
        if not self.offers("session", "compaction"):
            self.show_compaction(session, "compaction-1")


@breaks("ACCORD-AUTH-002", "v1")
class EnvironmentIsAList(FullV1):
    """Writes the environment of a login as another edition does."""

    def terminal_methods(self) -> list[dict[str, Any]]:
        """How to log in at a terminal."""
        env = [{"name": "BY_HAND", "value": "1"}]
        return [{**method, "env": env} for method in super().terminal_methods()]
