"""Agents that people use, each as a script that does on the wire what its program does there."""

from __future__ import annotations

import os
from typing import Any

from accord.testing import AgentPeer

SESSION = "s-1234567890"
OPTIONS = [
    {"optionId": "approve", "name": "Approve", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
]


async def _begin(peer: AgentPeer) -> tuple[Any, str]:
    """The prompt, and the session's directory."""
    await peer.greet()
    opening = await peer.expect("session/new")
    await peer.answer(opening, {"sessionId": SESSION})
    return await peer.take_prompt(), opening.params["cwd"]


async def _report(peer: AgentPeer, id_: str, **changes: Any) -> None:
    await peer.update(SESSION, {"sessionUpdate": "tool_call_update", "toolCallId": id_, **changes})


async def _announce(peer: AgentPeer, id_: str, **fields: Any) -> None:
    await peer.update(SESSION, {"sessionUpdate": "tool_call", "toolCallId": id_, "status": "pending", **fields})


async def _is_allowed(peer: AgentPeer, **tool: Any) -> bool:
    answer = await peer.permit(SESSION, tool, OPTIONS)
    return bool(answer.result["outcome"].get("optionId") == "approve")


async def _in_terminal(peer: AgentPeer, id_: str, **terminal: Any) -> str:
    """The output of a command in a terminal of the client; what the client says where it refuses."""
    created = await peer.call("terminal/create", {"sessionId": SESSION, "outputByteLimit": 32_000, **terminal})
    if created.error:
        await _report(peer, id_, status="failed")
        return "refused"
    named = {"sessionId": SESSION, "terminalId": created.result["terminalId"]}
    await _report(peer, id_, status="in_progress", content=[{"type": "terminal", "terminalId": named["terminalId"]}])
    await peer.call("terminal/wait_for_exit", named)
    output = await peer.call("terminal/output", named)
    await peer.call("terminal/release", named)
    await _report(peer, id_, status="completed")
    return str(output.result["output"])


async def _run(peer: AgentPeer, name: str, line: str, **terminal: Any) -> None:
    prompt, cwd = await _begin(peer)
    call = {"kind": "execute", "title": f"`{line}`", "rawInput": {"command": line, "description": "as asked"}}
    await _announce(peer, name, **call)
    said = "rejected"
    if "args" in terminal:
        terminal["args"] = [each.replace("CWD", cwd) for each in terminal["args"]]
    if await _is_allowed(peer, toolCallId=name, **call):
        said = await _in_terminal(peer, name, **{"cwd": cwd, **terminal})
    await peer.chunk(SESSION, f"[{said.strip()}]")
    await peer.end(prompt)


async def claude_code_acp(peer: AgentPeer) -> None:
    """Claude Code's first adapter: the line of the command as the program, and one variable of its own."""
    env = [{"name": "CLAUDECODE", "value": "1"}]
    await _run(peer, "toolu_1", "echo hello", command="echo hello", env=env)


async def kimi(peer: AgentPeer) -> None:
    """Kimi 2: its shell around the line, a `cd` before it, and four variables."""
    env = {"NO_COLOR": "1", "TERM": "dumb", "GIT_TERMINAL_PROMPT": "0", "SHELL": "/bin/sh"}
    pairs = [{"name": name, "value": value} for name, value in env.items()]
    await _run(peer, "Bash:0", "echo hello", command="/bin/sh", args=["-c", "cd 'CWD' && echo hello"], env=pairs)


async def with_a_path(peer: AgentPeer) -> None:
    """Asks for a command and then wants it with another `PATH`, in another directory."""
    env = [{"name": "CLAUDECODE", "value": "1"}, {"name": "PATH", "value": "/opt/evil"}]
    inner = os.path.join(os.getcwd(), "inner")  # noqa: PTH109, PTH118 - one text
    await _run(peer, "t", "echo hello", command="echo hello", env=env, cwd=inner)


async def with_a_shell(peer: AgentPeer) -> None:
    """Asks for a command and then wants it with a shell of its own."""
    await _run(peer, "t", "echo hello", command="echo hello", env=[{"name": "SHELL", "value": "/opt/sh"}])


async def deep_agents(peer: AgentPeer) -> None:
    """Deep Agents: asks under the id of its interrupt, without a kind; the refused call is completed under its own."""
    prompt, _ = await _begin(peer)
    arguments = {"command": "rm -rf build"}
    await _announce(peer, "call_1", kind="execute", title="rm -rf build", rawInput=arguments)
    is_allowed = await _is_allowed(peer, toolCallId="a7c1f0", title="Execute: `rm -rf build`", rawInput=arguments)
    text = "done" if is_allowed else "User rejected the tool call for `execute` with id call_1"
    await _report(
        peer, "call_1", status="completed", content=[{"type": "content", "content": {"type": "text", "text": text}}]
    )
    await peer.chunk(SESSION, f"[{text}]")
    await peer.end(prompt)


async def disobedient(peer: AgentPeer) -> None:
    """Is refused one command, and completes another under the same id."""
    prompt, _ = await _begin(peer)
    await _announce(peer, "t", kind="execute", title="rm a", rawInput={"command": "rm a"})
    await _is_allowed(peer, toolCallId="t", kind="execute", rawInput={"command": "rm a"})
    await _report(peer, "t", status="completed", rawInput={"command": "rm b"})
    await peer.end(prompt)


async def copilot(peer: AgentPeer) -> None:
    """Copilot: a patch whose missing side has a prefix, and whose absolute paths have no first slash."""
    prompt, cwd = await _begin(peer)
    path = f"{cwd}/w.txt"
    patch = (
        f"diff --git a{path} b{path}\ncreate file mode 100644\nindex 0000000..0000000\n"
        f"--- a/dev/null\n+++ b{path}\n@@ -1,0 +1,2 @@\n+hello\n+\n"
    )
    call = {"toolCallId": "shell-1", "kind": "edit", "title": "Create a file", "locations": [{"path": path}]}
    is_allowed = await _is_allowed(peer, **call, rawInput={"fileName": path, "diff": patch})
    await peer.chunk(SESSION, f"[{'written' if is_allowed else 'rejected'}]")
    await peer.end(prompt)


async def openhands(peer: AgentPeer) -> None:
    """OpenHands: one question for all calls that wait, which names none of them."""
    prompt, _ = await _begin(peer)
    call = {"kind": "execute", "title": "Running tests", "rawInput": {"command": "make test", "security_risk": "LOW"}}
    await _announce(peer, "call_7", **call)
    confirm = {"toolCallId": f"confirmation-{SESSION}", "title": "Confirm Agent Actions", "kind": "other"}
    is_allowed = await _is_allowed(peer, **confirm, status="pending")
    await _report(peer, "call_7", status="completed" if is_allowed else "failed")
    await peer.chunk(SESSION, f"[{'done' if is_allowed else 'rejected'}]")
    await peer.end(prompt)


async def qwen_serve(peer: AgentPeer) -> None:
    """`qwen serve`: the history comes behind the answer to the load, and the prompt is repeated before its turn."""
    await peer.greet("v1", {"loadSession": True})
    peer.always("session/new", {"sessionId": SESSION})
    peer.always("session/load", {})
    prompt = await peer.take_prompt()
    if prompt.params["prompt"][0]["text"] != "first":
        await peer.chunk(SESSION, "first", "user_message_chunk")
        await peer.chunk(SESSION, "[the old answer]")
        await _announce(peer, "old", kind="execute", title="rm a", rawInput={"command": "rm a"})
        await _report(peer, "old", status="completed")
    for block in prompt.params["prompt"]:
        await peer.update(SESSION, {"sessionUpdate": "user_message_chunk", "content": block})
    await peer.chunk(SESSION, "[the new answer]")
    await peer.end(prompt)
