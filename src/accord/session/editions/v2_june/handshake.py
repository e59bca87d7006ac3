"""The handshake in the June draft: a marker is an object, and clients have no capabilities at all."""

from typing import Any

import msgspec

from accord.protocol import v2_june
from accord.protocol.edition import V2_JUNE
from accord.protocol.model import UNSET, Maybe, Metadata, Unknown, Wire
from accord.session.capability import AgentCapabilities, AuthMethod, ClientCapabilities
from accord.session.client_requests import Initialize, Initialized
from accord.session.editions.shared.bindings import (
    decode_implementation,
    decode_mcp,
    decode_prompts,
    encode_implementation,
    encode_mcp,
    encode_prompts,
    has,
    marker,
)
from accord.session.unset import or_none, or_unset, payload_of

__all__ = ["decode_initialize", "decode_initialized", "encode_initialize", "encode_initialized"]

MARKERS: dict[str, tuple[str, type[Any]]] = {
    "load": ("load", v2_june.SessionLoadCapabilities),
    "resume": ("resume", v2_june.SessionResumeCapabilities),
    "listing": ("list", v2_june.SessionListCapabilities),
    "close": ("close", v2_june.SessionCloseCapabilities),
    "delete": ("delete", v2_june.SessionDeleteCapabilities),
    "additional_directories": ("additional_directories", v2_june.SessionAdditionalDirectoriesCapabilities),
}
"""By our name for a capability: the field among the session's, and the object whose presence means that it is there."""


def encode_initialize(request: Initialize) -> v2_june.InitializeRequest:
    """The client as it introduces itself; of its capabilities nothing but their metadata has a place."""
    return v2_june.InitializeRequest(
        V2_JUNE.version,
        v2_june.ClientCapabilities(request.capabilities.meta or UNSET),
        encode_implementation(v2_june, request.client),
        request.meta or UNSET,
    )


def decode_initialize(params: v2_june.InitializeRequest) -> Initialize:
    capabilities = ClientCapabilities(meta=params.capabilities.meta or None)
    return Initialize(decode_implementation(params.client_info), capabilities, params.meta or None)


def encode_initialized(answer: Initialized) -> v2_june.InitializeResponse:
    """The agent as it introduces itself. Sessions are always served; forks and MCP over SSE cannot be offered."""
    capabilities = answer.capabilities
    return v2_june.InitializeResponse(
        V2_JUNE.version,
        v2_june.AgentCapabilities(
            _encode_session(capabilities),
            v2_june.AgentAuthCapabilities(marker(v2_june.LogoutCapabilities, on=capabilities.logout)),
            capabilities.meta or UNSET,
        ),
        # A client cannot say that it has a terminal to log in with, and would take the method for a call.
        [_encode_method(method) for method in capabilities.auth_methods if method.type != "terminal"],
        encode_implementation(v2_june, answer.agent),
        answer.meta or UNSET,
    )


def _encode_session(capabilities: AgentCapabilities) -> v2_june.SessionCapabilities:
    markers = {name: marker(kind, on=getattr(capabilities, ours)) for ours, (name, kind) in MARKERS.items()}
    return v2_june.SessionCapabilities(
        prompt=encode_prompts(v2_june, capabilities),
        mcp=encode_mcp(v2_june, capabilities, kind=v2_june.McpCapabilities),
        **markers,
    )


def decode_initialized(result: v2_june.InitializeResponse, _: Initialize) -> Initialized:
    """The agent and its capabilities; it does not serve what has no marker."""
    declared = result.capabilities
    session = declared.session or v2_june.SessionCapabilities()
    markers: dict[str, Any] = {ours: has(session, name) for ours, (name, _) in MARKERS.items()}
    capabilities = AgentCapabilities(
        prompts=decode_prompts(session),
        mcp=decode_mcp(session),
        logout=has(declared.auth, "logout"),
        auth_methods=[method for decoded in result.auth_methods if (method := _decode_method(decoded)) is not None],
        meta=declared.meta or None,
        **markers,
    )
    return Initialized(decode_implementation(result.agent_info), capabilities, result.meta or None)


# --- ways to log in


class _Further(Wire):
    """The fields of every login method, whatever its type."""

    type: str
    id: str
    name: str
    description: Maybe[str] = UNSET
    meta: Maybe[Metadata] = UNSET


def _encode_method(method: AuthMethod) -> v2_june.AuthMethod:
    description, meta = or_unset(method.description), method.meta or UNSET
    if method.type == "agent":
        return v2_june.AuthMethodAgent(method.id, method.name, description, meta)
    return Unknown(method.type, payload_of(_Further(method.type, method.id, method.name, description, meta)))


def _decode_method(method: v2_june.AuthMethod) -> AuthMethod | None:
    if isinstance(method, v2_june.AuthMethodAgent):
        return AuthMethod(method.id, method.name, description=or_none(method.description), meta=method.meta or None)
    try:
        further = msgspec.convert(method.payload, _Further)
    except msgspec.ValidationError:
        # Not even a name: the schema wants bad items to be dropped.
        return None
    return AuthMethod(further.id, further.name, further.type, or_none(further.description), meta=further.meta or None)
