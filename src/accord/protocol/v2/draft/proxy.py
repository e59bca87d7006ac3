"""Proxy chains: the handshake of a proxy and what it passes to its successor."""

from typing import Any, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Wire


class ProxySuccessorRequest(Wire):
    """Envelope for one call to or from the next component; the content is left untouched."""

    method: str
    params: Any = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


ProxySuccessorResponse: TypeAlias = Any


class ProxySuccessorNotification(Wire):
    """Envelope for one notification to or from the next component; no answer follows."""

    method: str
    params: Any = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET
