"""Agents that are wrong about logins."""

from __future__ import annotations

from typing import Any

from tests.check.faults.agent.sessions import TwoAtOnce
from tests.check.faults.change import NOBODY, after, edited, gives, having, instead, refuses, sets
from tests.check.faults.fault import JUNE, V1, V2, breaks, full
from tests.check.faults.reference.agent_v1_full import FullV1
from tests.check.faults.reference.raw import AUTH_REQUIRED, INTERNAL_ERROR, NO_METHOD, Refused

__all__: list[str] = []


def _wants_a_login(*_: Any) -> None:
    raise Refused(AUTH_REQUIRED, "Authentication required")


_VARIABLE = {"name": "LOGIN", "value": "1"}

full("ACP-AUTH-001", V1 + JUNE, "TwoLoginsWithOneId")(
    auth_methods=edited(lambda methods: [methods[0], {**methods[0], "name": "Log in with a browser"}, *methods[1:]])
)
full("ACP-AUTH-201", V2, "HasTwoLoginsWithOneId")(
    auth_methods=edited(lambda methods: [*methods, {**methods[0], "name": "Log in with another token"}])
)
full("ACP-AUTH-002", V1, "TerminalLoginForAll")(offers=lambda _, old, *path: path == ("auth", "terminal") or old(*path))
full("ACP-AUTH-202", V2, "OffersATerminalLoginToEveryone")(
    auth_methods=lambda peer, _: [peer.login_method(), peer.terminal_method()]
)
full("ACP-AUTH-004", V1 + JUNE, "NoWayOut")(on_logout=refuses(INTERNAL_ERROR))
full("ACP-AUTH-203", V2, "CannotLogOut")(on_auth_logout=refuses(INTERNAL_ERROR))
full("ACP-AUTH-204", V2, "CannotLogIn")(on_auth_login=refuses(INTERNAL_ERROR))
full("ACP-AUTH-205", V2, "WantsALoginThatItDoesNotHave")(
    auth_methods=gives([]), check_servers=after(_wants_a_login, lambda _, params: params.get("mcpServers"))
)
full("ACP-AUTH-206", V2, "HasALoginOfAnUnknownType")(
    auth_methods=edited(lambda methods: [*methods, {"type": "oauth", "methodId": "web", "name": "On the web"}])
)
full("ACP-AUTH-207", V2, "SetsAVariableTwiceForItsLogin")(terminal_method=sets(env=[_VARIABLE, _VARIABLE]))
full("ACCORD-AUTH-001", V1 + JUNE, "AnyLoginWillDo")(on_authenticate=instead(lambda *_: {}, having(methodId=NOBODY)))
full("ACCORD-AUTH-002", V1, "EnvironmentIsAList")(
    terminal_methods=edited(lambda methods: [{**method, "env": [_VARIABLE]} for method in methods])
)
full("ACCORD-AUTH-003", V1 + JUNE, "StaysLoggedIn")(on_logout=gives({}))
full("ACCORD-AUTH-201", V2, "KnowsOnlyItsLogin")(
    on_auth_login=refuses(NO_METHOD, lambda _, params: params.get("methodId") != "token")
)
full("ACCORD-JUNE-AUTH-001", JUNE, "LoginWithoutType")(auth_methods=gives([{"id": "token", "name": "Log in"}]))


@breaks("ACP-AUTH-003", "v1", "v2_june")
class LoginIsForgotten(FullV1):
    """Takes a login twice, and opens no session after that."""

    has_login = False

    async def on_authenticate(self, params: dict[str, Any]) -> Any:
        result = await super().on_authenticate(params)
        self.is_logged_in, self.has_login = not self.has_login, True
        return result


@breaks("ACP-AUTH-005", "v1", "v2_june")
class LoginWithoutMethods(TwoAtOnce):
    """Asks for a login that nobody can do, from who wants two sessions at once."""

    async def take_second(self, message: dict[str, Any]) -> None:
        self.refuse(message["id"], AUTH_REQUIRED, "Authentication required")
