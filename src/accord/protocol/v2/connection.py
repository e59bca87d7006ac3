"""The types of a connection, as opposed to a session: ids, errors, capabilities, the handshake, the login."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import field

from accord.protocol.model import (
    UNSET,
    Int32,
    Int64,
    Lenient,
    Maybe,
    Metadata,
    NullIsEmpty,
    Omittable,
    Open,
    Sieved,
    UInt16,
    Wire,
)

# --- identifiers

RequestId: TypeAlias = Int64 | str
SessionId: TypeAlias = str
ToolCallId: TypeAlias = str
MediaType: TypeAlias = str
AbsolutePath: TypeAlias = str
TerminalId: TypeAlias = str
PermissionOptionId: TypeAlias = str
ElicitationId: TypeAlias = str
ProtocolVersion: TypeAlias = UInt16
AuthMethodId: TypeAlias = str
SessionConfigId: TypeAlias = str
SessionConfigValueId: TypeAlias = str
SessionConfigGroupId: TypeAlias = str
SessionListCursor: TypeAlias = str
MessageId: TypeAlias = str
PlanId: TypeAlias = str
CompactionId: TypeAlias = str


# --- withdrawing a request


class CancelRequestNotification(Wire):
    """The caller gives up its own request, which still gets exactly one answer."""

    request_id: RequestId
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- errors

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


# --- capabilities


class ToolCallCancelCapabilities(Wire):
    """Present (even empty) means: tool_call/cancel may be used on this call for now."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ToolCallCapabilities(Wire):
    """The operations that the client may use on this call at present; a later value replaces it whole."""

    cancel: Lenient[Maybe[ToolCallCancelCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class PromptImageCapabilities(Wire):
    """Present (even empty) means: prompts may hold images."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class PromptAudioCapabilities(Wire):
    """Present (even empty) means: prompts may hold audio."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class PromptEmbeddedContextCapabilities(Wire):
    """Present (even empty) means: prompts may carry whole resources inside."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class PromptCapabilities(Wire):
    """Blocks allowed in prompts besides text and resource links, which always are."""

    image: Lenient[Maybe[PromptImageCapabilities]] = UNSET
    audio: Lenient[Maybe[PromptAudioCapabilities]] = UNSET
    embedded_context: Lenient[Maybe[PromptEmbeddedContextCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class McpStdioCapabilities(Wire):
    """Present (even empty) means: the agent can start MCP servers as child processes."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class McpHttpCapabilities(Wire):
    """Present (even empty) means: the agent can reach MCP servers by HTTP."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class McpCapabilities(Wire):
    """MCP transports the agent can use; v1 does not list stdio, as it always works there."""

    stdio: Lenient[Maybe[McpStdioCapabilities]] = UNSET
    http: Lenient[Maybe[McpHttpCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionDeleteCapabilities(Wire):
    """Present (even empty) means: session/delete may be called."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionAdditionalDirectoriesCapabilities(Wire):
    """Present (even empty) means: sessions may be given more roots than cwd."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionCapabilities(Wire):
    """Session features the agent offers; each one left out counts as missing."""

    prompt: Lenient[Maybe[PromptCapabilities]] = UNSET
    mcp: Lenient[Maybe[McpCapabilities]] = UNSET
    delete: Lenient[Maybe[SessionDeleteCapabilities]] = UNSET
    additional_directories: Lenient[Maybe[SessionAdditionalDirectoriesCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AgentAuthCapabilities(Wire):
    """Login extras of the agent; says nothing about which login methods exist."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class AgentCapabilities(Wire):
    """The capabilities of the agent beyond the baseline; one that is left out must not be used."""

    session: Lenient[Maybe[SessionCapabilities]] = UNSET
    auth: Lenient[Maybe[AgentAuthCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalCancelCapabilities(Wire):
    """Present (even empty) means: terminal/cancel may be used on this one for now."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalCapabilities(Wire):
    """The operations that the client may use on this terminal at present; a later value replaces it whole."""

    cancel: Lenient[Maybe[TerminalCancelCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalAuthCapabilities(Wire):
    """Present (even empty) means: logins in an interactive terminal may be offered."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ClientAuthCapabilities(Wire):
    """Kinds of login the client can help with; absent members are unsupported."""

    terminal: Lenient[Maybe[TerminalAuthCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ElicitationFormCapabilities(Wire):
    """Present (even empty) means: the client can show forms."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ElicitationUrlCapabilities(Wire):
    """Present (even empty) means: the client can send the user to a web page."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ElicitationCapabilities(Wire):
    """Modes the client can show; an empty object offers none at all."""

    form: Lenient[Maybe[ElicitationFormCapabilities]] = UNSET
    url: Lenient[Maybe[ElicitationUrlCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ClientCapabilities(Wire):
    """The capabilities of the client; one that is left out must not be used."""

    auth: Lenient[Maybe[ClientAuthCapabilities]] = UNSET
    elicitation: Lenient[Maybe[ElicitationCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- login and logout


class EnvVariable(Wire):
    """One name and value set for a process that is about to be started."""

    name: str
    value: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class AuthMethodTerminal(Wire, tag_field="type", tag="terminal"):
    """The client runs the agent program in a real terminal; exit 0 means logged in."""

    method_id: AuthMethodId
    name: str
    description: Lenient[Maybe[str]] = UNSET
    args: NullIsEmpty[list[str]] = []
    env: NullIsEmpty[list[EnvVariable]] = []
    meta: Lenient[Maybe[Metadata]] = UNSET


class AuthMethodAgent(Wire, tag_field="type", tag="agent"):
    """The agent handles the login by itself once the client names this method."""

    method_id: AuthMethodId
    name: str
    description: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


AuthMethod: TypeAlias = Open[AuthMethodTerminal | AuthMethodAgent]


class LoginAuthResponse(Wire):
    """Login succeeded; calls refused before with -32000 can be tried again."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class LogoutAuthResponse(Wire):
    """Empty; gated calls fail with -32000 until the next login."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class LoginAuthRequest(Wire):
    """Starts an agent login from authMethods; terminal methods never go this way."""

    method_id: AuthMethodId
    meta: Lenient[Maybe[Metadata]] = UNSET


class LogoutAuthRequest(Wire):
    """Allowed only if authMethods is not empty; what becomes of open sessions is undefined."""

    meta: Lenient[Maybe[Metadata]] = UNSET


# --- handshake


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
