"""Agents of other frameworks as `accord.Agent`s: `serve(agent)` recognises the framework, and each has its own module.

A framework is imported by its own adapter's module and by nothing else here. The other modules are shared by all
adapters; `docs/adapters.md` explains how to write one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.lazy import lazy_exports

if TYPE_CHECKING:
    from accord.adapters.framework_run import (
        FrameworkRun as FrameworkRun,
        UserAnswer as UserAnswer,
    )
    from accord.adapters.history import (
        AdapterState as AdapterState,
    )
    from accord.adapters.mcp_tools import (
        ClientTool as ClientTool,
    )
    from accord.adapters.prompt_parts import (
        Media as Media,
        MediaKind as MediaKind,
        PromptPart as PromptPart,
    )
    from accord.adapters.pydantic_ai_model import (
        as_model as as_model,
    )
    from accord.adapters.serving import (
        OpenRun as OpenRun,
        ServeOptions as ServeOptions,
        UnknownFramework as UnknownFramework,
        make_agent as make_agent,
        serve as serve,
    )
    from accord.adapters.tool_calls import (
        ToolCalls as ToolCalls,
    )

    __all__: list[str]
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "accord.adapters.framework_run": "FrameworkRun UserAnswer",
            "accord.adapters.history": "AdapterState",
            "accord.adapters.mcp_tools": "ClientTool",
            "accord.adapters.prompt_parts": "Media MediaKind PromptPart",
            "accord.adapters.pydantic_ai_model": "as_model",
            "accord.adapters.serving": "ServeOptions OpenRun UnknownFramework make_agent serve",
            "accord.adapters.tool_calls": "ToolCalls",
        },
    )
