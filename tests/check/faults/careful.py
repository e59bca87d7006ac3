"""Agents that conform to v1 and do what a hasty judge takes for a fault; each was seen in real agents."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.check.faults.reference.agent_v1 import PlainV1
from tests.check.faults.reference.agent_v1_full import FullV1
from tests.check.faults.reference.raw import INTERNAL_ERROR, INVALID_PARAMS, Refused
from tests.check.faults.reference.store import Session

__all__ = [
    "CAREFUL",
    "KillsAndWaits",
    "LoadsOnlyAfterRestart",
    "LoadsOnlyWhatIsClosed",
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


CAREFUL = (KillsAndWaits, LoadsOnlyWhatIsClosed, LoadsOnlyAfterRestart, RefusesSomeValues)
