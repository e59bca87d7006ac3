"""`accord.connect`: one function for every agent, however it is reached."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from accord.client.agent import ConnectedAgent
from accord.client.deadline import Deadlines
from accord.client.dial import Observer
from accord.client.door import Door
from accord.client.handshake import EditionWish
from accord.client.login import LoginCallback
from accord.client.question import ElicitCallback, PermissionCallback
from accord.client.services import Offer, WorkspaceFactory
from accord.errors import LocalProtocolError
from accord.session.capability import Implementation
from accord.version import VERSION
from accord.wire import Framing

if TYPE_CHECKING:
    from accord.client.simse import Simse
    from accord.client.simse_tools import Tool

__all__ = ["connect"]


def connect(  # noqa: PLR0913 - each is one thing that a client may want to decide
    *target: Any,
    edition: EditionWish = "auto",
    framing: Framing = "lines",
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str | None] | None = None,
    permission: PermissionCallback | None = None,
    files: bool | WorkspaceFactory = True,
    missing_file: Literal["empty", "error"] = "empty",
    terminals: bool = True,
    pty: bool = False,
    elicit: ElicitCallback | None = None,
    login: LoginCallback | None = None,
    terminal_login: bool = False,
    deadlines: Deadlines | None = None,
    respawn: bool = True,
    name: str = "accord",
    version: str | None = None,
    title: str | None = None,
    strict: bool = False,
    stderr: Callable[[bytes], None] | None = None,
    dialect: Literal["simse"] | None = None,
    tools: Mapping[str, Tool] | None = None,
    tool_seconds: float | None = 60.0,
    observers: Sequence[Observer] = (),
) -> ConnectedAgent:
    """An agent to talk to, as an async context: `async with accord.connect("gemini", "--acp") as agent:`.

    `target` is a command (strings and paths, always an argv), an `Agent` in this process, or a transport. `cwd` and
    `env` are for the command; None unsets a variable.

    `edition` is `auto` (the newest stable one, or what the agent speaks instead), `newest` (drafts first), or one to
    insist on: `1`, `2`, `2-june`.

    What the agent may use: `files` inside a session's roots (False for none, or a function from a session to its
    `Workspace`), `terminals` (with `pty` they are real ones for the programs in them), and the user, through callbacks:
    `permission` gets a `PermissionQuestion` and gives an option, its id, True, False, or None to dismiss it (which is
    also what happens without a callback); `elicit` gets a `FormQuestion` or a `UrlQuestion`; `login` gets the ways to
    log in when the agent wants that, and gives the id of one.

    `deadlines` say how long it may take at what. When the agent's program is lost, the next prompt starts it again and
    resumes the session, unless `respawn` is off; a prompt is never sent twice. `observers` see every text.

    `dialect="simse"` is for agents that speak the page of simse instead of v1, in our reading of it; only they order
    tools from their client. `tools` are those that may be run for them, by name: functions of the input, each for
    `tool_seconds` at most. There, `observers` see v1.

    Raises:
        LocalProtocolError: The target is none, or options do not go together.
    """
    offer = Offer(files, terminals, pty, missing_file, permission, elicit, terminal_login)
    deadlines = deadlines or Deadlines()
    simse = _simse(dialect, tools, edition=edition, start_seconds=deadlines.start, tool_seconds=tool_seconds)
    agent = ConnectedAgent(
        Door(target, cwd=cwd, env=env, framing=framing, stderr=stderr, wrap=simse.wrap if simse else None),
        edition=simse.edition if simse else edition,
        client=Implementation(name, version or VERSION, title),
        offer=offer,
        deadlines=deadlines,
        login=login,
        respawn=respawn,
        strict=strict,
        observers=observers,
    )
    if simse:
        simse.serve(agent)
    return agent


def _simse(dialect: str | None, tools: Mapping[str, Tool] | None, **options: Any) -> Simse | None:
    if dialect is None:
        if tools:
            # Not silently: whoever gives tools expects that they are run.
            raise LocalProtocolError("only agents of a dialect order tools", field="tools", expected='dialect="simse"')
        return None
    if dialect != "simse":
        raise LocalProtocolError(f"there is no dialect {dialect!r}", field="dialect", expected="simse")
    from accord.client.simse import Simse  # noqa: PLC0415 - few agents speak it

    return Simse(tools or {}, **options)
