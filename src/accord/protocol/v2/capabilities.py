"""What each side may use of the other; what is not here is not supported."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Wire


class ToolCallCancelCapabilities(Wire):
    """Present (even empty) means: tool_call/cancel may be used on this call for now."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ToolCallCapabilities(Wire):
    """What the client may do to this call just now; a later value replaces it whole."""

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
    """What the agent can do beyond the baseline; whatever is left out must not be used."""

    session: Lenient[Maybe[SessionCapabilities]] = UNSET
    auth: Lenient[Maybe[AgentAuthCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalCancelCapabilities(Wire):
    """Present (even empty) means: terminal/cancel may be used on this one for now."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalCapabilities(Wire):
    """What the client may do to this terminal just now; a later value replaces it whole."""

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
    """What the client can do for the agent; whatever is left out must not be used."""

    auth: Lenient[Maybe[ClientAuthCapabilities]] = UNSET
    elicitation: Lenient[Maybe[ElicitationCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET
