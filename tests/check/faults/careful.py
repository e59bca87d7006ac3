"""Agents that conform and do what a hasty judge takes for a fault; each was seen in real agents."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.check.faults.reference.agent_v1 import PlainV1
from tests.check.faults.reference.agent_v1_full import FullV1
from tests.check.faults.reference.agent_v2 import FullV2
from tests.check.faults.reference.raw import INTERNAL_ERROR, INVALID_PARAMS, Refused
from tests.check.faults.reference.store import Session

__all__ = [
    "CAREFUL",
    "KeepsPromptedSessions",
    "KeepsPromptedSessionsV2",
    "KillsAndWaits",
    "LoadsOnlyAfterRestart",
    "LoadsOnlyWhatIsClosed",
    "NeverResumesWithOtherRoots",
    "RefusesSomeValues",
    "StuckOnce",
]


class KillsAndWaits(FullV1):
    """Kills the command of a cancelled turn, and answers the prompt when the command has ended."""

    async def use_terminal(self, session: Session, tool: str, content: list[dict[str, Any]]) -> None:
        """Run a command by the client."""
        if not self.offers("terminal"):
            return
        terminal = await self.create_terminal(session)
        if terminal is None:
            return
        named = {"sessionId": session.id, "terminalId": terminal}
        shown = [*content, {"type": "terminal", "terminalId": terminal}]
        self.update(session, "tool_call_update", toolCallId=tool, content=shown)
        exited = asyncio.ensure_future(self.ask("terminal/wait_for_exit", named))
        try:
            await asyncio.shield(exited)
            await self.ask("terminal/output", named)
        except asyncio.CancelledError:
            if not self.is_ending:
                # As the specification has it for a timeout: kill, wait for the end, take the output, release.
                await self.ask("terminal/kill", named)
                await exited
                output = await self.ask("terminal/output", named)
                if "exitStatus" not in output.get("result", {}):
                    await asyncio.Event().wait()
            raise
        finally:
            self.release(named)


class LoadsOnlyWhatIsClosed(FullV1):
    """Refuses to load or resume a session that is open in this process."""

    def saved(self, params: dict[str, Any]) -> Session:
        if params.get("sessionId") in self.sessions:
            raise Refused(INTERNAL_ERROR, "This session is open")
        return super().saved(params)


class LoadsOnlyAfterRestart(LoadsOnlyWhatIsClosed):
    """The same, and cannot close."""

    def capabilities(self) -> dict[str, Any]:
        said = super().capabilities()
        del said["sessionCapabilities"]["close"]
        return said


class KeepsPromptedSessions(FullV1):
    """Forgets a closed session without a turn, and does not answer prompts of a session that it closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed: set[str] = set()

    async def on_session_close(self, params: dict[str, Any]) -> Any:
        session = self.find(params)
        self.closed.add(session.id)
        result = await super().on_session_close(params)
        if not session.history:
            self.store.forget(session.id)
        return result

    async def on_session_prompt(self, params: dict[str, Any]) -> Any:
        if params.get("sessionId") in self.closed - self.sessions.keys():
            await asyncio.Event().wait()
        return await super().on_session_prompt(params)


class NeverResumesWithOtherRoots(KeepsPromptedSessions):
    """The same, and refuses to resume a session with other roots than it had."""

    def roots_of(self, params: dict[str, Any]) -> list[str]:
        roots = super().roots_of(params)
        if roots and "sessionId" in params:
            raise Refused(INVALID_PARAMS, "Other roots")
        return roots


class KeepsPromptedSessionsV2(FullV2):
    """Forgets a closed session without a turn."""

    async def close(self, id_: Any) -> None:
        await super().close(id_)
        if id_ in self.kept and not self.kept[id_].history():
            del self.kept[id_]


class ForgetsClosedSessions(FullV2):
    """Keeps no session that was closed."""

    async def close(self, id_: Any) -> None:
        await super().close(id_)
        self.kept.pop(id_, None)


class RefusesSomeValues(FullV1):
    """Offers values that the user's plan does not have, and refuses them."""

    def options(self, session: Session) -> list[dict[str, Any]]:
        extra = {"value": "premium", "name": "Premium"}
        return [
            {**option, "options": [extra, *option["options"]]} if option["id"] == "model" else option
            for option in super().options(session)
        ]

    async def on_session_set_config_option(self, params: dict[str, Any]) -> Any:
        if params.get("value") == "premium":
            raise Refused(INVALID_PARAMS, "Your plan does not have it")
        return await super().on_session_set_config_option(params)


class StuckOnce(PlainV1):
    """One turn never ends, as when a model is down for a while; every other turn takes a moment."""

    moment_seconds = 0.4
    _stuck = False

    async def turn(self, session: Session, blocks: list[Any]) -> str:
        if not StuckOnce._stuck:
            StuckOnce._stuck = True
            await asyncio.Event().wait()
        await asyncio.sleep(self.moment_seconds)
        return await super().turn(session, blocks)


CAREFUL = (KeepsPromptedSessions, KillsAndWaits, LoadsOnlyWhatIsClosed, LoadsOnlyAfterRestart, RefusesSomeValues)
