"""An agent on the official Python SDK, v2: plays the scene that the prompt names."""

from __future__ import annotations

import asyncio
from typing import Any

import acp
from acp.experimental import v2
from acp.experimental.v2 import schema


def text(words: str) -> Any:
    return schema.TextContentBlock(type="text", text=words)


def configuration() -> list[Any]:
    model = schema.SelectSessionConfigOption(
        type="select",
        config_id="model",
        name="Model",
        category="model",
        current_value="small",
        options=[
            schema.SessionConfigSelectOption(value="small", name="Small"),
            schema.SessionConfigSelectOption(value="large", name="Large", description="Slow"),
        ],
    )
    web = schema.BooleanSessionConfigOption(type="boolean", config_id="web", name="Web search", current_value=False)
    return [model, web]


def chunk(message_id: str, content: Any, **others: Any) -> Any:
    return schema.AgentMessageChunk(
        session_update="agent_message_chunk", message_id=message_id, content=content, **others
    )


def tool_call(tool_call_id: str, **others: Any) -> Any:
    return schema.SessionToolCallUpdate(session_update="tool_call_update", tool_call_id=tool_call_id, **others)


def terminal(**others: Any) -> Any:
    return schema.SessionTerminalUpdate(session_update="terminal_update", terminal_id="term-1", **others)


DIFF = schema.DiffToolCallContent(
    type="diff",
    changes=[
        schema.ModifyDiffChange(operation="modify", path="/story/notes.txt", file_type="text"),
        schema.MoveDiffChange(operation="move", old_path="/story/old.txt", path="/story/new.txt"),
    ],
    patch=schema.DiffPatch(format="git_patch", text="diff --git /story/notes.txt /story/notes.txt\n"),
)
ADDED = schema.DiffToolCallContent(type="diff", changes=[schema.AddDiffChange(operation="add", path="/story/new.txt")])
PLAN = schema.PlanUpdateItems(
    type="items",
    plan_id="plan-1",
    entries=[
        schema.PlanEntry(content="Read", priority="high", status="completed"),
        schema.PlanEntry(content="Write", priority="low", status="cancelled"),
    ],
)
COMMANDS = [
    schema.AvailableCommand(name="help", description="Shows help"),
    schema.AvailableCommand(
        name="web",
        description="Searches",
        input=schema.TextAvailableCommandInput(type="text", hint="what to look for"),
    ),
]
UPDATES = [
    schema.AgentThoughtChunk(session_update="agent_thought_chunk", message_id="t1", content=text("Let me think.")),
    chunk("m1", text("First, "), field_meta={"interop": {"part": 1, "of": [1, 2]}}),
    chunk(
        "m1",
        schema.ResourceContentBlock(type="resource_link", name="notes", uri="file:///story/notes.txt", size=12),
    ),
    schema.AgentMessageUpdate(
        session_update="agent_message",
        message_id="m1",
        content=[
            text("Rewritten."),
            schema.ImageContentBlock(type="image", data="iVBORw0KGgo=", mime_type="image/png"),
        ],
    ),
    schema.AgentThoughtUpdate(session_update="agent_thought", message_id="t1", content=None),
    tool_call(
        "call-1",
        title="Edit notes",
        kind="edit",
        status="in_progress",
        locations=[schema.ToolCallLocation(path="/story/notes.txt", line=2)],
        raw_input={"path": "/story/notes.txt", "flags": [True, 1.5, "x"]},
    ),
    schema.ToolCallContentChunkUpdate(session_update="tool_call_content_chunk", tool_call_id="call-1", content=DIFF),
    terminal(command="make", cwd="/story"),
    schema.SessionTerminalOutputChunk(
        session_update="terminal_output_chunk", terminal_id="term-1", data="YnVpbGRpbmcK"
    ),
    terminal(exit_status=schema.TerminalExitStatus(exit_code=0)),
    tool_call(
        "call-1",
        status="completed",
        content=[
            schema.ContentToolCallContent(type="content", content=text("done")),
            ADDED,
            schema.TerminalToolCallContent(type="terminal", terminal_id="term-1"),
        ],
        raw_output={"written": 4},
    ),
    schema.SessionPlanUpdate(session_update="plan_update", plan=PLAN),
    schema.AvailableCommandsUpdate(session_update="available_commands_update", available_commands=COMMANDS),
    schema.UsageUpdate(
        session_update="usage_update", used=1200, size=200000, cost=schema.Cost(amount=0.25, currency="EUR")
    ),
    schema.SessionInfoUpdate(session_update="session_info_update", title=None, updated_at="2026-11-01T10:00:00Z"),
    schema.SessionNotice(session_update="notice", severity="warning", title="Careful", description="It is late"),
]
HISTORY = [
    schema.UserMessageUpdate(session_update="user_message", message_id="u0", content=[text("earlier")]),
    schema.AgentMessageUpdate(session_update="agent_message", message_id="a0", content=[text("indeed")]),
]
ALLOW = schema.PermissionOption(option_id="yes", name="Allow", kind="allow_once")
REJECT = schema.PermissionOption(option_id="no", name="Reject", kind="reject_always")
PERMISSION = {
    "title": "May I edit?",
    "description": "It changes a file",
    "subject": schema.ToolCallPermissionSubjectVariant(
        type="tool_call",
        tool_call=schema.ToolCallUpdate(tool_call_id="call-1", title="Edit notes", kind="edit", status="pending"),
    ),
    "options": [ALLOW, REJECT],
}
COMMAND = {
    "title": "May I run it?",
    "subject": schema.CommandPermissionSubjectVariant(type="command", command="make -j2", cwd="/story"),
    "options": [ALLOW],
}
FORM = schema.ElicitationSchema(
    type="object",
    properties={
        "name": schema.ElicitationStringPropertySchema(type="string", title="Name", max_length=20),
        "count": schema.ElicitationIntegerPropertySchema(type="integer", minimum=1),
        "sure": schema.ElicitationBooleanPropertySchema(type="boolean", default=False),
    },
    required=["name"],
)
SESSIONS = [
    schema.SessionInfo(session_id="session-1", cwd="/story", title="A story", updated_at="2026-11-01T10:00:00Z"),
    schema.SessionInfo(session_id="session-0", cwd="/story"),
]


def plain(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


def idle(**others: Any) -> Any:
    return schema.IdleSessionStateUpdate(session_update="state_update", state="idle", **others)


class Agent:
    """Handlers by the names that the SDK calls."""

    def __init__(self) -> None:
        self.client: Any = None
        self.options = configuration()
        self.cancelled = asyncio.Event()
        self.notes: list[int] = []
        self.hung = False
        self.turns: set[asyncio.Task[None]] = set()
        self.prompts = 0

    def on_connect(self, connection: Any) -> None:
        self.client = connection

    async def initialize(self, capabilities: Any = None, **_: Any) -> Any:
        session = schema.SessionCapabilities(
            prompt=schema.PromptCapabilities(image=schema.PromptImageCapabilities()),
            delete=schema.SessionDeleteCapabilities(),
        )
        return schema.InitializeResponse(
            protocol_version=v2.PROTOCOL_VERSION,
            info=schema.Implementation(name="py-agent", version="1"),
            capabilities=schema.AgentCapabilities(session=session),
            field_meta={"capabilities": plain(capabilities)},
        )

    async def new_session(self, **_: Any) -> Any:
        return schema.NewSessionResponse(session_id="session-1", config_options=self.options)

    async def resume_session(self, session_id: str, replay_from: Any = None, **_: Any) -> Any:
        if session_id != "session-1":
            raise acp.RequestError(-32002, "Resource not found", {"sessionId": session_id})
        for update in HISTORY if replay_from else []:
            await self.client.session_update(session_id, update)
        await self.client.session_update(session_id, idle())
        return schema.ResumeSessionResponse(config_options=self.options)

    async def close_session(self, **_: Any) -> Any:
        return schema.CloseSessionResponse()

    async def delete_session(self, **_: Any) -> Any:
        return schema.DeleteSessionResponse()

    async def list_sessions(self, cursor: str | None = None, **_: Any) -> Any:
        if cursor:
            return schema.ListSessionsResponse(sessions=SESSIONS[1:])
        return schema.ListSessionsResponse(sessions=SESSIONS[:1], next_cursor="page-2")

    async def set_config_option(self, config_id: str, session_id: str, value: Any, **_: Any) -> Any:
        next(option for option in self.options if option.config_id == config_id).current_value = value
        update = schema.ConfigOptionUpdate(session_update="config_option_update", config_options=self.options)
        await self.client.session_update(session_id, update)
        return schema.SetSessionConfigOptionResponse(config_options=self.options)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> Any:
        if prompt[0].text == "fail":
            raise acp.RequestError(4711, "Not today", {"why": ["✗", 1, None]})
        if prompt[0].text == "crash":
            raise TypeError("a secret")
        self.prompts += 1
        message_id = f"user-{self.prompts}"
        update = schema.UserMessageUpdate(session_update="user_message", message_id=message_id, content=prompt)
        await self.client.session_update(session_id, update)
        turn = asyncio.create_task(Scene(self, session_id, prompt).run())
        self.turns.add(turn)
        turn.add_done_callback(self.turns.discard)
        return schema.PromptResponse(message_id=message_id, field_meta={"by": "py"})

    async def cancel_session(self, **_: Any) -> None:
        self.cancelled.set()

    async def handle_extension_request(self, method: str, params: Any) -> Any:
        if method == "_interop/add":
            return {"sum": params["a"] + params["b"]}
        if method == "_interop/noted":
            return {"count": len(self.notes), "ordered": self.notes == list(range(len(self.notes)))}
        if method == "_interop/hang":
            return await self.hang()
        if method == "_interop/hung":
            return {"cancelled": self.hung}
        raise acp.RequestError.method_not_found(method)

    async def hang(self) -> None:
        await self.client.send_extension_notification("_interop/hanging", {})
        try:
            await asyncio.Event().wait()
        finally:
            self.hung = True

    async def handle_extension_notification(self, method: str, params: Any) -> None:
        if method == "_interop/note":
            self.notes.append(params["n"])


class Scene:
    """One turn; each method is a scene and returns its stop reason."""

    def __init__(self, agent: Agent, session_id: str, prompt: list[Any]) -> None:
        self.agent = agent
        self.client = agent.client
        self.session_id = session_id
        self.blocks = prompt

    async def run(self) -> None:
        await self.running()
        await self.update(idle(stop_reason=await getattr(self, self.blocks[0].text)()))

    async def update(self, update: Any) -> None:
        await self.client.session_update(self.session_id, update)

    async def running(self) -> None:
        await self.update(schema.RunningSessionStateUpdate(session_update="state_update", state="running"))

    async def say(self, words: str) -> None:
        await self.update(chunk("m9", text(words)))

    async def saw(self, **facts: Any) -> None:
        facts["sessionId"] = self.session_id
        await self.client.send_extension_notification("_interop/saw", facts)

    async def ask(self, question: dict[str, Any]) -> Any:
        state = schema.RequiresActionSessionStateUpdate(session_update="state_update", state="requires_action")
        await self.update(state)
        answer = await self.client.request_permission(session_id=self.session_id, **question)
        return plain(answer.outcome)

    async def tell(self) -> str:
        for update in UPDATES:
            await self.update(update)
        return "end_turn"

    async def ask_twice(self) -> str:
        first = await self.ask(PERMISSION)
        await self.running()
        second = await self.ask(COMMAND)
        await self.running()
        await self.saw(outcomes=[first, second])
        return "refusal"

    async def elicit(self) -> str:
        form = await self.client.create_elicitation(
            "Who are you?", "form", session_id=self.session_id, requested_schema=FORM
        )
        url = await self.client.create_elicitation(
            "Log in",
            "url",
            session_id=self.session_id,
            elicitation_id="login-1",
            url="https://example.com/login",
        )
        await self.client.complete_elicitation("login-1")
        await self.saw(form=plain(form), url=plain(url))
        return "max_tokens"

    async def extend(self) -> str:
        answer = await self.client.send_extension_request("_interop/add", {"a": 2, "b": 3})
        code = 0
        try:
            await self.client.send_extension_request("_interop/unknown", {})
        except acp.RequestError as error:
            code = error.code
        await self.saw(sum=answer["sum"], unknown=code)
        return "max_turn_requests"

    async def break_down(self) -> str:
        return "error"

    async def wait(self) -> str:
        await self.say("waiting")
        await self.agent.cancelled.wait()
        self.agent.cancelled.clear()
        await self.say("stopped")
        return "cancelled"

    async def interrupt(self) -> str:
        outcome = await self.ask(PERMISSION)
        await self.agent.cancelled.wait()
        self.agent.cancelled.clear()
        await self.saw(outcome=outcome)
        return "cancelled"

    async def burst(self) -> str:
        for n in range(2000):
            await self.say(str(n))
        return "end_turn"

    async def echo(self) -> str:
        await self.say(self.blocks[1].text)
        await self.saw(characters=len(self.blocks[1].text))
        return "end_turn"


if __name__ == "__main__":
    asyncio.run(v2.run_agent(Agent()))
