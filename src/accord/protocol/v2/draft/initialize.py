"""The handshake: who is there and what each side can do."""

from typing import TypeAlias

from msgspec import field

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Omittable, Sieved, Wire
from accord.protocol.v2.auth import AuthMethod
from accord.protocol.v2.draft.capabilities import AgentCapabilities
from accord.protocol.v2.ids import ProtocolVersion
from accord.protocol.v2.initialize import Implementation, InitializeRequest


class InitializeResponse(Wire):
    """Fixes the version of the connection; a client that cannot speak it should leave."""

    protocol_version: ProtocolVersion
    info: Implementation
    capabilities: Lenient[AgentCapabilities] = field(default_factory=AgentCapabilities)
    auth_methods: Lenient[Omittable[Sieved[list[AuthMethod]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


InitializeProxyRequest: TypeAlias = InitializeRequest
InitializeProxyResponse: TypeAlias = InitializeResponse
