"""The official SDKs' clients with our server: new, prompt, permission, files, cancel, load or resume anew, close."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from tests.limits import limit
from tests.serve.server_process import ServerProcess

PEERS = Path(__file__).parents[1] / "interop" / "peers"
FIRST = "You said: hello[allow]a note\nwaiting"


pytestmark = pytest.mark.interop


@pytest.fixture
def peer(request: pytest.FixtureRequest) -> list[str]:
    """The command of a client."""
    if request.param == "ts":
        modules = request.getfixturevalue("typescript_peer") / "node_modules"
        if not (modules / "ws").exists():
            pytest.skip("the package ws is not installed: scripts/peers")
        return ["node", str(PEERS / "remote_client.mjs")]
    return [str(request.getfixturevalue("python_peer_v2")), str(PEERS / "remote_client.py")]


@pytest.mark.sampled(3, long=2)
@pytest.mark.parametrize("peer", ["ts", "py"], indirect=True)
@pytest.mark.parametrize("edition", ["v1", "v2"])
@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_a_client_of_an_official_sdk_has_a_whole_conversation(
    peer: list[str], edition: str, scheme: str, shared_process: ServerProcess, server_root: Path
) -> None:
    root = server_root / "root"
    (root / "note.txt").write_text("a note\n", encoding="utf-8")
    environment = {
        **os.environ,
        "ACCORD_TEST_TOKEN": shared_process.token,
        "ACCORD_TS_PEER": str(Path(__file__).parents[2] / ".peers" / "ts"),
    }
    process = await asyncio.create_subprocess_exec(
        *peer,
        edition,
        f"{scheme}://127.0.0.1:{shared_process.port}/acp",
        str(root),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(limit(40.0)):
            output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, errors.decode()
    report = json.loads(output)
    reasons = [report[name] for name in ("hello", "ask", "read", "cancelled", "again")]
    assert reasons == ["end_turn", "end_turn", "end_turn", "cancelled", "end_turn"]
    assert report["first"] == FIRST
    # What was said before is replayed, and what follows comes behind it.
    assert report["second"] == f"{FIRST}You said: again"
    assert report["closed"]
