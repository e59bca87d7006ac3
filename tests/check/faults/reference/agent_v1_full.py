"""An agent of v1 by hand that has every capability and in each turn does all that it may do."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.check.faults.reference.agent_v1 import text_of
from tests.check.faults.reference.agent_v1_sessions import SessionsV1
from tests.check.faults.reference.agent_v1_turn import WorkV1
from tests.check.faults.reference.raw import INVALID_PARAMS, Refused
from tests.check.faults.reference.store import Session

__all__ = ["FullV1"]

MODES = {"ask": "Ask", "code": "Code"}
MODELS = {"small": "Small", "large": "Large"}


def _choices(names: dict[str, str]) -> list[dict[str, Any]]:
    return [{"value": value, "name": name} for value, name in names.items()]


class FullV1(WorkV1, SessionsV1):
    """Conforms to v1 and has all of it."""

    accepts: ClassVar[frozenset[str]] = frozenset({"text", "resource_link", "image", "audio", "resource"})

    def capabilities(self) -> dict[str, Any]:
        return {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": False},
            "sessionCapabilities": {"list": {}, "delete": {}, "additionalDirectories": {}, "resume": {}, "close": {}},
            "auth": {"logout": {}},
        }

    # --- settings

    def first_values(self) -> dict[str, Any]:
        return {"mode": "ask", "model": "small", "tone": "soft", "verbose": False}

    def settings(self, session: Session) -> dict[str, Any]:
        return {"modes": self.modes(session), "configOptions": self.options(session)}

    def modes(self, session: Session) -> dict[str, Any]:
        """The modes, and the one that holds."""
        modes = [{"id": mode, "name": name} for mode, name in MODES.items()]
        return {"currentModeId": session.values["mode"], "availableModes": modes}

    def options(self, session: Session) -> list[dict[str, Any]]:
        values = session.values
        tones = [
            {"group": "calm", "name": "Calm", "options": _choices({"soft": "Soft"})},
            {"group": "loud", "name": "Loud", "options": _choices({"hot": "Hot"})},
        ]
        selects = [
            {"id": "mode", "name": "Mode", "category": "mode", "options": _choices(MODES)},
            {"id": "model", "name": "Model", "category": "model", "options": _choices(MODELS)},
            {"id": "tone", "name": "Tone", "options": tones},
        ]
        options = [{**select, "type": "select", "currentValue": values[str(select["id"])]} for select in selects]
        return [*options, *self.toggles(session)]

    def toggles(self, session: Session) -> list[dict[str, Any]]:
        """The options that are on or off, if the client knows such."""
        if not self.offers("session", "configOptions", "boolean"):
            return []
        return [{"id": "verbose", "name": "Verbose", "type": "boolean", "currentValue": session.values["verbose"]}]

    async def on_session_set_mode(self, params: dict[str, Any]) -> Any:
        session, mode = self.find(params), params.get("modeId")
        if mode not in MODES:
            raise Refused(INVALID_PARAMS, "Invalid params: modeId")
        self.set_value(session, "mode", mode)
        self.show_mode(session)
        self.update(session, "config_option_update", configOptions=self.options(session))
        return {}

    def show_mode(self, session: Session) -> None:
        self.update(session, "current_mode_update", currentModeId=session.values["mode"])

    async def on_session_set_config_option(self, params: dict[str, Any]) -> Any:
        session, id_ = self.find(params), params.get("configId")
        option = next((option for option in self.options(session) if option["id"] == id_), None)
        if option is None or not _is_value(option, params.get("value")):
            raise Refused(INVALID_PARAMS, "Invalid params: value")
        self.set_value(session, option["id"], params["value"])
        if id_ == "mode":
            self.show_mode(session)
        return self.option_result(session)

    def set_value(self, session: Session, id_: str, value: Any) -> None:
        session.values[id_] = value
        self.store.keep(session)

    def option_result(self, session: Session) -> dict[str, Any]:
        """The answer to a request to set an option."""
        return {"configOptions": self.options(session)}

    # --- commands

    def show_commands(self, session: Session) -> None:
        self.update(session, "available_commands_update", availableCommands=self.commands())

    def commands(self) -> list[dict[str, Any]]:
        """What may be said with a slash."""
        return [{"name": "greet", "description": "Greet somebody", "input": {"hint": "whom"}}]

    async def turn(self, session: Session, blocks: list[Any]) -> str:
        """A command, or all the work."""
        command, _, whom = text_of(blocks).partition(" ")
        if command == "/greet":
            self.show_message(session, f"Hello {whom[:200]}")
            return self.stop_reason()
        return await super().turn(session, blocks)


def _is_value(option: dict[str, Any], value: Any) -> bool:
    if option["type"] == "boolean":
        return isinstance(value, bool)
    choices = [choice for each in option["options"] for choice in each.get("options", [each])]
    return any(choice["value"] == value for choice in choices)
