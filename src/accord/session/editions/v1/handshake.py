"""The handshake in v1: implementations, capabilities in its shapes, and the ways to log in.

Leaving out what the client cannot do (a login in a terminal) is up to the agent: this module sees one side at a time.
"""

from typing import Any, assert_never

from accord.protocol import v1
from accord.protocol.model import UNSET, Unknown, UnsetType
from accord.protocol.v1 import draft
from accord.session.capability import AgentCapabilities, AuthMethod, ClientCapabilities
from accord.session.client_requests import Initialize, Initialized
from accord.session.editions.shared.bindings import decode_implementation, encode_implementation
from accord.session.unset import or_none, or_unset

__all__ = ["decode_initialize", "decode_initialized", "encode_initialize", "encode_initialized"]

VERSION = 1

MARKERS: dict[str, tuple[str, type[Any]]] = {
    "listing": ("list", v1.SessionListCapabilities),
    "delete": ("delete", v1.SessionDeleteCapabilities),
    "additional_directories": ("additional_directories", v1.SessionAdditionalDirectoriesCapabilities),
    "fork": ("fork", draft.SessionForkCapabilities),
    "resume": ("resume", v1.SessionResumeCapabilities),
    "close": ("close", v1.SessionCloseCapabilities),
}
"""By our name for a capability: the field among the session's, and the object whose presence means that it is there."""


# --- client capabilities


def encode_initialize(request: Initialize) -> v1.InitializeRequest:
    """The request; of a client's capabilities only those that are there are written."""
    return v1.InitializeRequest(
        VERSION,
        _encode_client(request.capabilities),
        encode_implementation(v1, request.client),
        meta=request.meta or UNSET,
    )


def _encode_client(capabilities: ClientCapabilities) -> v1.ClientCapabilities:
    return v1.ClientCapabilities(
        fs=v1.FileSystemCapabilities(capabilities.read_files, capabilities.write_files),
        terminal=capabilities.terminals,
        session=_encode_news(capabilities),
        auth=v1.AuthCapabilities(capabilities.terminal_login),
        elicitation=_encode_elicitation(capabilities),
        meta=capabilities.meta or UNSET,
    )


def _encode_news(capabilities: ClientCapabilities) -> v1.ClientSessionCapabilities | UnsetType:
    if not (capabilities.compaction or capabilities.toggles or capabilities.notices):
        return UNSET
    toggles = v1.SessionConfigOptionsCapabilities(v1.BooleanConfigOptionCapabilities())
    return v1.ClientSessionCapabilities(
        v1.CompactionCapabilities() if capabilities.compaction else UNSET,
        toggles if capabilities.toggles else UNSET,
        v1.NoticeCapabilities() if capabilities.notices else UNSET,
    )


def _encode_elicitation(capabilities: ClientCapabilities) -> v1.ElicitationCapabilities | UnsetType:
    if not (capabilities.elicit_form or capabilities.elicit_url):
        return UNSET
    return v1.ElicitationCapabilities(
        v1.ElicitationFormCapabilities() if capabilities.elicit_form else UNSET,
        v1.ElicitationUrlCapabilities() if capabilities.elicit_url else UNSET,
    )


def decode_initialize(params: v1.InitializeRequest) -> Initialize:
    return Initialize(
        decode_implementation(params.client_info), _decode_client(params.client_capabilities), params.meta or None
    )


def _decode_client(declared: v1.ClientCapabilities) -> ClientCapabilities:
    news = declared.session or v1.ClientSessionCapabilities()
    elicitation = declared.elicitation or v1.ElicitationCapabilities()
    return ClientCapabilities(
        read_files=declared.fs.read_text_file,
        write_files=declared.fs.write_text_file,
        terminals=declared.terminal,
        elicit_form=bool(elicitation.form),
        elicit_url=bool(elicitation.url),
        notices=bool(news.notices),
        compaction=bool(news.compaction),
        toggles=bool(news.config_options and news.config_options.boolean),
        terminal_login=declared.auth.terminal,
        meta=declared.meta or None,
    )


# --- agent capabilities


def encode_initialized(answer: Initialized) -> v1.InitializeResponse:
    """The answer; a login of a kind that v1 does not name is left out, because it would be taken for a plain one."""
    capabilities = answer.capabilities
    return v1.InitializeResponse(
        VERSION,
        _encode_agent(capabilities),
        [declared for method in capabilities.auth_methods if (declared := _encode_method(method)) is not None],
        encode_implementation(v1, answer.agent),
        answer.meta or UNSET,
    )


def _encode_agent(capabilities: AgentCapabilities) -> v1.AgentCapabilities:
    prompts, mcp = capabilities.prompts, capabilities.mcp
    return v1.AgentCapabilities(
        load_session=capabilities.load,
        prompt_capabilities=v1.PromptCapabilities("image" in prompts, "audio" in prompts, "resource" in prompts),
        mcp_capabilities=v1.McpCapabilities("http" in mcp, "sse" in mcp),
        session_capabilities=_encode_session(capabilities),
        auth=v1.AgentAuthCapabilities(v1.LogoutCapabilities() if capabilities.logout else UNSET),
        meta=capabilities.meta or UNSET,
    )


def _encode_session(capabilities: AgentCapabilities) -> v1.SessionCapabilities:
    # Only the draft has a place for `fork`; for everything else its class is the same.
    kind: Any = draft.SessionCapabilities if capabilities.fork else v1.SessionCapabilities
    markers = {name: marker() for capability, (name, marker) in MARKERS.items() if getattr(capabilities, capability)}
    declared: v1.SessionCapabilities = kind(**markers)
    return declared


def decode_initialized(result: v1.InitializeResponse, _: object) -> Initialized:
    capabilities = _decode_agent(result.agent_capabilities, [_decode_method(method) for method in result.auth_methods])
    return Initialized(decode_implementation(result.agent_info), capabilities, result.meta or None)


def _decode_agent(declared: v1.AgentCapabilities, methods: list[AuthMethod]) -> AgentCapabilities:
    prompts, mcp = declared.prompt_capabilities, declared.mcp_capabilities
    blocks = {"image": prompts.image, "audio": prompts.audio, "resource": prompts.embedded_context}
    transports = {"stdio": True, "http": mcp.http, "sse": mcp.sse}
    markers: Any = {
        capability: bool(getattr(declared.session_capabilities, name, None))
        for capability, (name, _) in MARKERS.items()
    }
    return AgentCapabilities(
        load=declared.load_session,
        prompts=_those(blocks),
        mcp=_those(transports),
        logout=bool(declared.auth.logout),
        auth_methods=methods,
        meta=declared.meta or None,
        **markers,
    )


def _those(names: dict[str, bool]) -> frozenset[Any]:
    return frozenset(name for name, there in names.items() if there)


# --- ways to log in


def _encode_method(method: AuthMethod) -> v1.AuthMethod | None:
    description, meta = or_unset(method.description), method.meta or UNSET
    match method.type:
        case "agent":
            return v1.AuthMethodAgent(method.id, method.name, description, meta)
        case "terminal":
            return v1.AuthMethodTerminal(method.id, method.name, description, method.args, method.env, meta)
        case _:
            return None


def _decode_method(method: v1.AuthMethod) -> AuthMethod:
    match method:
        case v1.AuthMethodAgent():
            return AuthMethod(method.id, method.name, description=or_none(method.description), meta=method.meta or None)
        case v1.AuthMethodTerminal():
            description, meta = or_none(method.description), method.meta or None
            return AuthMethod(method.id, method.name, "terminal", description, method.args, method.env, meta)
        case Unknown():
            texts = {key: value for key, value in method.payload.items() if isinstance(value, str)}
            return AuthMethod(texts.get("id", ""), texts.get("name", ""), method.tag, texts.get("description"))
        case _:
            assert_never(method)
