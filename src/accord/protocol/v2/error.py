"""Error objects of this edition: the codes it names and the data it defines."""

from typing import Any, TypeAlias

from accord.protocol.model import UNSET, Int32, Lenient, Maybe, Metadata, Wire
from accord.protocol.v2.ids import ProtocolVersion, SessionId

ErrorCode: TypeAlias = Int32
ErrorData: TypeAlias = Any


class Error(Wire):
    """Failure of a call; data may be anything unless the code defines its shape."""

    code: ErrorCode
    message: str
    data: Lenient[Maybe[ErrorData]] = UNSET


class UnsupportedProtocolVersionErrorData(Wire):
    """With -32022: all versions the agent has are newer than the one asked for."""

    requested: ProtocolVersion
    supported: list[ProtocolVersion]
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionNotFoundErrorData(Wire):
    """With -32002: the session is unknown or not active here."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET
