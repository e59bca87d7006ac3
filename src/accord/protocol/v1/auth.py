"""Logging in and out."""

from typing import TYPE_CHECKING, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, NullIsEmpty, Unknown, Untagged, Wire
from accord.protocol.v1.ids import AuthMethodId


class AuthMethodTerminal(Wire, tag_field="type", tag="terminal"):
    """The client runs the agent program in a real terminal; exit 0 means logged in."""

    id: AuthMethodId
    name: str
    description: Lenient[Maybe[str]] = UNSET
    args: NullIsEmpty[list[str]] = []
    env: NullIsEmpty[dict[str, str]] = {}
    meta: Lenient[Maybe[Metadata]] = UNSET


class AuthMethodAgent(Wire):
    """The agent handles the login by itself once the client names this method."""

    id: AuthMethodId
    name: str
    description: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


if TYPE_CHECKING:
    AuthMethod: TypeAlias = AuthMethodTerminal | AuthMethodAgent | Unknown
else:

    class AuthMethod(Untagged):
        """One way to log in, offered at initialize; ids not offered there are invalid."""

        tag_field = "type"
        tagged = {"terminal": AuthMethodTerminal, "agent": AuthMethodAgent}
        plain = (AuthMethodAgent,)


class AuthenticateResponse(Wire):
    """Login succeeded; calls refused before with -32000 can be tried again."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class LogoutResponse(Wire):
    """Empty; from now on new sessions need a login again."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class AuthenticateRequest(Wire):
    """Starts the login with that id; terminal methods never go this way."""

    method_id: AuthMethodId
    meta: Lenient[Maybe[Metadata]] = UNSET


class LogoutRequest(Wire):
    """Ends the login; sessions already open may or may not survive."""

    meta: Lenient[Maybe[Metadata]] = UNSET
