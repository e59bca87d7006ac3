"""Withdrawing a request, in either direction."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Wire
from accord.protocol.v2.ids import RequestId


class CancelRequestNotification(Wire):
    """The caller gives up its own request, which still gets exactly one answer."""

    request_id: RequestId
    meta: Lenient[Maybe[Metadata]] = UNSET
