"""The dialect of simse's protocol page, in our reading of it, as a plug-in for clients and for agents.

No other package imports it: a program passes `SimseDialect` to `use_dialect`, and a config entry names it.
`docs/simse.md` explains the interpretation, point by point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from accord.dialects import DialectPlugin, TranslatedTransport
from accord.errors import LocalProtocolError
from accord.simse.agent_tool import run_tool, runs_tools
from accord.simse.agent_translator import AgentTranslator
from accord.simse.client_tool import TOOL_METHOD, Tool, ToolRunner
from accord.simse.client_translator import INITIALIZE_SECONDS, ClientTransport
from accord.transport.interface import Transport

__all__ = ["SimseDialect", "Tool", "run_tool", "runs_tools"]


# The part of an agent's start time for which it may leave `initialize` unanswered. Its program needs the rest to start.
SILENT_PART = 0.8


class SimseDialect(DialectPlugin):
    """The dialect of simse's page, which is a variant of v1.

    For a client, `tools` are the functions that a backend may let it run, by name, each for `tool_seconds` at most; no
    others are run. An agent needs no options: it serves clients of the page beside ordinary ones, and
    `accord.simse.run_tool` lets a client of the page run a tool.

    Raises:
        LocalProtocolError: A tool is not callable.
    """

    name = "simse"
    edition = "1"

    def __init__(self, tools: Mapping[str, Tool] | None = None, *, tool_seconds: float | None = 60.0) -> None:
        self._tools = dict(tools or {})
        self._tool_seconds = tool_seconds
        for name, tool in self._tools.items():
            if not callable(tool):
                raise LocalProtocolError(f"{name!r} is no tool", field="tools", expected="functions by name")

    def __repr__(self) -> str:
        return f"<dialect simse, {len(self._tools)} tools>"

    def link_to_agent(self, link: Transport, *, start_seconds: float | None) -> Transport:
        """Speak v1 over a link to a backend of the page; answers that held on an earlier link are forgotten."""
        seconds = INITIALIZE_SECONDS if start_seconds is None else start_seconds * SILENT_PART
        return ClientTransport(link, self._tools, seconds)

    def agent_requests(self) -> Mapping[str, Callable[[Any], Any]]:
        """Run the tools that a backend orders."""
        return {TOOL_METHOD: ToolRunner(self._tools, self._tool_seconds).run}

    def link_to_client(self, link: Transport) -> Transport:
        """Speak v1 over a link to a client of the page, or to an ordinary one."""
        return TranslatedTransport(link, AgentTranslator())
