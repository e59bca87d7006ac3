"""Logging in and out."""

from typing import TypeAlias

from accord.protocol.model import UNSET, Maybe, Metadata, Open, Wire


class AuthMethodAgent(Wire, tag_field="type", tag="agent"):
    """The agent handles the login by itself once the client names this method."""

    id: str
    name: str
    description: Maybe[str] = UNSET
    meta: Maybe[Metadata] = UNSET


AuthMethod: TypeAlias = Open[AuthMethodAgent]


class AuthenticateResponse(Wire):
    """Login succeeded; calls refused before with -32000 can be tried again."""

    meta: Maybe[Metadata] = UNSET


class LogoutResponse(Wire):
    """Empty; from now on new sessions need a login again."""

    meta: Maybe[Metadata] = UNSET


class AuthenticateRequest(Wire):
    """Starts the login with that id; terminal methods never go this way."""

    method_id: str
    meta: Maybe[Metadata] = UNSET


class LogoutRequest(Wire):
    """Ends the login; sessions already open may or may not survive."""

    meta: Maybe[Metadata] = UNSET
