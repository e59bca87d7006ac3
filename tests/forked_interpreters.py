"""The fixture of tests whose programs are forks of this process: where a start is the subject, it is left out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.forked import accord_command, forked_python

__all__ = ["forked_interpreters"]

# What agents of ours import as they need it.
OF_AGENTS = (
    *("mcp", "accord.agent.agent", "accord.agent.mcp.requests", "accord.agent.mcp.server_connection"),
    *("accord.agent.mcp.transports", "accord.agent.mcp.diagnostics", "accord.agent.kept_sessions"),
    *("accord.agent.blocking.turn", "accord.agent.terminals", "accord.session.event_check", "accord.session.replay"),
    *("accord.coder.agent", "accord.coder.loop", "accord.coder.offline", "accord.coder.tools.runner"),
    *("accord.coder.provider", "accord.coder.subagent", "accord.coder.turns", "accord.coder.undo"),
    *("accord.cli.verbs.agent", "accord.cli.verbs.check", "opentelemetry.metrics", "encodings.utf_8_sig"),
)


@pytest.fixture
def forked_interpreters() -> Iterator[None]:
    """Whatever is started by `python FILE …` or `python -m MODULE …`, here or in such a program, is a fork."""
    accord_command()
    with forked_python(*OF_AGENTS):
        yield
