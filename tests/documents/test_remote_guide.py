"""The guide to agents at an address: every block runs as a program, with a server of ours at the address it names."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from tests.client.test_addresses import RemoteAgent
from tests.forking_python import forking_python
from tests.limits import limit
from tests.transport.remote_peers import websocket_server

GUIDE = (Path(__file__).parents[2] / "docs" / "remote.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


async def run(block: str, server: RemoteAgent) -> str:
    """What a block prints, with the server in place of the address that it names."""
    async with websocket_server(server.talk) as address:
        program = re.sub(r'"wss?://[^"]+"', f'"{address}"', block)
        process = await asyncio.create_subprocess_exec(
            *(forking_python(), "-W", "error", "-c", program),
            env={name: value for name, value in os.environ.items() if name != "ACCORD_TOKEN"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(limit(60.0)):
            out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


def test_there_is_a_test_for_every_block() -> None:
    assert len(BLOCKS) == 2


async def test_an_agent_at_an_address_is_used_like_any_other() -> None:
    assert await run(BLOCKS[0], RemoteAgent(is_resumable=True)) == "before after\n"


async def test_the_token_is_sent() -> None:
    server = RemoteAgent(is_resumable=False)
    await run(BLOCKS[1], server)
    assert server.authorizations == ["Bearer the token, from wherever you keep it"]
