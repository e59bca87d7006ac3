"""`accord.connect`: one function for every agent, however it is reached."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from accord.client.agent import RemoteAgent
from accord.client.deadline import Deadlines
from accord.client.dial import Observer
from accord.client.door import Door
from accord.client.handshake import EditionWish
from accord.client.login import LoginCallback
from accord.client.question import ElicitCallback, PermissionCallback
from accord.client.services import Offer, WorkspaceFactory
from accord.session.ability import Peer
from accord.version import VERSION
from accord.wire import Framing

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
    observers: Sequence[Observer] = (),
) -> RemoteAgent:
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

    An agent that speaks a dialect of ACP needs a plug-in: `connect(...).use_dialect(...)`.

    Raises:
        LocalProtocolError: The target is none, or options do not go together.
    """
    offer = Offer(files, terminals, pty, missing_file, permission, elicit, terminal_login)
    return RemoteAgent(
        Door(target, cwd=cwd, env=env, framing=framing, stderr=stderr),
        edition=edition,
        client=Peer(name, version or VERSION, title),
        offer=offer,
        deadlines=deadlines or Deadlines(),
        login=login,
        respawn=respawn,
        strict=strict,
        observers=observers,
    )
