"""The settings of a full reference agent in v2: logins, options, commands, pages."""

from __future__ import annotations

import copy
from typing import Any

from tests.check.faults.reference.agent_v2_history import KeptSession, Update
from tests.check.faults.reference.agent_v2_sessions import OpenSession, wrong
from tests.check.faults.reference.agent_v2_turn import TurnsV2

__all__ = ["UPDATED_AT", "EverythingV2"]

UPDATED_AT = "2026-11-16T12:00:00Z"
"""No clock is needed to have a time."""

_OPTIONS: list[dict[str, Any]] = [
    {
        "configId": "mode",
        "name": "Mode",
        "category": "mode",
        "type": "select",
        "currentValue": "ask",
        "options": [{"value": "ask", "name": "Ask"}, {"value": "code", "name": "Code", "description": "Changes files"}],
    },
    {
        "configId": "tone",
        "name": "Tone",
        "type": "select",
        "currentValue": "soft",
        "options": [
            {"groupId": "calm", "name": "Calm", "options": [{"value": "soft", "name": "Soft"}]},
            {"groupId": "loud", "name": "Loud", "options": [{"value": "hot", "name": "Hot"}]},
        ],
    },
    {"configId": "verbose", "name": "Verbose", "type": "boolean", "currentValue": False},
]
_MESSAGES = {"user_message", "agent_message", "agent_thought"}


class EverythingV2(TurnsV2):
    """Every capability is on."""

    name = "full"
    methods = TurnsV2.methods | {"session/delete", "session/set_config_option"}
    page_size = 8

    def info(self) -> Any:
        return {**super().info(), "title": "Full agent"}

    def capabilities(self) -> Any:
        """All of them, and one beside the protocol."""
        return {"session": self.session_capabilities(), "auth": {}, "_meta": {"example.com/extras": {"level": 2}}}

    def session_capabilities(self) -> Any:
        return {
            "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
            "mcp": {"stdio": {}, "http": {}},
            "delete": {},
            "additionalDirectories": {},
        }

    # --- logging in

    def auth_methods(self) -> list[Any]:
        """One that the protocol can do; one in a terminal, where the client has that."""
        methods = [self.login_method()]
        return [*methods, self.terminal_method()] if self.client_has("auth", "terminal") else methods

    def login_method(self) -> Any:
        """A way to log in by `auth/login`."""
        return {"type": "agent", "methodId": "token", "name": "Log in with a token"}

    def terminal_method(self) -> Any:
        """A way to log in by starting us in a terminal."""
        return {
            "type": "terminal",
            "methodId": "terminal",
            "name": "Log in here",
            "args": ["--login"],
            "env": [{"name": "LOGIN", "value": "1"}],
        }

    def client_has(self, *path: str) -> bool:
        found: Any = self.client
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return isinstance(found, dict)

    # --- options and commands

    def session_result(self, session: OpenSession) -> dict[str, Any]:
        """What can be chosen, and what can be typed."""
        return {"configOptions": self.options(session), "availableCommands": self.commands()}

    def first_values(self) -> dict[str, Any]:
        return {option["configId"]: option["currentValue"] for option in _OPTIONS}

    def options(self, session: OpenSession) -> list[Any]:
        options = copy.deepcopy(_OPTIONS)
        for option in options:
            option["currentValue"] = session.kept.values[option["configId"]]
        return options

    def commands(self) -> list[Any]:
        hint = {"type": "text", "hint": "whom"}
        return [{"type": "command", "name": "greet", "description": "Greet somebody", "input": hint}]

    async def on_session_set_config_option(self, params: dict[str, Any]) -> Any:
        session = self.open_session(params)
        option = next((each for each in _OPTIONS if each["configId"] == params.get("configId")), None)
        if option is None:
            raise wrong("configId", "the id of an option")
        self.check_value(option, params)
        session.kept.values[option["configId"]] = params["value"]
        self.tell_options(session)
        return self.set_result(session)

    def check_value(self, option: dict[str, Any], params: dict[str, Any]) -> None:
        """A value is of the option's type, and one of its choices."""
        if option["type"] == "boolean":
            if params.get("type") != "boolean" or not isinstance(params.get("value"), bool):
                raise wrong("value", "a boolean")
            return
        choices = [choice["value"] for each in option["options"] for choice in each.get("options", [each])]
        if params.get("type") != "id" or params.get("value") not in choices:
            raise wrong("value", "one of the choices")

    def set_result(self, session: OpenSession) -> Any:
        return {"configOptions": self.options(session)}

    def tell_options(self, session: OpenSession) -> None:
        self.tell(session, "config_option_update", configOptions=self.options(session))

    # --- telling

    def listed(self, kept: KeptSession) -> Any:
        """With the time of its last turn."""
        return {**super().listed(kept), "updatedAt": UPDATED_AT}

    def state_update(self, session: OpenSession, **more: Any) -> Update:
        """With what goes on behind the foreground, every time."""
        background = [{"type": "terminal", "terminalId": terminal} for terminal in session.background]
        return {**super().state_update(session, **more), "background": background}

    def replayed(self, entry: Update) -> list[Update]:
        """Messages begin empty and grow by chunks."""
        kind = entry["sessionUpdate"]
        if kind not in _MESSAGES or kind == "user_message":
            return [entry]
        chunks = [
            {"sessionUpdate": f"{kind}_chunk", "messageId": entry["messageId"], "content": block}
            for block in entry.get("content", [])
        ]
        return [{**entry, "content": []}, *chunks]
