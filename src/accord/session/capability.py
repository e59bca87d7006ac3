"""The capabilities of both sides, independent of the edition; read from the handshake, checked before a request."""

from typing import Any, Literal

from accord.session.content import Part
from accord.session.meta_original import ORIGINAL

__all__ = ["AgentCapabilities", "AuthMethod", "ClientCapabilities", "Implementation"]


class Implementation(Part):
    """The name and version of a client or an agent."""

    name: str
    version: str
    title: str | None = None
    meta: dict[str, Any] | None = None


class ClientCapabilities(Part):
    """The capabilities of a client. `terminals` are terminals that the client runs."""

    read_files: bool = False
    write_files: bool = False
    terminals: bool = False
    elicit_form: bool = False
    elicit_url: bool = False
    notices: bool = False
    compaction: bool = False
    toggles: bool = False
    terminal_login: bool = False
    meta: dict[str, Any] | None = None

    @property
    def originals(self) -> bool:
        """Whether the client reads originals in `_meta`, as ours does: large ones are sent to no other client."""
        return self.meta is not None and self.meta.get(ORIGINAL) is True


class AuthMethod(Part):
    """A way to log in: by a call (`agent`), or by running the agent's own program in a terminal (`terminal`)."""

    id: str
    name: str
    type: Literal["agent", "terminal"] | str = "agent"
    description: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    meta: dict[str, Any] | None = None


class AgentCapabilities(Part):
    """The capabilities of an agent, beyond new, prompt and cancel. `prompts` are block kinds beside text."""

    load: bool = False
    resume: bool = False
    listing: bool = False
    close: bool = False
    delete: bool = False
    fork: bool = False
    additional_directories: bool = False
    prompts: frozenset[Literal["image", "audio", "resource"]] = frozenset()
    mcp: frozenset[Literal["stdio", "http", "sse"]] = frozenset({"stdio"})
    logout: bool = False
    auth_methods: list[AuthMethod] = []
    meta: dict[str, Any] | None = None
