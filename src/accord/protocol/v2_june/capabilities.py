"""What each side may use of the other; what is not here is not supported."""

from msgspec import field

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Wire


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
    """What the agent can do beyond the baseline; whatever is left out must not be used."""

    session: Lenient[Maybe[SessionCapabilities]] = UNSET
    auth: AgentAuthCapabilities = field(default_factory=AgentAuthCapabilities)
    meta: Maybe[Metadata] = UNSET


class ClientCapabilities(Wire):
    """What the client can do for the agent; whatever is left out must not be used."""

    meta: Maybe[Metadata] = UNSET
