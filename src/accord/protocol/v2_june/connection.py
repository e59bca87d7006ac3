"""The types of a connection, as opposed to a session: ids, errors, capabilities, the handshake, the login."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import field

from accord.protocol.model import UNSET, Int32, Int64, Lenient, Maybe, Metadata, Open, Sieved, UInt16, Wire

# --- identifiers

RequestId: TypeAlias = Int64 | str | None
SessionId: TypeAlias = str
ToolCallId: TypeAlias = str
PermissionOptionId: TypeAlias = str
ProtocolVersion: TypeAlias = UInt16
SessionConfigId: TypeAlias = str
SessionConfigValueId: TypeAlias = str
SessionConfigGroupId: TypeAlias = str
MessageId: TypeAlias = str
PlanId: TypeAlias = str


# --- errors

ErrorCode: TypeAlias = Int32


class Error(Wire):
    """Failure of a call; data may be anything unless the code defines its shape."""

    code: ErrorCode
    message: str
    data: Any = UNSET


# --- capabilities


class PromptImageCapabilities(Wire):
    """Present (even empty) means: prompts may hold images."""

    meta: Maybe[Metadata] = UNSET


class PromptAudioCapabilities(Wire):
    """Present (even empty) means: prompts may hold audio."""

    meta: Maybe[Metadata] = UNSET


class PromptEmbeddedContextCapabilities(Wire):
    """Present (even empty) means: prompts may carry whole resources inside."""

    meta: Maybe[Metadata] = UNSET


class PromptCapabilities(Wire):
    """Blocks allowed in prompts besides text and resource links, which always are."""

    image: Lenient[Maybe[PromptImageCapabilities]] = UNSET
    audio: Lenient[Maybe[PromptAudioCapabilities]] = UNSET
    embedded_context: Lenient[Maybe[PromptEmbeddedContextCapabilities]] = UNSET
    meta: Maybe[Metadata] = UNSET


class McpStdioCapabilities(Wire):
    """Present (even empty) means: the agent can start MCP servers as child processes."""

    meta: Maybe[Metadata] = UNSET


class McpHttpCapabilities(Wire):
    """Present (even empty) means: the agent can reach MCP servers by HTTP."""

    meta: Maybe[Metadata] = UNSET


class McpCapabilities(Wire):
    """MCP transports the agent can use; v1 does not list stdio, as it always works there."""

    stdio: Lenient[Maybe[McpStdioCapabilities]] = UNSET
    http: Lenient[Maybe[McpHttpCapabilities]] = UNSET
    meta: Maybe[Metadata] = UNSET


class SessionLoadCapabilities(Wire):
    """Present (even empty) means: session/load may be called."""

    meta: Maybe[Metadata] = UNSET


class SessionListCapabilities(Wire):
    """Present (even empty) means: session/list may be called."""

    meta: Maybe[Metadata] = UNSET


class SessionDeleteCapabilities(Wire):
    """Present (even empty) means: session/delete may be called."""

    meta: Maybe[Metadata] = UNSET


class SessionAdditionalDirectoriesCapabilities(Wire):
    """Present (even empty) means: sessions may be given more roots than cwd."""

    meta: Maybe[Metadata] = UNSET


class SessionResumeCapabilities(Wire):
    """Present (even empty) means: session/resume may be called; it does not replay."""

    meta: Maybe[Metadata] = UNSET


class SessionCloseCapabilities(Wire):
    """Present (even empty) means: session/close may be called."""

    meta: Maybe[Metadata] = UNSET


class SessionCapabilities(Wire):
    """Session features the agent offers; each one left out counts as missing."""

    prompt: Lenient[Maybe[PromptCapabilities]] = UNSET
    mcp: Lenient[Maybe[McpCapabilities]] = UNSET
    load: Lenient[Maybe[SessionLoadCapabilities]] = UNSET
    list: Lenient[Maybe[SessionListCapabilities]] = UNSET
    delete: Lenient[Maybe[SessionDeleteCapabilities]] = UNSET
    additional_directories: Lenient[Maybe[SessionAdditionalDirectoriesCapabilities]] = UNSET
    resume: Lenient[Maybe[SessionResumeCapabilities]] = UNSET
    close: Lenient[Maybe[SessionCloseCapabilities]] = UNSET
    meta: Maybe[Metadata] = UNSET


class LogoutCapabilities(Wire):
    """Present (even empty) means: logout may be called."""

    meta: Maybe[Metadata] = UNSET


class AgentAuthCapabilities(Wire):
    """Login extras of the agent; says nothing about which login methods exist."""

    logout: Lenient[Maybe[LogoutCapabilities]] = UNSET
    meta: Maybe[Metadata] = UNSET


class AgentCapabilities(Wire):
    """The capabilities of the agent beyond the baseline; one that is left out must not be used."""

    session: Lenient[Maybe[SessionCapabilities]] = UNSET
    auth: AgentAuthCapabilities = field(default_factory=AgentAuthCapabilities)
    meta: Maybe[Metadata] = UNSET


class ClientCapabilities(Wire):
    """The capabilities of the client; one that is left out must not be used."""

    meta: Maybe[Metadata] = UNSET


# --- login and logout


class AuthMethodAgent(Wire, tag_field="type", tag="agent"):
    """The agent handles the login by itself once the client names this method."""

    id: str
    name: str
    description: Maybe[str] = UNSET
    meta: Maybe[Metadata] = UNSET


AuthMethod: TypeAlias = Open[AuthMethodAgent]


class AuthenticateResponse(Wire):
    """Login succeeded; calls refused before with -32000 can be tried again."""

    meta: Maybe[Metadata] = UNSET


class LogoutResponse(Wire):
    """Empty; from now on new sessions need a login again."""

    meta: Maybe[Metadata] = UNSET


class AuthenticateRequest(Wire):
    """Starts the login with that id; terminal methods never go this way."""

    method_id: str
    meta: Maybe[Metadata] = UNSET


class LogoutRequest(Wire):
    """Ends the login; sessions already open may or may not survive."""

    meta: Maybe[Metadata] = UNSET


# --- handshake


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
