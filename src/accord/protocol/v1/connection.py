"""The types of a connection, as opposed to a session: ids, errors, capabilities, the handshake, the login."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import field

from accord.protocol.model import (
    UNSET,
    Int32,
    Int64,
    Lenient,
    Maybe,
    Metadata,
    NullIsEmpty,
    Sieved,
    UInt16,
    Unknown,
    Untagged,
    Wire,
)

# --- identifiers

RequestId: TypeAlias = Int64 | str | None
SessionId: TypeAlias = str
ToolCallId: TypeAlias = str
TerminalId: TypeAlias = str
PermissionOptionId: TypeAlias = str
ElicitationId: TypeAlias = str
ProtocolVersion: TypeAlias = UInt16
AuthMethodId: TypeAlias = str
SessionModeId: TypeAlias = str
SessionConfigId: TypeAlias = str
SessionConfigValueId: TypeAlias = str
SessionConfigGroupId: TypeAlias = str
MessageId: TypeAlias = str
CompactionId: TypeAlias = str
ModelId: TypeAlias = str


# --- withdrawing a request


class CancelRequestNotification(Wire):
    """The caller gives up its own request, which still gets exactly one answer."""

    request_id: RequestId
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- errors

ErrorCode: TypeAlias = Int32


class Error(Wire):
    """Failure of a call; data may be anything unless the code defines its shape."""

    code: ErrorCode
    message: str
    data: Any = UNSET


# --- capabilities


class PromptCapabilities(Wire):
    """Blocks allowed in prompts besides text and resource links, which always are."""

    image: Lenient[bool] = False
    audio: Lenient[bool] = False
    embedded_context: Lenient[bool] = False
    meta: Lenient[Maybe[Metadata]] = UNSET


class McpCapabilities(Wire):
    """MCP transports the agent can use; v1 does not list stdio, as it always works there."""

    http: Lenient[bool] = False
    sse: Lenient[bool] = False
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionListCapabilities(Wire):
    """Present (even empty) means: session/list may be called."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionDeleteCapabilities(Wire):
    """Present (even empty) means: session/delete may be called."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionAdditionalDirectoriesCapabilities(Wire):
    """Present (even empty) means: sessions may be given more roots than cwd."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionResumeCapabilities(Wire):
    """Present (even empty) means: session/resume may be called; it does not replay."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionCloseCapabilities(Wire):
    """Present (even empty) means: session/close may be called."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionCapabilities(Wire):
    """Session features the agent offers; each one left out counts as missing."""

    list: Lenient[Maybe[SessionListCapabilities]] = UNSET
    delete: Lenient[Maybe[SessionDeleteCapabilities]] = UNSET
    additional_directories: Lenient[Maybe[SessionAdditionalDirectoriesCapabilities]] = UNSET
    resume: Lenient[Maybe[SessionResumeCapabilities]] = UNSET
    close: Lenient[Maybe[SessionCloseCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class LogoutCapabilities(Wire):
    """Present (even empty) means: logout may be called."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class AgentAuthCapabilities(Wire):
    """Login extras of the agent; says nothing about which login methods exist."""

    logout: Lenient[Maybe[LogoutCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AgentCapabilities(Wire):
    """The capabilities of the agent beyond the baseline; one that is left out must not be used."""

    load_session: Lenient[bool] = False
    prompt_capabilities: Lenient[PromptCapabilities] = field(default_factory=PromptCapabilities)
    mcp_capabilities: Lenient[McpCapabilities] = field(default_factory=McpCapabilities)
    session_capabilities: Lenient[SessionCapabilities] = field(default_factory=SessionCapabilities)
    auth: Lenient[AgentAuthCapabilities] = field(default_factory=AgentAuthCapabilities)
    meta: Lenient[Maybe[Metadata]] = UNSET


class FileSystemCapabilities(Wire):
    """Each flag allows just its own fs method; neither implies the other."""

    read_text_file: Lenient[bool] = False
    write_text_file: Lenient[bool] = False
    meta: Lenient[Maybe[Metadata]] = UNSET


class CompactionCapabilities(Wire):
    """Present (even empty) means: compaction updates may be sent to the client."""


class BooleanConfigOptionCapabilities(Wire):
    """Present (even empty) means: on or off options may be offered."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionConfigOptionsCapabilities(Wire):
    """Option types the client can show besides select, which it always can."""

    boolean: Lenient[Maybe[BooleanConfigOptionCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class NoticeCapabilities(Wire):
    """Present (even empty) means: notices may be sent; otherwise use an agent message."""


class ClientSessionCapabilities(Wire):
    """Kinds of session news the client can handle beyond the baseline."""

    compaction: Lenient[Maybe[CompactionCapabilities]] = UNSET
    config_options: Lenient[Maybe[SessionConfigOptionsCapabilities]] = UNSET
    notices: Lenient[Maybe[NoticeCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AuthCapabilities(Wire):
    """terminal true means: the client can run a login in an interactive terminal."""

    terminal: Lenient[bool] = False
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

    fs: Lenient[FileSystemCapabilities] = field(default_factory=FileSystemCapabilities)
    terminal: Lenient[bool] = False
    session: Lenient[Maybe[ClientSessionCapabilities]] = UNSET
    auth: Lenient[AuthCapabilities] = field(default_factory=AuthCapabilities)
    elicitation: Lenient[Maybe[ElicitationCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


FileSystemCapability: TypeAlias = FileSystemCapabilities  # its name in the 2025 text


# --- login and logout


class AuthMethodTerminal(Wire, tag_field="type", tag="terminal"):
    """The client runs the agent program in a real terminal; exit 0 means logged in."""

    id: AuthMethodId
    name: str
    description: Lenient[Maybe[str]] = UNSET
    args: NullIsEmpty[list[str]] = []
    env: NullIsEmpty[dict[str, str]] = {}
    meta: Lenient[Maybe[Metadata]] = UNSET


class AuthMethodAgent(Wire):
    """The agent handles the login by itself once the client names this method."""

    id: AuthMethodId
    name: str
    description: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


if TYPE_CHECKING:
    AuthMethod: TypeAlias = AuthMethodTerminal | AuthMethodAgent | Unknown
else:

    class AuthMethod(Untagged):
        """One way to log in, offered at initialize; ids not offered there are invalid."""

        tag_field = "type"
        tagged = {"terminal": AuthMethodTerminal, "agent": AuthMethodAgent}
        plain = (AuthMethodAgent,)


class AuthenticateResponse(Wire):
    """Login succeeded; calls refused before with -32000 can be tried again."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class LogoutResponse(Wire):
    """Empty; from now on new sessions need a login again."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class AuthenticateRequest(Wire):
    """Starts the login with that id; terminal methods never go this way."""

    method_id: AuthMethodId
    meta: Lenient[Maybe[Metadata]] = UNSET


class LogoutRequest(Wire):
    """Ends the login; sessions already open may or may not survive."""

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
