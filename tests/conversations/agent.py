"""The agent of the conversations, scripted in every edition; as a program it talks over its own stdin and stdout.

    python agent.py [lines|headers|auto] [threads] [max_bytes=N]

A prompt's words decide what it does: `work` reports, asks and ends; `wait` works until it is cancelled; `print` writes
to stdout behind the connection's back; whatever else is measured.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import Any

from accord.connection import Connection, Handlers
from accord.protocol import v1, v2, v2_june
from accord.transport import Transport
from accord.transport.stdio import StdioTransport

CHUNKS = 30
FILE = "/project/notes.txt"


class ScriptedAgent:
    """One connection's agent; `connection` is to be started."""

    def __init__(self, transport: Transport) -> None:
        self._cancelled: dict[str, asyncio.Event] = {}
        self._work: set[asyncio.Task[None]] = set()
        handlers = Handlers()
        self.connection = Connection(transport, "agent", handlers)
        self._add_v1(handlers)
        self._add_v2(handlers)
        self._add_june(handlers)
        handlers.on_extension_request("_sum", lambda params: {"sum": sum(params["numbers"])})

    def _open(self) -> str:
        session_id = f"session-{len(self._cancelled) + 1}"
        self._cancelled[session_id] = asyncio.Event()
        return session_id

    def _cancel(self, params: Any) -> None:
        self._cancelled[params.session_id].set()

    # --- v1

    def _add_v1(self, handlers: Handlers) -> None:
        handlers.on(v1.INITIALIZE, lambda params: v1.InitializeResponse(params.protocol_version))
        handlers.on(v1.SESSION_NEW, lambda _: v1.NewSessionResponse(self._open()))
        handlers.on(v1.SESSION_PROMPT, self._prompt_v1)
        handlers.on(v1.SESSION_CLOSE, lambda _: v1.CloseSessionResponse())
        handlers.on_arrival(v1.SESSION_CANCEL, self._cancel)

    async def _prompt_v1(self, params: v1.PromptRequest) -> v1.PromptResponse:
        session_id, words = params.session_id, words_of(params.prompt)

        async def report(update: v1.SessionUpdate) -> None:
            await self.connection.notify(v1.SESSION_UPDATE, v1.SessionNotification(session_id, update))

        async def say(text: str) -> None:
            await report(v1.AgentMessageChunk(v1.TextContent(text)))

        if words == "wait":
            await say("Waiting.")
            await self._cancelled[session_id].wait()
            await say("Stopped.")
            return v1.PromptResponse("cancelled")
        if words != "work":
            await say(do_small_thing(words))
            return v1.PromptResponse("end_turn")
        file = await self.connection.call(v1.FS_READ_TEXT_FILE, v1.ReadTextFileRequest(session_id, FILE))
        await report(v1.ToolCall("t", "Count", kind="read", status="pending"))
        for number in range(CHUNKS):
            await say(str(number))
        asked = v1.RequestPermissionRequest(session_id, v1.ToolCallUpdate("t"), [v1.PermissionOption(*OPTION)])
        answer = await self.connection.call(v1.SESSION_REQUEST_PERMISSION, asked)
        await report(v1.ToolCallUpdated("t", status="completed"))
        await say(f"{len(file.content)} characters, {chosen(answer.outcome)}.")
        return v1.PromptResponse("end_turn")

    # --- v2

    def _add_v2(self, handlers: Handlers) -> None:
        us = v2.Implementation("scripted", "1")
        handlers.on(v2.INITIALIZE, lambda params: v2.InitializeResponse(params.protocol_version, us))
        handlers.on(v2.SESSION_NEW, lambda _: v2.NewSessionResponse(self._open()))
        handlers.on(v2.SESSION_PROMPT, self._prompt_v2)
        handlers.on(v2.SESSION_CLOSE, lambda _: v2.CloseSessionResponse())
        handlers.on_arrival(v2.SESSION_CANCEL, self._cancel)

    async def _prompt_v2(self, params: v2.PromptRequest) -> v2.PromptResponse:
        # v2: the answer only says that the message has its place; the turn ends with a state.
        task = asyncio.get_running_loop().create_task(self._work_v2(params))
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return v2.PromptResponse("m-user")

    async def _work_v2(self, params: v2.PromptRequest) -> None:
        session_id, words = params.session_id, words_of(params.prompt)

        async def report(update: v2.SessionUpdate) -> None:
            await self.connection.notify(v2.SESSION_UPDATE, v2.UpdateSessionNotification(session_id, update))

        async def say(text: str) -> None:
            await report(v2.AgentMessageChunk("m-agent", v2.TextContent(text)))

        await report(v2.UserMessage("m-user", content=params.prompt if words in {"work", "wait"} else []))
        await report(v2.StateUpdated("running"))
        if words == "wait":
            await say("Waiting.")
            await self._cancelled[session_id].wait()
            await say("Stopped.")
            await report(v2.StateUpdated("idle", stop_reason="cancelled"))
            return
        if words == "work":
            await report(v2.ToolCallUpdated("t", title="Count", kind="read", status="pending"))
            for number in range(CHUNKS):
                await say(str(number))
            subject = v2.ToolCallPermissionSubject(v2.ToolCallUpdate("t"))
            asked = v2.RequestPermissionRequest(session_id, "May I?", [v2.PermissionOption(*OPTION)], subject=subject)
            answer = await self.connection.call(v2.SESSION_REQUEST_PERMISSION, asked)
            await report(v2.ToolCallUpdated("t", status="completed"))
            await say(f"{chosen(answer.outcome)}.")
        else:
            await say(do_small_thing(words))
        await report(v2.StateUpdated("idle", stop_reason="end_turn"))

    # --- v2 of June

    def _add_june(self, handlers: Handlers) -> None:
        handlers.on(v2_june.INITIALIZE, lambda params: v2_june.InitializeResponse(params.protocol_version))
        handlers.on(v2_june.SESSION_NEW, lambda _: v2_june.NewSessionResponse(self._open()))
        handlers.on(v2_june.SESSION_PROMPT, self._prompt_june)
        handlers.on(v2_june.SESSION_CLOSE, lambda _: v2_june.CloseSessionResponse())
        handlers.on_arrival(v2_june.SESSION_CANCEL, self._cancel)

    async def _prompt_june(self, params: v2_june.PromptRequest) -> v2_june.PromptResponse:
        session_id, words = params.session_id, words_of(params.prompt)

        async def report(update: v2_june.SessionUpdate) -> None:
            await self.connection.notify(v2_june.SESSION_UPDATE, v2_june.SessionNotification(session_id, update))

        async def say(text: str) -> None:
            await report(v2_june.AgentMessageChunk(v2_june.TextContent(text), "m-agent"))

        if words == "wait":
            await say("Waiting.")
            await self._cancelled[session_id].wait()
            await say("Stopped.")
            return v2_june.PromptResponse("cancelled")
        if words != "work":
            await say(do_small_thing(words))
            return v2_june.PromptResponse("end_turn")
        await report(v2_june.ToolCallUpdated("t", title="Count", kind="read", status="pending"))
        for number in range(CHUNKS):
            await say(str(number))
        options = [v2_june.PermissionOption(*OPTION)]
        asked = v2_june.RequestPermissionRequest(session_id, v2_june.ToolCallUpdate("t"), options)
        answer = await self.connection.call(v2_june.SESSION_REQUEST_PERMISSION, asked)
        await report(v2_june.ToolCallUpdated("t", status="completed"))
        await say(f"{chosen(answer.outcome)}.")
        return v2_june.PromptResponse("end_turn")


OPTION = ("yes", "Allow", "allow_once")


def words_of(prompt: list[Any]) -> str:
    return "".join(getattr(block, "text", "") for block in prompt)


def chosen(outcome: Any) -> str:
    return getattr(outcome, "option_id", "nothing")


def do_small_thing(words: str) -> str:
    if words != "print":
        return f"{len(words)} characters."
    print("a stray print")  # noqa: T201 - what it must survive
    os.write(1, b"a stray write\n")
    sys.stdout.flush()
    return "Printed."


async def serve(arguments: list[str]) -> None:
    framing: Any = next((word for word in arguments if word in {"lines", "headers", "auto"}), "lines")
    max_bytes = next((int(word[10:]) for word in arguments if word.startswith("max_bytes=")), 64 * 1024 * 1024)
    transport = StdioTransport(framing, max_bytes, force_threads="threads" in arguments)
    async with ScriptedAgent(transport).connection as connection:
        await connection.wait_closed()


if __name__ == "__main__":
    # With `-X dev` asyncio warns of each step that took 0.1 s: a busy machine is no fault of this program.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    asyncio.run(serve(sys.argv[1:]))
