"""Accord as a v1 agent: plays the scene that the prompt names, for clients on other people's SDKs."""

from __future__ import annotations

import asyncio
from typing import Any

import accord
from accord.protocol import v1
from tests.interop.record import plain, refusal


def text(words: str) -> v1.TextContent:
    return v1.TextContent(words)


MODES = v1.SessionModeState(
    "ask", [v1.SessionMode("ask", "Ask", description="Asks first"), v1.SessionMode("code", "Code")]
)
UPDATES: list[v1.SessionUpdate] = [
    v1.UserMessageChunk(text("tell")),
    v1.AgentThoughtChunk(text("Let me think.")),
    v1.AgentMessageChunk(text("First, "), message_id="m1", meta={"interop": {"part": 1, "of": [1, 2]}}),
    v1.AgentMessageChunk(v1.ResourceLink("notes", "file:///story/notes.txt", size=12), message_id="m1"),
    v1.AgentMessageChunk(v1.ImageContent("iVBORw0KGgo=", "image/png")),
    v1.Plan([v1.PlanEntry("Read", "high", "completed"), v1.PlanEntry("Write", "low", "pending")]),
    v1.ToolCall(
        "call-1",
        "Edit notes",
        kind="edit",
        status="pending",
        locations=[v1.ToolCallLocation("/story/notes.txt", 2)],
        raw_input={"path": "/story/notes.txt", "flags": [True, 1.5, "x"]},
    ),
    v1.ToolCallUpdated(
        "call-1", status="in_progress", content=[v1.Diff("/story/notes.txt", "two\n", old_text="one\n")]
    ),
    v1.ToolCallUpdated(
        "call-1",
        status="completed",
        content=[v1.Content(text("done")), v1.Diff("/story/new.txt", "fresh\n"), v1.Terminal("term-1")],
        raw_output={"written": 4},
    ),
    v1.AvailableCommandsUpdate(
        [
            v1.AvailableCommand("help", "Shows help"),
            v1.AvailableCommand("web", "Searches", input=v1.UnstructuredCommandInput("what to look for")),
        ]
    ),
    v1.UsageUpdate(1200, 200000, cost=v1.Cost(0.25, "EUR")),
    v1.SessionInfoUpdate(title="A story", updated_at="2026-11-01T10:00:00Z"),
    v1.AgentMessageChunk(text("the end.")),
]
QUESTION = v1.ToolCallUpdate("call-1", kind="edit", status="pending", title="Edit notes")
OPTIONS = [v1.PermissionOption("yes", "Allow", "allow_once"), v1.PermissionOption("no", "Reject", "reject_always")]
FORM = v1.ElicitationSchema(
    properties={
        "name": v1.StringPropertySchema(title="Name", max_length=20),
        "count": v1.IntegerPropertySchema(minimum=1),
        "sure": v1.BooleanPropertySchema(default=False),
    },
    required=["name"],
)
SESSIONS = [
    v1.SessionInfo("session-1", "/story", title="A story", updated_at="2026-11-01T10:00:00Z"),
    v1.SessionInfo("session-0", "/story"),
]


class AgentV1:
    """Handlers of one connection, which is set after it was made with them."""

    connection: accord.Connection

    def __init__(self, handlers: accord.Handlers) -> None:
        self.cancelled = asyncio.Event()
        self.model = v1.SessionConfigSelect(
            "model",
            "Model",
            "small",
            [
                v1.SessionConfigSelectOption("small", "Small"),
                v1.SessionConfigSelectOption("large", "Large", description="Slow"),
            ],
            category="model",
        )
        self.web = v1.SessionConfigBoolean("web", "Web search", current_value=False)
        handlers.on(v1.INITIALIZE, self.initialize)
        handlers.on(v1.SESSION_NEW, self.new)
        handlers.on(v1.SESSION_LOAD, self.load)
        handlers.on(v1.SESSION_RESUME, self.resume)
        handlers.on(v1.SESSION_CLOSE, lambda _: v1.CloseSessionResponse())
        handlers.on(v1.SESSION_LIST, self.list)
        handlers.on(v1.SESSION_SET_MODE, self.set_mode)
        handlers.on(v1.SESSION_SET_CONFIG_OPTION, self.set_config_option)
        handlers.on(v1.SESSION_PROMPT, self.prompt)
        handlers.on(v1.SESSION_CANCEL, lambda _: None)
        handlers.on_arrival(v1.SESSION_CANCEL, lambda _: self.cancelled.set())

    @property
    def options(self) -> list[v1.SessionConfigOption]:
        return [self.model, self.web]

    async def update(self, session_id: str, update: v1.SessionUpdate) -> None:
        await self.connection.notify(v1.SESSION_UPDATE, v1.SessionNotification(session_id, update))

    async def initialize(self, request: v1.InitializeRequest) -> v1.InitializeResponse:
        capabilities = v1.AgentCapabilities(
            load_session=True,
            prompt_capabilities=v1.PromptCapabilities(image=True),
            session_capabilities=v1.SessionCapabilities(
                list=v1.SessionListCapabilities(),
                resume=v1.SessionResumeCapabilities(),
                close=v1.SessionCloseCapabilities(),
            ),
        )
        return v1.InitializeResponse(
            request.protocol_version,
            agent_capabilities=capabilities,
            agent_info=v1.Implementation("accord-agent", "1"),
            meta={"capabilities": plain(request.client_capabilities)},
        )

    async def new(self, _: v1.NewSessionRequest) -> v1.NewSessionResponse:
        return v1.NewSessionResponse("session-1", modes=MODES, config_options=self.options)

    async def load(self, request: v1.LoadSessionRequest) -> v1.LoadSessionResponse:
        if request.session_id != "session-1":
            raise accord.ResourceNotFound(data={"uri": request.session_id})
        await self.update(request.session_id, v1.UserMessageChunk(text("earlier")))
        await self.update(request.session_id, v1.AgentMessageChunk(text("indeed")))
        return v1.LoadSessionResponse(modes=MODES, config_options=self.options)

    async def resume(self, _: v1.ResumeSessionRequest) -> v1.ResumeSessionResponse:
        return v1.ResumeSessionResponse(modes=MODES, config_options=self.options)

    async def list(self, request: v1.ListSessionsRequest) -> v1.ListSessionsResponse:
        if request.cursor:
            return v1.ListSessionsResponse(SESSIONS[1:])
        return v1.ListSessionsResponse(SESSIONS[:1], next_cursor="page-2")

    async def set_mode(self, request: v1.SetSessionModeRequest) -> v1.SetSessionModeResponse:
        await self.update(request.session_id, v1.CurrentModeUpdate(request.mode_id))
        return v1.SetSessionModeResponse()

    async def set_config_option(self, request: v1.SetSessionConfigOptionRequest) -> v1.SetSessionConfigOptionResponse:
        if isinstance(request.value, bool):
            self.web.current_value = request.value
        else:
            self.model.current_value = request.value
        await self.update(request.session_id, v1.ConfigOptionUpdate(self.options))
        return v1.SetSessionConfigOptionResponse(self.options)

    async def prompt(self, request: v1.PromptRequest) -> v1.PromptResponse:
        scene = SceneV1(self, request)
        return v1.PromptResponse(await scene.play(), meta={"by": "accord"})


class SceneV1:
    """One turn; each method is a scene and returns its stop reason."""

    def __init__(self, agent: AgentV1, request: v1.PromptRequest) -> None:
        self.agent = agent
        self.connection = agent.connection
        self.session_id = request.session_id
        self.words = [block.text for block in request.prompt if isinstance(block, v1.TextContent)]

    async def play(self) -> str:
        stop_reason: str = await getattr(self, self.words[0])()
        return stop_reason

    async def say(self, words: str) -> None:
        await self.agent.update(self.session_id, v1.AgentMessageChunk(text(words)))

    async def saw(self, **facts: Any) -> None:
        await self.connection.notify_extension("_interop/saw", {"sessionId": self.session_id, **facts})

    async def ask(self) -> Any:
        request = v1.RequestPermissionRequest(self.session_id, QUESTION, OPTIONS)
        answer = await self.connection.call(v1.SESSION_REQUEST_PERMISSION, request)
        return plain(answer.outcome)

    async def tell(self) -> str:
        for update in UPDATES:
            await self.agent.update(self.session_id, update)
        return "end_turn"

    async def ask_twice(self) -> str:
        await self.saw(outcomes=[await self.ask(), await self.ask()])
        return "refusal"

    async def files(self) -> str:
        call, session_id = self.connection.call, self.session_id
        read = await call(v1.FS_READ_TEXT_FILE, v1.ReadTextFileRequest(session_id, "/story/notes.txt", 2, 1))
        content = read.content.upper()
        await call(v1.FS_WRITE_TEXT_FILE, v1.WriteTextFileRequest(session_id, "/story/out.txt", content))
        missing = v1.ReadTextFileRequest(session_id, "/story/missing.txt")
        answer = await refusal(call(v1.FS_READ_TEXT_FILE, missing))
        await self.saw(content=read.content, missing={"code": answer["code"], "data": answer["data"]})
        return "max_tokens"

    async def terminal(self) -> str:
        call, session_id = self.connection.call, self.session_id
        request = v1.CreateTerminalRequest(
            session_id, "make", ["-j", "2"], [v1.EnvVariable("LANG", "C")], "/story", 1000
        )
        which = (await call(v1.TERMINAL_CREATE, request)).terminal_id
        before = await call(v1.TERMINAL_OUTPUT, v1.TerminalOutputRequest(session_id, which))
        waiting = call(v1.TERMINAL_WAIT_FOR_EXIT, v1.WaitForTerminalExitRequest(session_id, which))
        killing = call(v1.TERMINAL_KILL, v1.KillTerminalRequest(session_id, which))
        ended, _ = await asyncio.gather(waiting, killing)
        after = await call(v1.TERMINAL_OUTPUT, v1.TerminalOutputRequest(session_id, which))
        await call(v1.TERMINAL_RELEASE, v1.ReleaseTerminalRequest(session_id, which))
        await self.saw(before=plain(before), ended=plain(ended), after=plain(after))
        return "max_turn_requests"

    async def elicit(self) -> str:
        question = v1.ElicitationFormMode("Who are you?", FORM, session_id=self.session_id)
        form = await self.connection.call(v1.ELICITATION_CREATE, question)
        page = v1.ElicitationUrlMode("Log in", "login-1", "https://example.com/login", session_id=self.session_id)
        url = await self.connection.call(v1.ELICITATION_CREATE, page)
        await self.connection.notify(v1.ELICITATION_COMPLETE, v1.CompleteElicitationNotification("login-1"))
        await self.saw(form=plain(form), url=plain(url))
        return "end_turn"

    async def extend(self) -> str:
        answer = await self.connection.call_extension("_interop/add", {"a": 2, "b": 3})
        unknown = await refusal(self.connection.call_extension("_interop/unknown"))
        foreign = await refusal(self.connection.call_extension("no/such_method"))
        await self.saw(sum=answer["sum"], unknown=unknown["code"], foreign=foreign["code"])
        return "end_turn"

    async def fail(self) -> str:
        raise accord.RequestError("Not today", {"why": ["✗", 1, None]}, code=4711)

    async def crash(self) -> str:
        raise TypeError("a secret")

    async def wait(self) -> str:
        await self.say("waiting")
        await self.agent.cancelled.wait()
        self.agent.cancelled.clear()
        await self.say("stopped")
        return "cancelled"

    async def interrupt(self) -> str:
        outcome = await self.ask()
        # The client cancelled before it answered: that is known by now, without any waiting.
        assert self.agent.cancelled.is_set()
        await self.saw(outcome=outcome)
        self.agent.cancelled.clear()
        return "cancelled"

    async def burst(self) -> str:
        for n in range(2000):
            await self.say(str(n))
        return "end_turn"

    async def echo(self) -> str:
        await self.say(self.words[1])
        await self.saw(characters=len(self.words[1]))
        return "end_turn"
