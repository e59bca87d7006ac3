"""Logging in and out."""

from typing import TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, NullIsEmpty, Open, Wire
from accord.protocol.v2.ids import AuthMethodId
from accord.protocol.v2.mcp import EnvVariable


class AuthMethodTerminal(Wire, tag_field="type", tag="terminal"):
    """The client runs the agent program in a real terminal; exit 0 means logged in."""

    method_id: AuthMethodId
    name: str
    description: Lenient[Maybe[str]] = UNSET
    args: NullIsEmpty[list[str]] = []
    env: NullIsEmpty[list[EnvVariable]] = []
    meta: Lenient[Maybe[Metadata]] = UNSET


class AuthMethodAgent(Wire, tag_field="type", tag="agent"):
    """The agent handles the login by itself once the client names this method."""

    method_id: AuthMethodId
    name: str
    description: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


AuthMethod: TypeAlias = Open[AuthMethodTerminal | AuthMethodAgent]


class LoginAuthResponse(Wire):
    """Login succeeded; calls refused before with -32000 can be tried again."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class LogoutAuthResponse(Wire):
    """Empty; gated calls fail with -32000 until the next login."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class LoginAuthRequest(Wire):
    """Starts an agent login from authMethods; terminal methods never go this way."""

    method_id: AuthMethodId
    meta: Lenient[Maybe[Metadata]] = UNSET


class LogoutAuthRequest(Wire):
    """Allowed only if authMethods is not empty; what becomes of open sessions is undefined."""

    meta: Lenient[Maybe[Metadata]] = UNSET
