"""The handshake: who is there and what each side can do."""

from msgspec import field

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Sieved, Wire
from accord.protocol.v1.auth import AuthMethod
from accord.protocol.v1.capabilities import AgentCapabilities, ClientCapabilities
from accord.protocol.v1.ids import ProtocolVersion


class Implementation(Wire):
    """Identifies a peer's software for logs and display; title is the form for people."""

    name: str
    version: str
    title: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class InitializeResponse(Wire):
    """Fixes the version of the connection; a client that cannot speak it should leave."""

    protocol_version: ProtocolVersion
    agent_capabilities: Lenient[AgentCapabilities] = field(default_factory=AgentCapabilities)
    auth_methods: Lenient[Sieved[list[AuthMethod]]] = []
    agent_info: Lenient[Maybe[Implementation]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class InitializeRequest(Wire):
    """First call on a connection; names the newest version the client speaks."""

    protocol_version: ProtocolVersion
    client_capabilities: Lenient[ClientCapabilities] = field(default_factory=ClientCapabilities)
    client_info: Lenient[Maybe[Implementation]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET
