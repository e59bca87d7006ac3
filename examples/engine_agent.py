"""An agent on the bare engine: it echoes the prompt word by word, in whichever edition its client speaks.

Start it from an editor, or see it at work with `examples/engine_conversation.py`. It shows what the engine gives and
what it does not: the three editions are three sets of handlers here. On the framework (`examples/agents/echo.py`) there
is one.
"""

import asyncio

import accord
from accord.protocol import v1, v2, v2_june

NAME, VERSION = "echo", "0.1"


def words(blocks: list[v1.ContentBlock] | list[v2.ContentBlock] | list[v2_june.ContentBlock]) -> list[str]:
    """The words of all text blocks."""
    texts = [block.text for block in blocks if isinstance(block, v1.TextContent | v2.TextContent | v2_june.TextContent)]
    return " ".join(texts).split()


def serve_v1(handlers: accord.Handlers, connection: accord.Connection) -> None:
    """v1: the answer to the prompt ends the turn."""

    async def initialize(_: v1.InitializeRequest) -> v1.InitializeResponse:
        return v1.InitializeResponse(1, agent_info=v1.Implementation(NAME, VERSION))

    async def new(_: v1.NewSessionRequest) -> v1.NewSessionResponse:
        return v1.NewSessionResponse("session-1")

    async def prompt(params: v1.PromptRequest) -> v1.PromptResponse:
        options = [v1.PermissionOption("yes", "Go on", "allow_once"), v1.PermissionOption("no", "Stop", "reject_once")]
        question = v1.ToolCallUpdate("echo-1", title="Repeat what you said", kind="think")
        answer = await connection.call(
            v1.SESSION_REQUEST_PERMISSION, v1.RequestPermissionRequest(params.session_id, question, options)
        )
        match answer.outcome:
            case v1.SelectedPermissionOutcome(option_id="yes"):
                for word in words(params.prompt):
                    chunk = v1.AgentMessageChunk(v1.TextContent(word + " "))
                    await connection.notify(v1.SESSION_UPDATE, v1.SessionNotification(params.session_id, chunk))
                return v1.PromptResponse("end_turn")
            case _:
                return v1.PromptResponse("refusal")

    handlers.on(v1.INITIALIZE, initialize)
    handlers.on(v1.SESSION_NEW, new)
    handlers.on(v1.SESSION_PROMPT, prompt)


def serve_v2_june(handlers: accord.Handlers, connection: accord.Connection) -> None:
    """June's v2: v1's turns, but every message has an id."""

    async def initialize(_: v2_june.InitializeRequest) -> v2_june.InitializeResponse:
        capabilities = v2_june.AgentCapabilities(session=v2_june.SessionCapabilities())
        info = v2_june.Implementation(NAME, VERSION)
        return v2_june.InitializeResponse(2, capabilities=capabilities, agent_info=info)

    async def new(_: v2_june.NewSessionRequest) -> v2_june.NewSessionResponse:
        return v2_june.NewSessionResponse("session-1")

    async def prompt(params: v2_june.PromptRequest) -> v2_june.PromptResponse:
        options = [
            v2_june.PermissionOption("yes", "Go on", "allow_once"),
            v2_june.PermissionOption("no", "Stop", "reject_once"),
        ]
        question = v2_june.ToolCallUpdate("echo-1", title="Repeat what you said", kind="think")
        answer = await connection.call(
            v2_june.SESSION_REQUEST_PERMISSION, v2_june.RequestPermissionRequest(params.session_id, question, options)
        )
        match answer.outcome:
            case v2_june.SelectedPermissionOutcome(option_id="yes"):
                for word in words(params.prompt):
                    chunk = v2_june.AgentMessageChunk(v2_june.TextContent(word + " "), "message-1")
                    update = v2_june.SessionNotification(params.session_id, chunk)
                    await connection.notify(v2_june.SESSION_UPDATE, update)
                return v2_june.PromptResponse("end_turn")
            case _:
                return v2_june.PromptResponse("refusal")

    handlers.on(v2_june.INITIALIZE, initialize)
    handlers.on(v2_june.SESSION_NEW, new)
    handlers.on(v2_june.SESSION_PROMPT, prompt)


def serve_v2(handlers: accord.Handlers, connection: accord.Connection) -> None:
    """v2: the answer says that the prompt has its place; states tell how the work goes on."""
    working: set[asyncio.Task[None]] = set()

    async def report(session: str, update: v2.SessionUpdate) -> None:
        await connection.notify(v2.SESSION_UPDATE, v2.UpdateSessionNotification(session, update))

    async def initialize(_: v2.InitializeRequest) -> v2.InitializeResponse:
        capabilities = v2.AgentCapabilities(session=v2.SessionCapabilities())
        return v2.InitializeResponse(2, v2.Implementation(NAME, VERSION), capabilities=capabilities)

    async def new(_: v2.NewSessionRequest) -> v2.NewSessionResponse:
        return v2.NewSessionResponse("session-1")

    async def work(session: str, said: list[str]) -> None:
        await report(session, v2.StateUpdated("requires_action"))
        options = [v2.PermissionOption("yes", "Go on", "allow_once"), v2.PermissionOption("no", "Stop", "reject_once")]
        question = v2.RequestPermissionRequest(session, "Repeat what you said", options)
        answer = await connection.call(v2.SESSION_REQUEST_PERMISSION, question)
        await report(session, v2.StateUpdated("running"))
        approved = isinstance(answer.outcome, v2.SelectedPermissionOutcome) and answer.outcome.option_id == "yes"
        for word in said if approved else []:
            await report(session, v2.AgentMessageChunk("message-2", v2.TextContent(word + " ")))
        await report(session, v2.StateUpdated("idle", stop_reason="end_turn" if approved else "refusal"))

    async def prompt(params: v2.PromptRequest) -> v2.PromptResponse:
        await report(params.session_id, v2.UserMessage("message-1", content=params.prompt))
        await report(params.session_id, v2.StateUpdated("running"))
        task = asyncio.create_task(work(params.session_id, words(params.prompt)))
        working.add(task)
        task.add_done_callback(working.discard)
        return v2.PromptResponse("message-1")

    handlers.on(v2.INITIALIZE, initialize)
    handlers.on(v2.SESSION_NEW, new)
    handlers.on(v2.SESSION_PROMPT, prompt)


async def main() -> None:
    """Serve the client on stdin and stdout until it leaves."""
    handlers = accord.Handlers()
    async with accord.Connection(accord.open_stdio(), "agent", handlers) as connection:
        serve_v1(handlers, connection)
        serve_v2_june(handlers, connection)
        serve_v2(handlers, connection)
        print("this stray print does no harm: it goes to stderr")
        await connection.wait_closed()


asyncio.run(main())
