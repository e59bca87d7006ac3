"""The handshake in v1: who is there, our capabilities in its words, and the ways to log in.

What an agent's client cannot do (a login in a terminal) is the agent's to leave out: nothing here knows both sides.
"""

from typing import Any, assert_never

from accord.protocol import v1
from accord.protocol.model import UNSET, Maybe, Unknown, UnsetType
from accord.protocol.v1 import draft
from accord.session.ask import Initialize, Initialized, Login, Logout
from accord.session.capability import AgentCapabilities, AuthMethod, ClientCapabilities, Implementation
from accord.session.presence import given, told

__all__ = [
    "initialize_in",
    "initialize_out",
    "initialized_in",
    "initialized_out",
    "login_in",
    "login_out",
    "logout_in",
    "logout_out",
]

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


# --- who


def _peer_out(peer: Implementation | None) -> v1.Implementation | UnsetType:
    if peer is None:
        return UNSET
    return v1.Implementation(peer.name, peer.version, given(peer.title), peer.meta or UNSET)


def _peer_in(info: Maybe[v1.Implementation]) -> Implementation | None:
    return Implementation(info.name, info.version, told(info.title), info.meta or None) if info else None


# --- what the client can do


def initialize_out(ask: Initialize) -> v1.InitializeRequest:
    """The request; of a client's capabilities only those that are there are said."""
    return v1.InitializeRequest(VERSION, _client_out(ask.capabilities), _peer_out(ask.client), meta=ask.meta or UNSET)


def _client_out(capabilities: ClientCapabilities) -> v1.ClientCapabilities:
    return v1.ClientCapabilities(
        fs=v1.FileSystemCapabilities(capabilities.read_files, capabilities.write_files),
        terminal=capabilities.terminals,
        session=_news_out(capabilities),
        auth=v1.AuthCapabilities(capabilities.terminal_login),
        elicitation=_elicitation_out(capabilities),
        meta=capabilities.meta or UNSET,
    )


def _news_out(capabilities: ClientCapabilities) -> v1.ClientSessionCapabilities | UnsetType:
    if not (capabilities.compaction or capabilities.toggles or capabilities.notices):
        return UNSET
    toggles = v1.SessionConfigOptionsCapabilities(v1.BooleanConfigOptionCapabilities())
    return v1.ClientSessionCapabilities(
        v1.CompactionCapabilities() if capabilities.compaction else UNSET,
        toggles if capabilities.toggles else UNSET,
        v1.NoticeCapabilities() if capabilities.notices else UNSET,
    )


def _elicitation_out(capabilities: ClientCapabilities) -> v1.ElicitationCapabilities | UnsetType:
    if not (capabilities.elicit_form or capabilities.elicit_url):
        return UNSET
    return v1.ElicitationCapabilities(
        v1.ElicitationFormCapabilities() if capabilities.elicit_form else UNSET,
        v1.ElicitationUrlCapabilities() if capabilities.elicit_url else UNSET,
    )


def initialize_in(params: v1.InitializeRequest) -> Initialize:
    """Who the client is, and what it can do."""
    return Initialize(_peer_in(params.client_info), _client_in(params.client_capabilities), params.meta or None)


def _client_in(said: v1.ClientCapabilities) -> ClientCapabilities:
    news = said.session or v1.ClientSessionCapabilities()
    elicitation = said.elicitation or v1.ElicitationCapabilities()
    return ClientCapabilities(
        read_files=said.fs.read_text_file,
        write_files=said.fs.write_text_file,
        terminals=said.terminal,
        elicit_form=bool(elicitation.form),
        elicit_url=bool(elicitation.url),
        notices=bool(news.notices),
        compaction=bool(news.compaction),
        toggles=bool(news.config_options and news.config_options.boolean),
        terminal_login=said.auth.terminal,
        meta=said.meta or None,
    )


# --- what the agent serves


def initialized_out(answer: Initialized) -> v1.InitializeResponse:
    """The answer; a login of a kind that v1 does not name is left out, because it would be taken for a plain one."""
    capabilities = answer.capabilities
    return v1.InitializeResponse(
        VERSION,
        _agent_out(capabilities),
        [said for method in capabilities.auth_methods if (said := _method_out(method)) is not None],
        _peer_out(answer.agent),
        answer.meta or UNSET,
    )


def _agent_out(capabilities: AgentCapabilities) -> v1.AgentCapabilities:
    prompts, mcp = capabilities.prompts, capabilities.mcp
    return v1.AgentCapabilities(
        load_session=capabilities.load,
        prompt_capabilities=v1.PromptCapabilities("image" in prompts, "audio" in prompts, "resource" in prompts),
        mcp_capabilities=v1.McpCapabilities("http" in mcp, "sse" in mcp),
        session_capabilities=_session_out(capabilities),
        auth=v1.AgentAuthCapabilities(v1.LogoutCapabilities() if capabilities.logout else UNSET),
        meta=capabilities.meta or UNSET,
    )


def _session_out(capabilities: AgentCapabilities) -> v1.SessionCapabilities:
    # Only the draft has a place for `fork`; for everything else its class is the same.
    kind: Any = draft.SessionCapabilities if capabilities.fork else v1.SessionCapabilities
    markers = {name: marker() for capability, (name, marker) in MARKERS.items() if getattr(capabilities, capability)}
    said: v1.SessionCapabilities = kind(**markers)
    return said


def initialized_in(result: v1.InitializeResponse, _: object) -> Initialized:
    """Who the agent is, and what it serves."""
    capabilities = _agent_in(result.agent_capabilities, [_method_in(method) for method in result.auth_methods])
    return Initialized(_peer_in(result.agent_info), capabilities, result.meta or None)


def _agent_in(said: v1.AgentCapabilities, methods: list[AuthMethod]) -> AgentCapabilities:
    prompts, mcp = said.prompt_capabilities, said.mcp_capabilities
    blocks = {"image": prompts.image, "audio": prompts.audio, "resource": prompts.embedded_context}
    transports = {"stdio": True, "http": mcp.http, "sse": mcp.sse}
    markers: Any = {
        capability: bool(getattr(said.session_capabilities, name, None)) for capability, (name, _) in MARKERS.items()
    }
    return AgentCapabilities(
        load=said.load_session,
        prompts=_those(blocks),
        mcp=_those(transports),
        logout=bool(said.auth.logout),
        auth_methods=methods,
        meta=said.meta or None,
        **markers,
    )


def _those(names: dict[str, bool]) -> frozenset[Any]:
    return frozenset(name for name, there in names.items() if there)


# --- logging in and out


def _method_out(method: AuthMethod) -> v1.AuthMethod | None:
    description, meta = given(method.description), method.meta or UNSET
    match method.type:
        case "agent":
            return v1.AuthMethodAgent(method.id, method.name, description, meta)
        case "terminal":
            return v1.AuthMethodTerminal(method.id, method.name, description, method.args, method.env, meta)
        case _:
            return None


def _method_in(method: v1.AuthMethod) -> AuthMethod:
    match method:
        case v1.AuthMethodAgent():
            return AuthMethod(method.id, method.name, description=told(method.description), meta=method.meta or None)
        case v1.AuthMethodTerminal():
            description, meta = told(method.description), method.meta or None
            return AuthMethod(method.id, method.name, "terminal", description, method.args, method.env, meta)
        case Unknown():
            words = {key: value for key, value in method.payload.items() if isinstance(value, str)}
            return AuthMethod(words.get("id", ""), words.get("name", ""), method.tag, words.get("description"))
        case _:
            assert_never(method)


def login_out(ask: Login) -> v1.AuthenticateRequest:
    """Log in by a method's id."""
    return v1.AuthenticateRequest(ask.method, ask.meta or UNSET)


def login_in(params: v1.AuthenticateRequest) -> Login:
    """Log in by a method's id."""
    return Login(params.method_id, params.meta or None)


def logout_out(ask: Logout) -> v1.LogoutRequest:
    """Forget the login."""
    return v1.LogoutRequest(ask.meta or UNSET)


def logout_in(params: v1.LogoutRequest) -> Logout:
    """Forget the login."""
    return Logout(params.meta or None)
