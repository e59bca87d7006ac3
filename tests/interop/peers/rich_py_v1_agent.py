"""An agent on the official Python SDK, v1: the rich conversation, with the client's files and terminals.

It has modes and no option for them, and tells its commands before it answers: both are common.
"""

from __future__ import annotations

import asyncio
from typing import Any

import acp
from acp import schema
from rich_memory import (  # type: ignore[import-not-found]  # lies beside
    CHANGES,
    COUNT,
    SESSION,
    STORY,
    Memory,
    better,
    plan_entries,
    shown,
    text,
)


class Agent:
    """Handlers by the names that the SDK calls."""

    def __init__(self) -> None:
        self.client: Any = None
        self.memory = Memory()
        self.cancelled = asyncio.Event()

    def on_connect(self, connection: Any) -> None:
        self.client = connection

    async def initialize(self, **_: Any) -> Any:
        session = schema.SessionCapabilities(
            list=schema.SessionListCapabilities(),
            resume=schema.SessionResumeCapabilities(),
            close=schema.SessionCloseCapabilities(),
        )
        return schema.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_info=schema.Implementation(name="rich-py", version="1"),
            agent_capabilities=schema.AgentCapabilities(load_session=True, session_capabilities=session),
        )

    def settings(self) -> dict[str, Any]:
        modes = {"currentModeId": self.memory.kept["mode"], "availableModes": STORY["modes"]}
        return {"modes": schema.SessionModeState.model_validate(modes), "config_options": self.options()}

    def options(self) -> list[Any]:
        choices = [schema.SessionConfigSelectOption(**choice) for choice in STORY["models"]]
        return [
            schema.SessionConfigOptionSelect(
                type="select",
                id="model",
                name="Model",
                category="model",
                current_value=self.memory.kept["model"],
                options=choices,
            )
        ]

    async def tell(self, update: dict[str, Any]) -> None:
        typed = schema.SessionNotification.model_validate({"sessionId": SESSION, "update": update}).update
        await self.client.session_update(SESSION, typed)

    async def tell_commands(self) -> None:
        await self.tell({"sessionUpdate": "available_commands_update", "availableCommands": [STORY["help"]]})

    async def new_session(self, cwd: str, **_: Any) -> Any:
        self.memory.save(cwd=cwd)
        await self.tell_commands()
        return schema.NewSessionResponse(session_id=SESSION, **self.settings())

    async def load_session(self, session_id: str, **_: Any) -> Any:
        self.know(session_id)
        for update in self.memory.kept["updates"]:
            await self.tell(update)
        await self.tell_commands()
        return schema.LoadSessionResponse(**self.settings())

    async def resume_session(self, session_id: str, **_: Any) -> Any:
        self.know(session_id)
        return schema.ResumeSessionResponse(**self.settings())

    def know(self, session_id: str) -> None:
        if session_id != SESSION or not self.memory.load():
            raise acp.RequestError.resource_not_found(session_id)

    async def close_session(self, **_: Any) -> Any:
        return schema.CloseSessionResponse()

    async def list_sessions(self, **_: Any) -> Any:
        info = schema.SessionInfo(session_id=SESSION, cwd=str(self.memory.cwd), title=self.memory.kept.get("title"))
        return schema.ListSessionsResponse(sessions=[info])

    async def set_session_mode(self, mode_id: str, **_: Any) -> Any:
        self.memory.save(mode=mode_id)
        return schema.SetSessionModeResponse()

    async def set_config_option(self, config_id: str, value: Any, **_: Any) -> Any:
        self.memory.save(**{config_id: value})
        return schema.SetSessionConfigOptionResponse(config_options=self.options())

    async def prompt(self, prompt: list[Any], **_: Any) -> Any:
        words = prompt[0].text
        self.memory.note(words)
        self.memory.kept["updates"].append({"sessionUpdate": "user_message_chunk", "content": text(words)})
        scene, _, topic = words.lstrip("/").partition(" ")
        turn = Turn(self)
        stop_reason = await (turn.help(topic) if scene == "help" else getattr(turn, scene)())
        self.memory.save()
        return schema.PromptResponse(stop_reason=stop_reason)

    async def cancel(self, **_: Any) -> None:
        self.cancelled.set()


class Turn:
    """One turn; the public methods are what the user can say."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.client = agent.client
        self.memory = agent.memory

    async def update(self, update: dict[str, Any], kept: dict[str, Any] | None = None) -> None:
        """Tell it; `kept` is what is told after a restart, where that is something else."""
        self.memory.kept["updates"].append(kept or update)
        await self.agent.tell(update)

    async def say(self, words: str) -> None:
        await self.update({"sessionUpdate": "agent_message_chunk", "content": text(words)})

    async def begin(self, call_id: str, **fields: Any) -> None:
        head = {"sessionUpdate": "tool_call", "toolCallId": call_id, "status": "in_progress"}
        await self.update({**head, **fields})

    async def tool(self, call_id: str, kept: dict[str, Any] | None = None, **fields: Any) -> None:
        head = {"sessionUpdate": "tool_call_update", "toolCallId": call_id}
        await self.update({**head, **fields}, {**head, **fields, **(kept or {})})

    async def plan(self, done: int) -> None:
        await self.update({"sessionUpdate": "plan", "entries": plan_entries(done)})

    async def fix(self) -> str:
        self.memory.save(title=STORY["title"])
        await self.update({"sessionUpdate": "session_info_update", "title": STORY["title"]})
        for thought in STORY["thoughts"]:
            await self.update({"sessionUpdate": "agent_thought_chunk", "content": text(thought)})
        await self.plan(0)
        await self.say("Let me look. ")
        await self.update({"sessionUpdate": "agent_message_chunk", "content": STORY["link"]})
        greeting = await self.read()
        await self.read_what_is_missing()
        await self.plan(1)
        if await self.edit(greeting):
            await self.say("It is ")
            await self.say("friendly now.")
        await self.plan(2)
        code = await self.try_it()
        await self.plan(3)
        await self.update(STORY["usage"])
        await self.say(f"The command ended with {code}, in mode {self.memory.kept['mode']}.")
        return "end_turn"

    async def read(self) -> str:
        path = str(self.memory.greeting)
        await self.begin("read", title="Read greeting.txt", kind="read", rawInput={"path": "greeting.txt"})
        await self.tool("read", locations=[{"path": path, "line": 1}])
        greeting: str = (await self.client.read_text_file(SESSION, path)).content
        second = (await self.client.read_text_file(SESSION, path, line=2, limit=1)).content
        content = [shown(greeting), shown(f"The second line is {second!r}.")]
        await self.tool("read", status="completed", content=content, rawOutput={"lines": len(greeting.splitlines())})
        return greeting

    async def read_what_is_missing(self) -> None:
        await self.begin("missing", title="Read missing.txt", kind="read")
        try:
            await self.client.read_text_file(SESSION, str(self.memory.cwd / "missing.txt"))
        except acp.RequestError:
            await self.tool("missing", status="failed", content=[shown("There is no missing.txt.")])

    async def edit(self, greeting: str) -> bool:
        path, changes = str(self.memory.greeting), str(self.memory.changes)
        title = "Edit greeting.txt"
        await self.begin("edit", title=title, kind="edit", status="pending", locations=[{"path": path}])
        diff = {"type": "diff", "path": path, "oldText": greeting, "newText": better(greeting)}
        await self.tool("edit", content=[diff, {"type": "diff", "path": changes, "newText": CHANGES}])
        answer = await self.client.request_permission(
            session_id=SESSION,
            tool_call=schema.ToolCallUpdate(tool_call_id="edit", title=title, kind="edit"),
            options=[schema.PermissionOption.model_validate(option) for option in STORY["allow"]],
        )
        chosen = getattr(answer.outcome, "option_id", None)
        if chosen in {None, "reject"}:
            return False
        await self.tool("edit", status="in_progress")
        await self.client.write_text_file(SESSION, path, better(greeting))
        await self.client.write_text_file(SESSION, changes, CHANGES)
        await self.tool("edit", status="completed", rawOutput={"option": chosen})
        return True

    async def start(self, call_id: str, command: str, *args: str) -> str:
        created = await self.client.create_terminal(SESSION, command, args=list(args), cwd=str(self.memory.cwd))
        view = [{"type": "terminal", "terminalId": created.terminal_id}]
        await self.tool(call_id, {"content": []}, content=view)
        return str(created.terminal_id)

    async def try_it(self) -> int | None:
        await self.begin("try", title="Try it", kind="execute", rawInput={"command": STORY["command"][2]})
        terminal_id = await self.start("try", *STORY["command"])
        which = {"session_id": SESSION, "terminal_id": terminal_id}
        code: int | None = (await self.client.wait_for_terminal_exit(**which)).exit_code
        output = (await self.client.terminal_output(**which)).output
        await self.client.release_terminal(**which)
        printed = [shown("It printed:"), shown(output)]
        await self.tool(
            "try",
            {"content": [shown(f"{output}[exit code {code}]"), *printed]},
            status="completed",
            rawOutput={"code": code},
            content=[{"type": "terminal", "terminalId": terminal_id}, *printed],
        )
        return code

    async def wait(self) -> str:
        await self.begin("watch", title="Watch", kind="execute")
        terminal_id = await self.start("watch", "sleep", "600")
        which = {"session_id": SESSION, "terminal_id": terminal_id}
        await self.say("Watching.")
        await self.agent.cancelled.wait()
        self.agent.cancelled.clear()
        await self.client.kill_terminal(**which)
        signal = (await self.client.wait_for_terminal_exit(**which)).signal
        await self.client.release_terminal(**which)
        await self.tool("watch", {"content": [shown(f"[ended by {signal}]")]}, status="failed")
        await self.say("Stopped.")
        return "cancelled"

    async def recall(self) -> str:
        await self.say(self.memory.recall())
        await self.say(COUNT)
        return "end_turn"

    async def help(self, topic: str) -> str:
        await self.say(f"No help about {topic}.")
        return "end_turn"


if __name__ == "__main__":
    asyncio.run(acp.run_agent(Agent(), use_unstable_protocol=True))
