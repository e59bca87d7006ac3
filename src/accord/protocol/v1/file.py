"""Text files, read and written by the client."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, UInt32, Wire
from accord.protocol.v1.ids import SessionId


class WriteTextFileRequest(Wire):
    """Replaces the whole file, creating it if missing; needs the client's writeTextFile flag."""

    session_id: SessionId
    path: str
    content: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class ReadTextFileRequest(Wire):
    """Sees unsaved editor text too; line counts from 1 and limit is a number of lines."""

    session_id: SessionId
    path: str
    line: Maybe[UInt32] = UNSET
    limit: Maybe[UInt32] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class WriteTextFileResponse(Wire):
    """Empty; the text is written, and some clients send null in its place."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ReadTextFileResponse(Wire):
    """The text asked for, with unsaved edits of the editor included."""

    content: str
    meta: Lenient[Maybe[Metadata]] = UNSET
