"""The handshake: who is there and what each side can do."""

from msgspec import field

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Omittable, Sieved, Wire
from accord.protocol.v2.auth import AuthMethod
from accord.protocol.v2.capabilities import AgentCapabilities, ClientCapabilities
from accord.protocol.v2.ids import ProtocolVersion


class Implementation(Wire):
    """Identifies a peer's software for logs and display; title is the form for people."""

    name: str
    version: str
    title: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class InitializeResponse(Wire):
    """Fixes the version of the connection; a client that cannot speak it should leave."""

    protocol_version: ProtocolVersion
    info: Implementation
    capabilities: Lenient[AgentCapabilities] = field(default_factory=AgentCapabilities)
    auth_methods: Lenient[Omittable[Sieved[list[AuthMethod]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class InitializeRequest(Wire):
    """First call on a connection; names the newest version the client speaks."""

    protocol_version: ProtocolVersion
    info: Implementation
    capabilities: Lenient[ClientCapabilities] = field(default_factory=ClientCapabilities)
    meta: Lenient[Maybe[Metadata]] = UNSET
