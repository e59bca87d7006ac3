"""The dialect of simse's protocol page, in our reading of it, as a plug-in for clients and for agents.

No other package imports it: a program passes `SimseDialect` to `use_dialect`, and a config entry names it.
`docs/simse.md` explains the interpretation, point by point.
"""

from accord.simse.agent_tool import run_tool, runs_tools
from accord.simse.client_tool import Tool
from accord.simse.plugin import SimseDialect

__all__ = ["SimseDialect", "Tool", "run_tool", "runs_tools"]
