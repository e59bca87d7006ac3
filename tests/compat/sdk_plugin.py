"""A pytest plug-in for the SDK's own tests: they get the functions of `accord.compat.acp` for those of `acp`."""

from __future__ import annotations

import acp
import acp.core
import acp.stdio

from accord.compat import acp as compat

for _name in ("AgentSideConnection", "ClientSideConnection", "run_agent", "connect_to_agent"):
    setattr(acp.core, _name, getattr(compat, _name))
for _name in ("run_agent", "connect_to_agent", "spawn_agent_process"):
    setattr(acp, _name, getattr(compat, _name))
acp.stdio.spawn_agent_process = compat.spawn_agent_process
