"""The handshake: who is there and what each side can do."""

from msgspec import field

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Sieved, Wire
from accord.protocol.v2_june.auth import AuthMethod
from accord.protocol.v2_june.capabilities import AgentCapabilities, ClientCapabilities
from accord.protocol.v2_june.ids import ProtocolVersion


class Implementation(Wire):
    """Identifies a peer's software for logs and display; title is the form for people."""

    name: str
    version: str
    title: Maybe[str] = UNSET
    meta: Maybe[Metadata] = UNSET


class InitializeResponse(Wire):
    """Fixes the version of the connection; a client that cannot speak it should leave."""

    protocol_version: ProtocolVersion
    capabilities: AgentCapabilities = field(default_factory=AgentCapabilities)
    auth_methods: Lenient[Sieved[list[AuthMethod]]] = []
    agent_info: Lenient[Maybe[Implementation]] = UNSET
    meta: Maybe[Metadata] = UNSET


class InitializeRequest(Wire):
    """First call on a connection; names the newest version the client speaks."""

    protocol_version: ProtocolVersion
    capabilities: ClientCapabilities = field(default_factory=ClientCapabilities)
    client_info: Lenient[Maybe[Implementation]] = UNSET
    meta: Maybe[Metadata] = UNSET
