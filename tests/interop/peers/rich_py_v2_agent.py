"""An agent on the official Python SDK, v2: the rich conversation, with files and commands of its own."""

from __future__ import annotations

import asyncio
import base64
import itertools
import os
import signal
from typing import Any

import acp
from acp.experimental import v2
from acp.experimental.v2 import schema
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

NUMBERS = itertools.count(1)


def new_id(kind: str) -> str:
    return f"{kind}-{os.getpid()}-{next(NUMBERS)}"


def patch(path: str, before: str | None, after: str) -> str:
    old, new = (before or "").splitlines(), after.splitlines()
    head = f"diff --git {path} {path}\n"
    head += f"new file mode 100644\n--- /dev/null\n+++ {path}\n" if before is None else f"--- {path}\n+++ {path}\n"
    lines = [f"-{line}\n" for line in old] + [f"+{line}\n" for line in new]
    return f"{head}@@ -{int(bool(old))},{len(old)} +1,{len(new)} @@\n{''.join(lines)}"


class Agent:
    """Handlers by the names that the SDK calls."""

    def __init__(self) -> None:
        self.client: Any = None
        self.memory = Memory()
        self.cancelled = asyncio.Event()
        self.turns: set[asyncio.Task[None]] = set()

    def on_connect(self, connection: Any) -> None:
        self.client = connection

    async def initialize(self, **_: Any) -> Any:
        return schema.InitializeResponse(
            protocol_version=v2.PROTOCOL_VERSION,
            info=schema.Implementation(name="rich-py", version="1"),
            capabilities=schema.AgentCapabilities(session=schema.SessionCapabilities()),
        )

    def options(self) -> list[Any]:
        modes = [{"value": mode["id"], **mode} for mode in STORY["modes"]]
        return [self.select("mode", "Mode", modes), self.select("model", "Model", STORY["models"])]

    def select(self, config_id: str, name: str, choices: list[Any]) -> Any:
        return schema.SelectSessionConfigOption(
            type="select",
            config_id=config_id,
            name=name,
            category=config_id,
            current_value=self.memory.kept[config_id],
            options=[
                schema.SessionConfigSelectOption(**{key: item for key, item in choice.items() if key != "id"})
                for choice in choices
            ],
        )

    async def tell(self, update: dict[str, Any]) -> None:
        notification = {"sessionId": SESSION, "update": update}
        await self.client.session_update(SESSION, schema.UpdateSessionNotification.model_validate(notification).update)

    async def tell_commands(self) -> None:
        # This SDK follows an older draft, whose answers have no place for commands.
        command = {**STORY["help"], "input": {"type": "text", **STORY["help"]["input"]}}
        await self.tell({"sessionUpdate": "available_commands_update", "availableCommands": [command]})

    async def new_session(self, cwd: str, **_: Any) -> Any:
        self.memory.save(cwd=cwd)
        await self.tell_commands()
        return schema.NewSessionResponse(session_id=SESSION, config_options=self.options())

    async def resume_session(self, session_id: str, replay_from: Any = None, **_: Any) -> Any:
        if session_id != SESSION or not self.memory.load():
            raise acp.RequestError(-32002, "Resource not found", {"sessionId": session_id})
        for update in self.memory.kept["updates"] if replay_from else []:
            await self.tell(update)
        await self.tell({"sessionUpdate": "state_update", "state": "idle"})
        await self.tell_commands()
        return schema.ResumeSessionResponse(config_options=self.options())

    async def close_session(self, **_: Any) -> Any:
        return schema.CloseSessionResponse()

    async def list_sessions(self, **_: Any) -> Any:
        info = schema.SessionInfo(session_id=SESSION, cwd=str(self.memory.cwd), title=self.memory.kept.get("title"))
        return schema.ListSessionsResponse(sessions=[info])

    async def set_config_option(self, config_id: str, value: Any, **_: Any) -> Any:
        self.memory.save(**{config_id: value})
        return schema.SetSessionConfigOptionResponse(config_options=self.options())

    async def prompt(self, prompt: list[Any], **_: Any) -> Any:
        words = prompt[0].text
        self.memory.note(words)
        turn = Turn(self)
        message_id = new_id("user")
        # The echo in chunks: real agents do so too.
        await turn.update({"sessionUpdate": "user_message_chunk", "messageId": message_id, "content": text(words)})
        task = asyncio.create_task(turn.run(words))
        self.turns.add(task)
        task.add_done_callback(self.turns.discard)
        return schema.PromptResponse(message_id=message_id)

    async def cancel_session(self, **_: Any) -> None:
        self.cancelled.set()


class Turn:
    """One turn; the public methods are what the user can say."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.memory = agent.memory
        self.message: str | None = None

    async def run(self, words: str) -> None:
        scene, _, topic = words.lstrip("/").partition(" ")
        await self.state("running")
        stop_reason = await (self.help(topic) if scene == "help" else getattr(self, scene)())
        self.memory.save()
        await self.state("idle", stopReason=stop_reason)

    async def update(self, update: dict[str, Any]) -> None:
        self.memory.kept["updates"].append(update)
        await self.agent.tell(update)

    async def state(self, state: str, **others: Any) -> None:
        """A state is no part of the history."""
        await self.agent.tell({"sessionUpdate": "state_update", "state": state, **others})

    async def say(self, content: Any, kind: str = "agent_message_chunk") -> None:
        self.message = self.message or new_id("message")
        block = text(content) if isinstance(content, str) else content
        await self.update({"sessionUpdate": kind, "messageId": self.message, "content": block})

    async def tool(self, call_id: str, **fields: Any) -> None:
        await self.update({"sessionUpdate": "tool_call_update", "toolCallId": call_id, **fields})

    async def begin(self, call_id: str, **fields: Any) -> None:
        self.message = None
        await self.tool(call_id, **{"status": "in_progress", **fields})

    async def show(self, call_id: str, content: dict[str, Any]) -> None:
        await self.update({"sessionUpdate": "tool_call_content_chunk", "toolCallId": call_id, "content": content})

    async def plan(self, done: int) -> None:
        plan = {"type": "items", "planId": "plan", "entries": plan_entries(done)}
        await self.update({"sessionUpdate": "plan_update", "plan": plan})

    async def fix(self) -> str:
        self.memory.save(title=STORY["title"])
        await self.update({"sessionUpdate": "session_info_update", "title": STORY["title"]})
        for thought in STORY["thoughts"]:
            await self.say(thought, "agent_thought_chunk")
        self.message = None
        await self.plan(0)
        await self.say("Let me look. ")
        await self.say(STORY["link"])
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
        path = self.memory.greeting
        fields = {"title": "Read greeting.txt", "name": "read", "kind": "read", "rawInput": {"path": "greeting.txt"}}
        await self.begin("read", **fields)
        await self.tool("read", locations=[{"path": str(path), "line": 1}])
        greeting: str = path.read_text(encoding="utf-8")
        await self.show("read", shown(greeting))
        await self.show("read", shown(STORY["second_line"]))
        await self.tool("read", status="completed", rawOutput={"lines": len(greeting.splitlines())})
        return greeting

    async def read_what_is_missing(self) -> None:
        await self.begin("missing", title="Read missing.txt", kind="read")
        if not (self.memory.cwd / "missing.txt").exists():
            await self.tool("missing", status="failed", content=[shown("There is no missing.txt.")])

    async def edit(self, greeting: str) -> bool:
        path, changes = self.memory.greeting, self.memory.changes
        title = "Edit greeting.txt"
        await self.begin("edit", title=title, kind="edit", status="pending", locations=[{"path": str(path)}])
        edits = [{"operation": "modify", "path": str(path)}, {"operation": "add", "path": str(changes)}]
        words = patch(str(path), greeting, better(greeting)) + patch(str(changes), None, CHANGES)
        diff = {"type": "diff", "changes": edits, "patch": {"format": "git_patch", "text": words}}
        await self.show("edit", diff)
        await self.state("requires_action")
        answer = await self.agent.client.request_permission(
            session_id=SESSION,
            title=title,
            subject=schema.ToolCallPermissionSubjectVariant(
                type="tool_call",
                tool_call=schema.ToolCallUpdate(tool_call_id="edit", title=title, kind="edit"),
            ),
            options=[schema.PermissionOption.model_validate(option) for option in STORY["allow"]],
        )
        await self.state("running")
        chosen = getattr(answer.outcome, "option_id", None)
        if chosen in {None, "reject"}:
            return False
        await self.tool("edit", status="in_progress")
        path.write_text(better(greeting), encoding="utf-8")
        changes.parent.mkdir(exist_ok=True)
        changes.write_text(CHANGES, encoding="utf-8")
        await self.tool("edit", status="completed", rawOutput={"option": chosen})
        return True

    async def start(self, call_id: str, *argv: str) -> tuple[Any, asyncio.Task[bytes]]:
        """A command whose terminal a tool call shows, and its output when it has ended."""
        terminal_id = new_id("terminal")
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=self.memory.cwd, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
        )
        terminal = {"sessionUpdate": "terminal_update", "terminalId": terminal_id}
        await self.update({**terminal, "command": " ".join(argv), "cwd": str(self.memory.cwd)})
        await self.show(call_id, {"type": "terminal", "terminalId": terminal_id})
        return process, asyncio.create_task(self.watch(process, terminal_id))

    async def watch(self, process: Any, terminal_id: str) -> bytes:
        terminal = {"sessionUpdate": "terminal_update", "terminalId": terminal_id}
        output = b""
        while piece := await process.stdout.read(20):
            output += piece
            data = base64.b64encode(piece).decode()
            await self.update({"sessionUpdate": "terminal_output_chunk", "terminalId": terminal_id, "data": data})
        code = await process.wait()
        ended = {"exitCode": code} if code >= 0 else {"signal": signal.Signals(-code).name}
        await self.update({**terminal, "exitStatus": ended})
        return output

    async def try_it(self) -> Any:
        await self.begin("try", title="Try it", kind="execute", rawInput={"command": STORY["command"][2]})
        process, ended = await self.start("try", *STORY["command"])
        output = await ended
        await self.show("try", shown("It printed:"))
        await self.show("try", shown(output.decode()))
        await self.tool("try", status="completed", rawOutput={"code": process.returncode})
        return process.returncode

    async def wait(self) -> str:
        await self.begin("watch", title="Watch", kind="execute")
        process, ended = await self.start("watch", "sleep", "600")
        await self.say("Watching.")
        await self.agent.cancelled.wait()
        self.agent.cancelled.clear()
        process.terminate()
        await ended
        await self.tool("watch", status="cancelled")
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
    asyncio.run(v2.run_agent(Agent()))
