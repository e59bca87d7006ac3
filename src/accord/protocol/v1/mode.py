"""Modes of a session: the older sister of config options."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Sieved, Wire
from accord.protocol.v1.ids import SessionId, SessionModeId


class SessionMode(Wire):
    """One way of working the user can pick, with texts for a menu."""

    id: SessionModeId
    name: str
    description: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionModeState(Wire):
    """Modes on offer and the active one; clients that know config options ignore it."""

    current_mode_id: SessionModeId
    available_modes: Lenient[Sieved[list[SessionMode]]]
    meta: Lenient[Maybe[Metadata]] = UNSET


class SetSessionModeResponse(Wire):
    """Empty; the 2025 text names its metadata key meta, without the underscore."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class CurrentModeUpdate(Wire, tag_field="sessionUpdate", tag="current_mode_update"):
    """The mode in force from now on, also when the agent switched without being asked."""

    current_mode_id: SessionModeId
    meta: Lenient[Maybe[Metadata]] = UNSET


class SetSessionModeRequest(Wire):
    """Allowed at any time, also while a turn is running."""

    session_id: SessionId
    mode_id: SessionModeId
    meta: Lenient[Maybe[Metadata]] = UNSET
