"""An agent on the official Python SDK, v1: plays the scene that the prompt names."""

from __future__ import annotations

import asyncio
import copy
import sys
from typing import Any

import acp
from acp import schema


def text(words: str) -> Any:
    return schema.TextContentBlock(type="text", text=words)


MODES = schema.SessionModeState(
    current_mode_id="ask",
    available_modes=[
        schema.SessionMode(id="ask", name="Ask", description="Asks first"),
        schema.SessionMode(id="code", name="Code"),
    ],
)
MODEL = schema.SessionConfigOptionSelect(
    type="select",
    id="model",
    name="Model",
    category="model",
    current_value="small",
    options=[
        schema.SessionConfigSelectOption(value="small", name="Small"),
        schema.SessionConfigSelectOption(value="large", name="Large", description="Slow"),
    ],
)
WEB = schema.SessionConfigOptionBoolean(type="boolean", id="web", name="Web search", current_value=False)
UPDATES = [
    acp.update_user_message_text("tell"),
    acp.update_agent_thought_text("Let me think."),
    schema.AgentMessageChunk(
        session_update="agent_message_chunk",
        message_id="m1",
        content=text("First, "),
        field_meta={"interop": {"part": 1, "of": [1, 2]}},
    ),
    schema.AgentMessageChunk(
        session_update="agent_message_chunk",
        message_id="m1",
        content=acp.resource_link_block("notes", "file:///story/notes.txt", size=12),
    ),
    acp.update_agent_message(acp.image_block("iVBORw0KGgo=", "image/png")),
    acp.update_plan(
        [
            acp.plan_entry("Read", priority="high", status="completed"),
            acp.plan_entry("Write", priority="low", status="pending"),
        ]
    ),
    acp.start_tool_call(
        "call-1",
        "Edit notes",
        kind="edit",
        status="pending",
        locations=[schema.ToolCallLocation(path="/story/notes.txt", line=2)],
        raw_input={"path": "/story/notes.txt", "flags": [True, 1.5, "x"]},
    ),
    acp.update_tool_call(
        "call-1",
        status="in_progress",
        content=[acp.tool_diff_content("/story/notes.txt", "two\n", "one\n")],
    ),
    acp.update_tool_call(
        "call-1",
        status="completed",
        content=[
            acp.tool_content(text("done")),
            acp.tool_diff_content("/story/new.txt", "fresh\n"),
            acp.tool_terminal_ref("term-1"),
        ],
        raw_output={"written": 4},
    ),
    schema.AvailableCommandsUpdate(
        session_update="available_commands_update",
        available_commands=[
            schema.AvailableCommand(name="help", description="Shows help"),
            schema.AvailableCommand(
                name="web",
                description="Searches",
                input=schema.AvailableCommandInput(root=schema.UnstructuredCommandInput(hint="what to look for")),
            ),
        ],
    ),
    schema.UsageUpdate(
        session_update="usage_update", used=1200, size=200000, cost=schema.Cost(amount=0.25, currency="EUR")
    ),
    schema.SessionInfoUpdate(session_update="session_info_update", title="A story", updated_at="2026-11-01T10:00:00Z"),
    acp.update_agent_message_text("the end."),
]
QUESTION = schema.ToolCallUpdate(tool_call_id="call-1", title="Edit notes", kind="edit", status="pending")
OPTIONS = [
    schema.PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
    schema.PermissionOption(option_id="no", name="Reject", kind="reject_always"),
]
FORM = schema.ElicitationSchema(
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
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


class Agent:
    """Handlers by the names that the SDK calls."""

    def __init__(self) -> None:
        self.client: Any = None
        self.options: list[Any] = [copy.copy(MODEL), copy.copy(WEB)]
        self.cancelled = asyncio.Event()
        self.notes: list[int] = []

    def on_connect(self, connection: Any) -> None:
        self.client = connection

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, **_: Any) -> Any:
        # Several agents give back whatever number they are asked for, and go on in v1.
        version = protocol_version if "--echo" in sys.argv else acp.PROTOCOL_VERSION
        capabilities = schema.SessionCapabilities(
            list=schema.SessionListCapabilities(),
            resume=schema.SessionResumeCapabilities(),
            close=schema.SessionCloseCapabilities(),
        )
        return schema.InitializeResponse(
            protocol_version=version,
            field_meta={"capabilities": plain(client_capabilities)},
            agent_info=schema.Implementation(name="py-agent", version="1"),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(image=True),
                session_capabilities=capabilities,
            ),
        )

    async def new_session(self, **_: Any) -> Any:
        return schema.NewSessionResponse(session_id="session-1", modes=MODES, config_options=self.options)

    async def load_session(self, session_id: str, **_: Any) -> Any:
        if session_id != "session-1":
            raise acp.RequestError.resource_not_found(session_id)
        await self.client.session_update(session_id, acp.update_user_message_text("earlier"))
        await self.client.session_update(session_id, acp.update_agent_message_text("indeed"))
        return schema.LoadSessionResponse(modes=MODES, config_options=self.options)

    async def resume_session(self, **_: Any) -> Any:
        return schema.ResumeSessionResponse(modes=MODES, config_options=self.options)

    async def close_session(self, **_: Any) -> Any:
        return schema.CloseSessionResponse()

    async def list_sessions(self, cursor: str | None = None, **_: Any) -> Any:
        if cursor:
            return schema.ListSessionsResponse(sessions=SESSIONS[1:])
        return schema.ListSessionsResponse(sessions=SESSIONS[:1], next_cursor="page-2")

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> Any:
        update = schema.CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode_id)
        await self.client.session_update(session_id, update)
        return schema.SetSessionModeResponse()

    async def set_config_option(self, config_id: str, session_id: str, value: Any, **_: Any) -> Any:
        next(option for option in self.options if option.id == config_id).current_value = value
        update = schema.ConfigOptionUpdate(session_update="config_option_update", config_options=self.options)
        await self.client.session_update(session_id, update)
        return schema.SetSessionConfigOptionResponse(config_options=self.options)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> Any:
        scene = Scene(self, session_id, prompt)
        stop_reason = await getattr(scene, prompt[0].text)()
        return schema.PromptResponse(stop_reason=stop_reason, field_meta={"by": "py"})

    async def cancel(self, **_: Any) -> None:
        self.cancelled.set()

    async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
        if method == "interop/add":
            return {"sum": params["a"] + params["b"]}
        if method == "interop/noted":
            return {"count": len(self.notes), "ordered": self.notes == list(range(len(self.notes)))}
        raise acp.RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        if method == "interop/note":
            self.notes.append(params["n"])


class Scene:
    """One turn; each method is a scene and returns its stop reason."""

    def __init__(self, agent: Agent, session_id: str, prompt: list[Any]) -> None:
        self.agent = agent
        self.client = agent.client
        self.session_id = session_id
        self.blocks = prompt

    async def say(self, words: str) -> None:
        await self.client.session_update(self.session_id, acp.update_agent_message_text(words))

    async def saw(self, **facts: Any) -> None:
        await self.client.ext_notification("interop/saw", {"sessionId": self.session_id, **facts})

    async def ask(self) -> Any:
        answer = await self.client.request_permission(session_id=self.session_id, tool_call=QUESTION, options=OPTIONS)
        return plain(answer.outcome)

    async def tell(self) -> str:
        for update in UPDATES:
            await self.client.session_update(self.session_id, update)
        return "end_turn"

    async def ask_twice(self) -> str:
        await self.saw(outcomes=[await self.ask(), await self.ask()])
        return "refusal"

    async def files(self) -> str:
        read = await self.client.read_text_file(self.session_id, "/story/notes.txt", line=2, limit=1)
        await self.client.write_text_file(self.session_id, "/story/out.txt", read.content.upper())
        missing: dict[str, Any] = {}
        try:
            await self.client.read_text_file(self.session_id, "/story/missing.txt")
        except acp.RequestError as error:
            missing = {"code": error.code, "data": error.data}
        await self.saw(content=read.content, missing=missing)
        return "max_tokens"

    async def terminal(self) -> str:
        created = await self.client.create_terminal(
            self.session_id,
            "make",
            args=["-j", "2"],
            env=[schema.EnvVariable(name="LANG", value="C")],
            cwd="/story",
            output_byte_limit=1000,
        )
        which = {"session_id": self.session_id, "terminal_id": created.terminal_id}
        before = await self.client.terminal_output(**which)
        ending = asyncio.create_task(self.client.wait_for_terminal_exit(**which))
        await asyncio.sleep(0)  # the wait goes out before the kill
        await self.client.kill_terminal(**which)
        ended = await ending
        after = await self.client.terminal_output(**which)
        await self.client.release_terminal(**which)
        await self.saw(before=plain(before), ended=plain(ended), after=plain(after))
        return "max_turn_requests"

    async def elicit(self) -> str:
        form = await self.client.create_elicitation(
            "Who are you?", schema.ElicitationFormSessionMode(session_id=self.session_id, requested_schema=FORM)
        )
        url = await self.client.create_elicitation(
            "Log in",
            schema.ElicitationUrlSessionMode(
                session_id=self.session_id, elicitation_id="login-1", url="https://example.com/login"
            ),
        )
        await self.client.complete_elicitation("login-1")
        await self.saw(form=plain(form), url=plain(url))
        return "end_turn"

    async def extend(self) -> str:
        answer = await self.client.ext_method("interop/add", {"a": 2, "b": 3})
        code = 0
        try:
            await self.client.ext_method("interop/unknown", {})
        except acp.RequestError as error:
            code = error.code
        await self.saw(sum=answer["sum"], unknown=code)
        return "end_turn"

    async def fail(self) -> str:
        raise acp.RequestError(4711, "Not today", {"why": ["✗", 1, None]})

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
        await self.agent.cancelled.wait()
        await self.saw(outcome=outcome)
        self.agent.cancelled.clear()
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
    asyncio.run(acp.run_agent(Agent(), use_unstable_protocol=True))
