"""Accord as a v2 agent: plays the scene that the prompt names, for clients on other people's SDKs."""

from __future__ import annotations

import asyncio
from typing import Any

import accord
from accord.protocol import v2
from tests.interop.record import plain, refusal


def text(words: str) -> v2.TextContent:
    return v2.TextContent(words)


DIFF = v2.Diff(
    [
        v2.ModifyChange("/story/notes.txt", file_type="text"),
        v2.MoveChange("/story/old.txt", "/story/new.txt"),
    ],
    patch=v2.DiffPatch("git_patch", "diff --git /story/notes.txt /story/notes.txt\n"),
)
PLAN = v2.PlanItems("plan-1", [v2.PlanEntry("Read", "high", "completed"), v2.PlanEntry("Write", "low", "cancelled")])
UPDATES: list[v2.SessionUpdate] = [
    v2.AgentThoughtChunk("t1", text("Let me think.")),
    v2.AgentMessageChunk("m1", text("First, "), meta={"interop": {"part": 1, "of": [1, 2]}}),
    v2.AgentMessageChunk("m1", v2.ResourceLink("notes", "file:///story/notes.txt", size=12)),
    v2.AgentMessage("m1", content=[text("Rewritten."), v2.ImageContent("iVBORw0KGgo=", "image/png")]),
    v2.AgentThought("t1", content=None),
    v2.ToolCallUpdated(
        "call-1",
        title="Edit notes",
        kind="edit",
        status="in_progress",
        locations=[v2.ToolCallLocation("/story/notes.txt", 2)],
        raw_input={"path": "/story/notes.txt", "flags": [True, 1.5, "x"]},
    ),
    v2.ToolCallContentChunk("call-1", DIFF),
    v2.TerminalUpdate("term-1", command="make", cwd="/story"),
    v2.TerminalOutputChunk("term-1", "YnVpbGRpbmcK"),
    v2.TerminalUpdate("term-1", exit_status=v2.TerminalExitStatus(exit_code=0)),
    v2.ToolCallUpdated(
        "call-1",
        status="completed",
        content=[v2.Content(text("done")), v2.Diff([v2.AddChange("/story/new.txt")]), v2.Terminal("term-1")],
        raw_output={"written": 4},
    ),
    v2.PlanUpdate(PLAN),
    v2.AvailableCommandsUpdate(
        [
            v2.Command("help", "Shows help"),
            v2.Command("web", "Searches", input=v2.TextCommandInput("what to look for")),
        ]
    ),
    v2.UsageUpdate(1200, 200000, cost=v2.Cost(0.25, "EUR")),
    v2.SessionInfoUpdate(title=None, updated_at="2026-11-01T10:00:00Z"),
    v2.Notice("warning", "Careful", description="It is late"),
]
HISTORY: list[v2.SessionUpdate] = [
    v2.UserMessage("u0", content=[text("earlier")]),
    v2.AgentMessage("a0", content=[text("indeed")]),
]
ALLOW = v2.PermissionOption("yes", "Allow", "allow_once")
REJECT = v2.PermissionOption("no", "Reject", "reject_always")
EDIT = v2.ToolCallPermissionSubject(v2.ToolCallUpdate("call-1", title="Edit notes", kind="edit", status="pending"))
FORM = v2.ElicitationSchema(
    "object",
    {
        "name": v2.StringPropertySchema(title="Name", max_length=20),
        "count": v2.IntegerPropertySchema(minimum=1),
        "sure": v2.BooleanPropertySchema(default=False),
    },
    required=["name"],
)
SESSIONS = [
    v2.SessionInfo("session-1", "/story", title="A story", updated_at="2026-11-01T10:00:00Z"),
    v2.SessionInfo("session-0", "/story"),
]


class AgentV2:
    """Handlers of one connection, which is set after it was made with them."""

    connection: accord.Connection

    def __init__(self, handlers: accord.Handlers) -> None:
        self.cancelled = asyncio.Event()
        self.tool_cancelled = asyncio.Event()
        self.prompts = 0
        self.turns: set[asyncio.Task[None]] = set()
        self.model = v2.SessionConfigSelect(
            "model",
            "Model",
            "small",
            [
                v2.SessionConfigSelectOption("small", "Small"),
                v2.SessionConfigSelectOption("large", "Large", description="Slow"),
            ],
            category="model",
        )
        self.web = v2.SessionConfigBoolean("web", "Web search", current_value=False)
        handlers.on(v2.INITIALIZE, self.initialize)
        handlers.on(v2.SESSION_NEW, lambda _: v2.NewSessionResponse("session-1", config_options=self.options))
        handlers.on(v2.SESSION_RESUME, self.resume)
        handlers.on(v2.SESSION_CLOSE, lambda _: v2.CloseSessionResponse())
        handlers.on(v2.SESSION_DELETE, lambda _: v2.DeleteSessionResponse())
        handlers.on(v2.SESSION_LIST, self.list)
        handlers.on(v2.SESSION_SET_CONFIG_OPTION, self.set_config_option)
        handlers.on(v2.SESSION_PROMPT, self.prompt)
        handlers.on(v2.SESSION_CANCEL, lambda _: None)
        handlers.on_arrival(v2.SESSION_CANCEL, lambda _: self.cancelled.set())
        handlers.on(v2.TOOL_CALL_CANCEL, self.cancel_tool)

    @property
    def options(self) -> list[v2.SessionConfigOption]:
        return [self.model, self.web]

    async def update(self, session_id: str, update: v2.SessionUpdate) -> None:
        await self.connection.notify(v2.SESSION_UPDATE, v2.UpdateSessionNotification(session_id, update))

    async def initialize(self, request: v2.InitializeRequest) -> v2.InitializeResponse:
        session = v2.SessionCapabilities(
            prompt=v2.PromptCapabilities(image=v2.PromptImageCapabilities()), delete=v2.SessionDeleteCapabilities()
        )
        return v2.InitializeResponse(
            request.protocol_version,
            v2.Implementation("accord-agent", "1"),
            v2.AgentCapabilities(session=session),
            meta={"capabilities": plain(request.capabilities)},
        )

    async def resume(self, request: v2.ResumeSessionRequest) -> v2.ResumeSessionResponse:
        if request.session_id != "session-1":
            raise accord.ResourceNotFound(data={"sessionId": request.session_id})
        for update in HISTORY if isinstance(request.replay_from, v2.ReplayFromStart) else []:
            await self.update(request.session_id, update)
        await self.update(request.session_id, v2.StateUpdated("idle"))
        return v2.ResumeSessionResponse(config_options=self.options)

    async def list(self, request: v2.ListSessionsRequest) -> v2.ListSessionsResponse:
        if request.cursor:
            return v2.ListSessionsResponse(SESSIONS[1:])
        return v2.ListSessionsResponse(SESSIONS[:1], next_cursor="page-2")

    async def set_config_option(self, request: v2.SetSessionConfigOptionRequest) -> v2.SetSessionConfigOptionResponse:
        option: Any = self.web if request.config_id == "web" else self.model
        option.current_value = request.value
        await self.update(request.session_id, v2.ConfigOptionUpdate(self.options))
        return v2.SetSessionConfigOptionResponse(self.options)

    async def cancel_tool(self, _: v2.CancelToolCallRequest) -> v2.CancelToolCallResponse:
        self.tool_cancelled.set()
        return v2.CancelToolCallResponse()

    async def prompt(self, request: v2.PromptRequest) -> v2.PromptResponse:
        scene = SceneV2(self, request)
        if scene.words[0] == "fail":
            raise accord.RequestError("Not today", {"why": ["✗", 1, None]}, code=4711)
        if scene.words[0] == "crash":
            raise TypeError("a secret")
        self.prompts += 1
        message_id = f"user-{self.prompts}"
        await self.update(request.session_id, v2.UserMessage(message_id, content=request.prompt))
        turn = asyncio.create_task(scene.run())
        self.turns.add(turn)
        turn.add_done_callback(self.turns.discard)
        return v2.PromptResponse(message_id, meta={"by": "accord"})


class SceneV2:
    """One turn; each method is a scene and returns its last state."""

    def __init__(self, agent: AgentV2, request: v2.PromptRequest) -> None:
        self.agent = agent
        self.connection = agent.connection
        self.session_id = request.session_id
        self.words = [block.text for block in request.prompt if isinstance(block, v2.TextContent)]

    async def run(self) -> None:
        await self.update(v2.StateUpdated("running"))
        await self.update(await getattr(self, self.words[0])())

    async def update(self, update: v2.SessionUpdate) -> None:
        await self.agent.update(self.session_id, update)

    async def say(self, words: str) -> None:
        await self.update(v2.AgentMessageChunk("m9", text(words)))

    async def saw(self, **facts: Any) -> None:
        await self.connection.notify_extension("_interop/saw", {"sessionId": self.session_id, **facts})

    async def ask(self, request: v2.RequestPermissionRequest) -> Any:
        await self.update(v2.StateUpdated("requires_action"))
        answer = await self.connection.call(v2.SESSION_REQUEST_PERMISSION, request)
        return plain(answer.outcome)

    def permission(self) -> v2.RequestPermissionRequest:
        return v2.RequestPermissionRequest(
            session_id=self.session_id,
            title="May I edit?",
            description="It changes a file",
            subject=EDIT,
            options=[ALLOW, REJECT],
        )

    async def tell(self) -> v2.StateUpdated:
        for update in UPDATES:
            await self.update(update)
        return v2.StateUpdated("idle", stop_reason="end_turn")

    async def ask_twice(self) -> v2.StateUpdated:
        first = await self.ask(self.permission())
        await self.update(v2.StateUpdated("running"))
        command = v2.CommandPermissionSubject("make -j2", "/story")
        second = await self.ask(
            v2.RequestPermissionRequest(
                session_id=self.session_id, title="May I run it?", subject=command, options=[ALLOW]
            )
        )
        await self.update(v2.StateUpdated("running"))
        await self.saw(outcomes=[first, second])
        return v2.StateUpdated("idle", stop_reason="refusal")

    async def elicit(self) -> v2.StateUpdated:
        question = v2.ElicitationFormMode("Who are you?", FORM, session_id=self.session_id)
        form = await self.connection.call(v2.ELICITATION_CREATE, question)
        page = v2.ElicitationUrlMode("Log in", "login-1", "https://example.com/login", session_id=self.session_id)
        url = await self.connection.call(v2.ELICITATION_CREATE, page)
        await self.connection.notify(v2.ELICITATION_COMPLETE, v2.CompleteElicitationNotification("login-1"))
        await self.saw(form=plain(form), url=plain(url))
        return v2.StateUpdated("idle", stop_reason="max_tokens")

    async def extend(self) -> v2.StateUpdated:
        answer = await self.connection.call_extension("_interop/add", {"a": 2, "b": 3})
        unknown = await refusal(self.connection.call_extension("_interop/unknown"))
        foreign = await refusal(self.connection.call_extension("no/such_method"))
        await self.saw(sum=answer["sum"], unknown=unknown["code"], foreign=foreign["code"])
        return v2.StateUpdated("idle", stop_reason="max_turn_requests")

    async def break_down(self) -> v2.StateUpdated:
        return v2.StateUpdated("idle", stop_reason="error", error=v2.Error(-32603, "No model"))

    async def wait(self) -> v2.StateUpdated:
        await self.say("waiting")
        await self.agent.cancelled.wait()
        self.agent.cancelled.clear()
        await self.say("stopped")
        return v2.StateUpdated("idle", stop_reason="cancelled")

    async def interrupt(self) -> v2.StateUpdated:
        outcome = await self.ask(self.permission())
        # The client cancelled before it answered: that is known by now, without any waiting.
        assert self.agent.cancelled.is_set()
        self.agent.cancelled.clear()
        await self.saw(outcome=outcome)
        return v2.StateUpdated("idle", stop_reason="cancelled")

    async def long_tool(self) -> v2.StateUpdated:
        able = v2.ToolCallCapabilities(cancel=v2.ToolCallCancelCapabilities())
        await self.update(v2.ToolCallUpdated("call-2", title="Long", status="in_progress", capabilities=able))
        await self.agent.tool_cancelled.wait()
        await self.update(v2.ToolCallUpdated("call-2", status="cancelled", capabilities=None))
        return v2.StateUpdated("idle", stop_reason="end_turn")

    async def burst(self) -> v2.StateUpdated:
        for n in range(2000):
            await self.say(str(n))
        return v2.StateUpdated("idle", stop_reason="end_turn")

    async def echo(self) -> v2.StateUpdated:
        await self.say(self.words[1])
        await self.saw(characters=len(self.words[1]))
        return v2.StateUpdated("idle", stop_reason="end_turn")
