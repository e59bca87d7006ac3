"""A client on the official SDK, with `spawn_agent_process` of Accord; it reports in one line of JSON.

Called with the command line of an agent.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from acp import PROTOCOL_VERSION, Client, RequestError
from acp.schema import AgentMessageChunk, TextContentBlock

from accord.compat.acp import spawn_agent_process


class Probe(Client):
    def __init__(self) -> None:
        self.said: list[str] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        # The order must hold although some of them take longer.
        await asyncio.sleep(0.002 if len(self.said) % 7 == 0 else 0)
        if isinstance(update, AgentMessageChunk):
            self.said.append(update.content.text)


async def main() -> None:
    client, messages = Probe(), []
    async with spawn_agent_process(
        client, *sys.argv[1:], env={"PROBE": "1"}, observers=[lambda event: messages.append(event.direction.value)]
    ) as (agent, process):
        shaken = await agent.initialize(protocol_version=PROTOCOL_VERSION)
        session = await agent.new_session(cwd="/", mcp_servers=[])
        answer = await agent.prompt(session_id=session.session_id, prompt=[TextContentBlock(type="text", text="many")])
        said = list(client.said)
        try:
            await agent.ext_method("refused", {})
            error = None
        except RequestError as refused:
            error = refused.code
        assert process.stderr is not None
        stderr = len(await process.stderr.read(1024 * 1024))
        running = process.returncode
    report = {
        "version": shaken.protocol_version,
        "stop_reason": answer.stop_reason,
        "said": said,
        "error": error,
        "stderr": stderr,
        "directions": sorted(set(messages)),
        "running": running,
        "exit": process.returncode,
    }
    print(json.dumps(report))  # noqa: T201


asyncio.run(main())
