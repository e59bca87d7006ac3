"""Agents of v1 that are wrong about the handshake, the shapes of what they say, and logins."""

from __future__ import annotations

from typing import Any

from accord.testing.faults.agent_v1 import FullV1, PlainV1
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused
from accord.testing.faults.shelf import Session
from accord.testing.faults.v1_sessions import TwoAtOnce

__all__: list[str] = []

AUTH_REQUIRED = -32000


@breaks("ACP-INIT-001", "v1")
class NoHandshake(PlainV1):
    """Has a bad day."""

    async def on_initialize(self, _params: dict[str, Any]) -> Any:
        """Who are you, who am I."""
        raise Refused(-32603, "Internal error")


@breaks("ACP-INIT-001", "v1")
class CapabilitiesAreAList(PlainV1):
    """Says what it can do in a shape that nobody expects."""

    def handshake_result(self, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to the handshake."""
        return {**super().handshake_result(params), "agentCapabilities": ["everything"]}


@breaks("ACP-INIT-002", "v1")
class OnlyVersionTwo(PlainV1):
    """Has forgotten the past."""

    def version(self, _asked: int) -> int:
        """The version that is spoken from now on."""
        return 2


@breaks("ACP-INIT-003", "v1")
class EchoesAnyVersion(PlainV1):
    """Speaks every version that will ever be."""

    def version(self, asked: int) -> int:
        """The version that is spoken from now on."""
        return asked


@breaks("ACP-INIT-003", "v1")
class RefusesTheFuture(PlainV1):
    """Does not speak with who asks for too much."""

    def version(self, asked: int) -> int:
        """The version that is spoken from now on."""
        if asked > 1:
            raise Refused(-32602, "Unsupported version")
        return asked


@breaks("ACP-INIT-004", "v1")
class Nameless(PlainV1):
    """Does not say who it is."""

    def handshake_result(self, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to the handshake."""
        return {key: value for key, value in super().handshake_result(params).items() if key != "agentInfo"}


@breaks("ACP-SCHEMA-001", "v1")
class QuestionsWithNumbers(FullV1):
    """Numbers the tools for which it asks for permission, instead of naming them."""

    def permission(self, session: Session, tool: str) -> dict[str, Any]:
        """The question whether a tool may run."""
        return {**super().permission(session, tool), "toolCall": {"toolCallId": tool, "title": 7}}


@breaks("ACP-SCHEMA-002", "v1")
class KeysOfItsOwn(PlainV1):
    """Counts tokens where nobody looks."""

    def prompt_result(self, reason: str) -> dict[str, Any]:
        """The answer to a prompt."""
        return {**super().prompt_result(reason), "tokens": 12}


# --- logins


@breaks("ACP-AUTH-001", "v1")
class TwoLoginsWithOneId(FullV1):
    """Has two ways to log in, and one word for them."""

    def auth_methods(self) -> list[dict[str, Any]]:
        """How to log in."""
        first, *others = super().auth_methods()
        return [first, {**first, "name": "Log in with a browser"}, *others]


@breaks("ACP-AUTH-002", "v1")
class TerminalLoginForAll(FullV1):
    """Offers a login by a terminal to clients without one."""

    def offers(self, *path: str) -> bool:
        """Whether the client offers something."""
        return path == ("auth", "terminal") or super().offers(*path)


@breaks("ACP-AUTH-003", "v1")
class LoginIsForgotten(FullV1):
    """Takes a login twice, and opens no session after that."""

    has_login = False

    async def on_authenticate(self, params: dict[str, Any]) -> Any:
        """Log in."""
        result = await super().on_authenticate(params)
        self.is_logged_in, self.has_login = not self.has_login, True
        return result


@breaks("ACP-AUTH-004", "v1")
class NoWayOut(FullV1):
    """Advertises a logout that fails."""

    async def on_logout(self, _params: dict[str, Any]) -> Any:
        """Log out."""
        raise Refused(-32603, "Internal error")


@breaks("ACP-AUTH-005", "v1")
class LoginWithoutMethods(TwoAtOnce):
    """Asks for a login that nobody can do, from who wants two sessions at once."""

    async def take_second(self, message: dict[str, Any]) -> None:
        """A request for a second session right behind the first."""
        self.refuse(message["id"], AUTH_REQUIRED, "Authentication required")


# --- settings


@breaks("ACP-MODES-001", "v1")
class UnknownCurrentMode(FullV1):
    """Is in a mode that it does not offer."""

    def modes(self, session: Session) -> dict[str, Any]:
        """The modes, and the one that holds."""
        return {**super().modes(session), "currentModeId": "daydreaming"}


@breaks("ACP-MODES-002", "v1")
class ModesCannotBeSet(FullV1):
    """Offers modes and keeps to one."""

    async def on_session_set_mode(self, _params: dict[str, Any]) -> Any:
        """Another mode."""
        raise Refused(-32603, "Internal error")


@breaks("ACP-MODES-002", "v1")
class ModeUpdateSaysModeId(FullV1):
    """Has the wrong word for the current mode."""

    def show_mode(self, session: Session) -> None:
        """Tell the mode that holds."""
        self.update(session, "current_mode_update", modeId=session.values["mode"])


@breaks("ACP-CONFIG-001", "v1")
class ValueIsNoChoice(FullV1):
    """Has an option with a value that cannot be chosen."""

    def first_values(self) -> dict[str, Any]:
        """The options of a new session."""
        return {**super().first_values(), "model": "enormous"}


@breaks("ACP-CONFIG-002", "v1")
class OnlyTheChangedOption(FullV1):
    """Answers with the option that was set and no other."""

    async def on_session_set_config_option(self, params: dict[str, Any]) -> Any:
        """Another value of an option."""
        result = await super().on_session_set_config_option(params)
        return {"configOptions": [each for each in result["configOptions"] if each["id"] == params["configId"]]}


@breaks("ACP-CONFIG-002", "v1")
class OptionsDoNotChange(FullV1):
    """Answers with all options, and the old value."""

    def set_value(self, session: Session, id_: str, value: Any) -> None:
        """Set an option."""
        if id_ != "model":
            super().set_value(session, id_, value)


@breaks("ACP-CONFIG-003", "v1")
class TogglesForAll(FullV1):
    """Offers toggles to clients that do not know them."""

    def offers(self, *path: str) -> bool:
        """Whether the client offers something."""
        return path == ("session", "configOptions", "boolean") or super().offers(*path)
