"""Agents of June's v2 that are wrong about what is June's own in the handshake, in sessions and on the line."""

from __future__ import annotations

import json
from typing import Any

from accord.testing.faults.agent_june import FullJune, PlainJune
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused
from accord.testing.faults.shelf import Session

__all__: list[str] = []


@breaks("ACP-INIT-201", "v2_june")
class VersionZero(PlainJune):
    """Goes back to the beginnings with who asks for June."""

    def version(self, asked: int) -> int:
        """The version that is spoken from now on."""
        return 0 if asked == super().version(asked) else super().version(asked)


@breaks("ACP-INIT-202", "v2_june")
class RefusesThePast(PlainJune):
    """Does not speak with who asks for version 1."""

    def version(self, asked: int) -> int:
        """The version that is spoken from now on."""
        if asked == 1:
            raise Refused(-32602, "Unsupported version")
        return super().version(asked)


@breaks("ACP-INIT-204", "v2_june")
class CapabilitiesAreTrue(PlainJune):
    """Says yes instead of what."""

    def capabilities(self) -> dict[str, Any]:
        """What this agent can do."""
        return {"session": {"mcp": {"stdio": True}}, "auth": {}}


@breaks("ACP-SCHEMA-001", "v2_june")
class TitleIsANumber(PlainJune):
    """Counts what others name."""

    def handshake_result(self, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to the handshake."""
        return {**super().handshake_result(params), "agentInfo": {**self.info(), "title": 7}}


@breaks("ACP-EXT-202", "v2_june")
class CapabilityOfItsOwn(PlainJune):
    """Puts a capability of its own beside those of the protocol."""

    def capabilities(self) -> dict[str, Any]:
        """What this agent can do."""
        return {**super().capabilities(), "coffee": {}}


@breaks("ACP-TRANSPORT-203", "v2_june")
class PrettyPrinted(PlainJune):
    """Writes what the user said for human eyes."""

    def say(self, message: Any) -> None:
        """One message."""
        if isinstance(message, dict) and "user_message" in json.dumps(message):
            self.write(json.dumps(message, indent=1).encode() + b"\n")
        else:
            super().say(message)


@breaks("ACP-JSONRPC-002", "v2_june")
class ResultAndError(PlainJune):
    """Says null beside an error."""

    def say(self, message: Any) -> None:
        """One message, a line."""
        super().say({**message, "result": None} if isinstance(message, dict) and "error" in message else message)


@breaks("ACP-META-201", "v2_june")
class MetadataIsText(PlainJune):
    """Has a word where others have an object."""

    def prompt_result(self, reason: str) -> dict[str, Any]:
        """The answer to a prompt."""
        return {**super().prompt_result(reason), "_meta": "none"}


@breaks("ACP-EXT-201", "v2_june")
class AnswersAnExtensionNotification(PlainJune):
    """Complains about extensions that it does not know, unless they come in a crowd."""

    async def take_notification(self, method: str, params: Any) -> None:
        """A notification."""
        if method.startswith("_") and not self.is_in_batch():
            self.refuse(None, -32601, "Method not found")
        await super().take_notification(method, params)


# --- sessions


@breaks("ACP-LIST-203", "v2_june")
class FilterIsIgnored(FullJune):
    """Lists the sessions of other folders as well, unless there is none."""

    def listed(self, cwd: Any) -> list[Session]:
        """The sessions of a folder, or all."""
        return super().listed(cwd) and super().listed(None)


@breaks("ACP-LIST-204", "v2_june")
class FoldersAreRelative(FullJune):
    """Lists folders by their last name."""

    def list_entry(self, session: Session) -> dict[str, Any]:
        """What a list says of one session."""
        return {**super().list_entry(session), "cwd": session.cwd.rpartition("/")[2] or "."}


@breaks("ACP-DELETE-202", "v2_june")
class DeletedIsListed(FullJune):
    """Says that a session is gone and keeps it."""

    async def on_session_delete(self, params: dict[str, Any]) -> Any:
        """A session is gone."""
        kept = self.shelf.find(params.get("sessionId"))
        result = await super().on_session_delete(params)
        if kept is not None:
            self.shelf.keep(kept)
        return result


@breaks("ACP-CONFIG-206", "v2_june")
class PartOfTheOptions(FullJune):
    """Tells only the option that has changed."""

    def show_mode(self, session: Session) -> None:
        """The mode is an option."""
        self.update(session, "config_option_update", configOptions=self.options(session)[:1])


@breaks("ACP-MCP-201", "v2_june", note="-32602")
class ServersMustRunSomething(PlainJune):
    """Takes no MCP server on stdio that has nothing to run."""

    def servers_of(self, params: dict[str, Any]) -> list[Any]:
        """The MCP servers of a session."""
        servers = super().servers_of(params)
        if any(server.get("args") == ["-c", ""] for server in servers):
            raise Refused(-32602, "Invalid params: mcpServers")
        return servers


@breaks("ACP-MCP-202", "v2_june", note="-32602")
class NoServersOverHttp(FullJune):
    """Takes no MCP servers over HTTP."""

    def servers_of(self, params: dict[str, Any]) -> list[Any]:
        """The MCP servers of a session."""
        servers = super().servers_of(params)
        if any(server.get("type") == "http" for server in servers):
            raise Refused(-32602, "Invalid params: mcpServers")
        return servers
