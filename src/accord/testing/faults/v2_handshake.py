"""Agents of v2 that are wrong before there is a session: versions, who they are, capabilities, logins."""

from __future__ import annotations

from typing import Any

from accord.testing.faults.agent_v2 import FullV2, PlainV2
from accord.testing.faults.agent_v2_handshake import AUTH_REQUIRED, INVALID_PARAMS
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused

__all__: list[str] = []


@breaks("ACP-INIT-001", "v2")
class RefusesEveryHandshake(PlainV2):
    async def on_initialize(self, _params: dict[str, Any]) -> Any:
        raise Refused(-32603, "Internal error")


@breaks("ACP-INIT-201", "v2")
class SpeaksAVersionThatNobodyAskedFor(PlainV2):
    def handshake_result(self) -> Any:
        return {**super().handshake_result(), "protocolVersion": 3}


@breaks("ACP-INIT-003", "v2")
class EchoesTheFarFuture(PlainV2):
    def choose_version(self, asked: int) -> int:
        return asked if asked > max(self.versions) else super().choose_version(asked)


@breaks("ACP-INIT-202", "v2")
class DoesNotKnowVersionOne(PlainV2):
    def choose_version(self, asked: int) -> int:
        if asked == 1:
            raise Refused(INVALID_PARAMS, "Invalid params")
        return super().choose_version(asked)


@breaks("ACP-INIT-203", "v2")
class HasNoVersion(PlainV2):
    def info(self) -> Any:
        return {**super().info(), "version": ""}


@breaks("ACP-INIT-204", "v2")
class SaysTrueToImages(PlainV2):
    def session_capabilities(self) -> Any:
        return {"prompt": {"image": True}}


@breaks("ACP-SCHEMA-001", "v2")
class HasANumberForATitle(PlainV2):
    def info(self) -> Any:
        return {**super().info(), "title": 5}


@breaks("ACP-SCHEMA-002", "v2")
class TellsItsModelsWithTheSession(PlainV2):
    def session_result(self, session: Any) -> dict[str, Any]:
        return {**super().session_result(session), "models": ["small", "large"]}


@breaks("ACP-EXT-202", "v2")
class AdvertisesAnExtraBesideTheMetadata(FullV2):
    def capabilities(self) -> Any:
        return {**super().capabilities(), "example.com/extras": {"level": 2}}


@breaks("ACP-AUTH-201", "v2")
class HasTwoLoginsWithOneId(FullV2):
    def auth_methods(self) -> list[Any]:
        return [*super().auth_methods(), {**self.login_method(), "name": "Log in with another token"}]


@breaks("ACP-AUTH-202", "v2")
class OffersATerminalLoginToEveryone(FullV2):
    def auth_methods(self) -> list[Any]:
        return [self.login_method(), self.terminal_method()]


@breaks("ACP-AUTH-203", "v2")
class CannotLogOut(FullV2):
    async def on_auth_logout(self, _params: dict[str, Any]) -> Any:
        raise Refused(-32603, "Internal error")


@breaks("ACP-AUTH-204", "v2")
class CannotLogIn(FullV2):
    async def on_auth_login(self, _params: dict[str, Any]) -> Any:
        raise Refused(-32603, "Internal error")


@breaks("ACP-AUTH-205", "v2")
class WantsALoginThatItDoesNotHave(FullV2):
    def auth_methods(self) -> list[Any]:
        return []

    def check_servers(self, params: dict[str, Any]) -> None:
        super().check_servers(params)
        if params.get("mcpServers"):
            raise Refused(AUTH_REQUIRED, "Authentication required")


@breaks("ACP-AUTH-206", "v2")
class HasALoginOfAnUnknownType(FullV2):
    def auth_methods(self) -> list[Any]:
        return [*super().auth_methods(), {"type": "oauth", "methodId": "web", "name": "Log in on the web"}]


@breaks("ACP-AUTH-207", "v2")
class SetsAVariableTwiceForItsLogin(FullV2):
    def terminal_method(self) -> Any:
        variable = {"name": "LOGIN", "value": "1"}
        return {**super().terminal_method(), "env": [variable, variable]}
