"""The parts of the handshake that editions share: implementations, markers, and the login by a method's id."""

from typing import Any, Literal

from accord.protocol.method import RequestMethod
from accord.protocol.model import UNSET
from accord.session.capability import AgentCapabilities, Implementation
from accord.session.client_requests import Login, Logout
from accord.session.dialect import Binding
from accord.session.editions.shared.bindings import bind, names
from accord.session.unset import or_none, or_unset

__all__ = [
    "decode_implementation",
    "decode_mcp",
    "decode_prompts",
    "encode_implementation",
    "encode_mcp",
    "encode_prompts",
    "has",
    "login_bindings",
    "marker",
]

PROMPTS: dict[Literal["image", "audio", "resource"], str] = {
    "image": "image",
    "audio": "audio",
    "resource": "embedded_context",
}
TRANSPORTS: tuple[Literal["stdio", "http"], ...] = ("stdio", "http")


def login_bindings(login: RequestMethod[Any, Any], logout: RequestMethod[Any, Any]) -> tuple[Binding, ...]:
    """Logging in by a method's id, and logging out."""
    return bind(Login, login, names(method="method_id")), bind(Logout, logout, {}, needs="logout")


def encode_implementation(types: Any, peer: Implementation | None) -> Any:
    """Who a side is, or UNSET."""
    if peer is None:
        return UNSET
    return types.Implementation(peer.name, peer.version, or_unset(peer.title), peer.meta or UNSET)


def decode_implementation(info: Any) -> Implementation | None:
    """Who a side is, if it says so."""
    return Implementation(info.name, info.version, or_none(info.title), info.meta or None) if info else None


# --- markers: objects that count when they are there, even empty


def marker(kind: Any, *, on: bool) -> Any:
    """The object whose presence means that a capability is there, or UNSET."""
    return kind() if on else UNSET


def has(holder: object, name: str) -> bool:
    """Whether a marker is there; by name, because only the draft's types have all of them."""
    return or_none(getattr(holder, name, UNSET)) is not None


def encode_prompts(types: Any, capabilities: AgentCapabilities) -> Any:
    """The kinds of blocks that a prompt may have, as markers."""
    if not capabilities.prompts:
        return UNSET
    return types.PromptCapabilities(
        image=marker(types.PromptImageCapabilities, on="image" in capabilities.prompts),
        audio=marker(types.PromptAudioCapabilities, on="audio" in capabilities.prompts),
        embedded_context=marker(types.PromptEmbeddedContextCapabilities, on="resource" in capabilities.prompts),
    )


def decode_prompts(session: Any) -> frozenset[Literal["image", "audio", "resource"]]:
    """The kinds of blocks that a prompt may have."""
    return frozenset(kind for kind, name in PROMPTS.items() if has(session and session.prompt, name))


def encode_mcp(types: Any, capabilities: AgentCapabilities, *, kind: Any) -> Any:
    """The transports of MCP servers, as markers in an object of that kind; v2 and June have none over SSE."""
    if capabilities.mcp.isdisjoint(TRANSPORTS):
        return UNSET
    return kind(
        stdio=marker(types.McpStdioCapabilities, on="stdio" in capabilities.mcp),
        http=marker(types.McpHttpCapabilities, on="http" in capabilities.mcp),
    )


def decode_mcp(session: Any) -> frozenset[Literal["stdio", "http", "sse"]]:
    """The transports of MCP servers."""
    return frozenset(transport for transport in TRANSPORTS if has(session and session.mcp, transport))
