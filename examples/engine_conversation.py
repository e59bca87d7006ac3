"""One real conversation per edition: this client, an agent in a process of its own, pipes between them.

python examples/engine_conversation.py [the text to be echoed]
"""

import asyncio
import sys
from pathlib import Path

import accord
from accord.protocol import v1, v2, v2_june

AGENT = (sys.executable, str(Path(__file__).with_name("engine_agent.py")))


def show(who: str, what: object) -> None:
    """Print one line of the conversation."""
    print(f"  {who:>6} │ {what}", flush=True)


async def talk_v1(connection: accord.Connection, handlers: accord.Handlers, text: str) -> None:
    """v1: the prompt's answer ends the turn."""

    async def permit(params: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        show("agent", f"may I? {params.tool_call.title!r} {[option.name for option in params.options]}")
        show("client", params.options[0].name)
        return v1.RequestPermissionResponse(v1.SelectedPermissionOutcome(params.options[0].option_id))

    handlers.on(v1.SESSION_UPDATE, lambda params: show("agent", params.update))
    handlers.on(v1.SESSION_REQUEST_PERMISSION, permit)
    hello = await connection.call(v1.INITIALIZE, v1.InitializeRequest(1), timeout_seconds=10)
    show("agent", f"version {hello.protocol_version}, {hello.agent_info}")
    session = await connection.call(v1.SESSION_NEW, v1.NewSessionRequest(str(Path.cwd()), []))
    show("client", text)
    request = v1.PromptRequest(session.session_id, [v1.TextContent(text)])
    show("agent", await connection.call(v1.SESSION_PROMPT, request, timeout_seconds=10))


async def talk_v2_june(connection: accord.Connection, handlers: accord.Handlers, text: str) -> None:
    """June's v2: the turns of v1, with other types."""

    async def permit(params: v2_june.RequestPermissionRequest) -> v2_june.RequestPermissionResponse:
        show("agent", f"may I? {params.tool_call.title!r} {[option.name for option in params.options]}")
        show("client", params.options[0].name)
        return v2_june.RequestPermissionResponse(v2_june.SelectedPermissionOutcome(params.options[0].option_id))

    handlers.on(v2_june.SESSION_UPDATE, lambda params: show("agent", params.update))
    handlers.on(v2_june.SESSION_REQUEST_PERMISSION, permit)
    us = v2_june.Implementation("conversation", "0.1")
    hello = await connection.call(v2_june.INITIALIZE, v2_june.InitializeRequest(2, client_info=us), timeout_seconds=10)
    show("agent", f"version {hello.protocol_version}, {hello.agent_info}")
    session = await connection.call(v2_june.SESSION_NEW, v2_june.NewSessionRequest(str(Path.cwd()), []))
    show("client", text)
    request = v2_june.PromptRequest(session.session_id, [v2_june.TextContent(text)])
    show("agent", await connection.call(v2_june.SESSION_PROMPT, request, timeout_seconds=10))


async def talk_v2(connection: accord.Connection, handlers: accord.Handlers, text: str) -> None:
    """v2: the turn is over when the state is `idle`."""
    idle = asyncio.Event()

    async def update(params: v2.UpdateSessionNotification) -> None:
        show("agent", params.update)
        if isinstance(params.update, v2.StateUpdated) and params.update.state == "idle":
            idle.set()

    async def permit(params: v2.RequestPermissionRequest) -> v2.RequestPermissionResponse:
        show("agent", f"may I? {params.title!r} {[option.name for option in params.options]}")
        show("client", params.options[0].name)
        return v2.RequestPermissionResponse(v2.SelectedPermissionOutcome(params.options[0].option_id))

    handlers.on(v2.SESSION_UPDATE, update)
    handlers.on(v2.SESSION_REQUEST_PERMISSION, permit)
    us = v2.Implementation("conversation", "0.1")
    hello = await connection.call(v2.INITIALIZE, v2.InitializeRequest(2, us), timeout_seconds=10)
    show("agent", f"version {hello.protocol_version}, {hello.info}")
    session = await connection.call(v2.SESSION_NEW, v2.NewSessionRequest(str(Path.cwd())))
    show("client", text)
    request = v2.PromptRequest(session.session_id, [v2.TextContent(text)])
    show("agent", await connection.call(v2.SESSION_PROMPT, request, timeout_seconds=10))
    async with asyncio.timeout(10):
        await idle.wait()


async def main() -> None:
    """Three agents, one after the other."""
    text = " ".join(sys.argv[1:]) or "Hello from the other side"
    for name, talk in (("v1", talk_v1), ("v2, June's draft", talk_v2_june), ("v2, November's draft", talk_v2)):
        print(f"\n{name}")
        transport = await accord.spawn(*AGENT)
        handlers = accord.Handlers()
        async with accord.Connection(transport, "client", handlers) as connection:
            await talk(connection, handlers, text)
        print(f"  the agent has left with exit status {transport.exit_status}")


asyncio.run(main())
