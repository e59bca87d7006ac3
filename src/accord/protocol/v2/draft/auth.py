"""Logging in and out."""

from typing import Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Omittable, Sieved, Wire

AuthState: TypeAlias = Literal["authenticated", "unauthenticated", "not_required", "unknown"] | str


class AuthAccount(Wire):
    """For display only: not a stable key, and better kept out of logs."""

    label: str
    active: Lenient[Maybe[bool]] = UNSET
    name: Lenient[Maybe[str]] = UNSET
    email: Lenient[Maybe[str]] = UNSET
    organization: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AuthStatusResponse(Wire):
    """Act on state alone; accounts are only there to be shown."""

    state: AuthState
    accounts: Lenient[Omittable[Sieved[list[AuthAccount]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AuthStatusUpdateNotification(Wire):
    """From the agent when its login state changed; fields as in the auth/status result."""

    state: AuthState
    accounts: Lenient[Omittable[Sieved[list[AuthAccount]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AuthStatusRequest(Wire):
    """Asks without changing anything; never refused for want of a login."""

    meta: Lenient[Maybe[Metadata]] = UNSET
