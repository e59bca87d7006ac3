"""`accord chat` as a whole program: what the verb calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from accord.cli.chat.app import ChatApp
from accord.cli.chat.note import Note
from accord.cli.chat.talk import Connect, Prepare, Wishes
from accord.session.ask import McpServer, SessionSummary

__all__ = ["run_chat"]


def run_chat(  # noqa: PLR0913 - what the verb decides
    connect: Connect,
    *,
    cwd: str | os.PathLike[str] = ".",
    session: str | None = None,
    key: str | None = None,
    name: str = "agent",
    roots: Sequence[str | os.PathLike[str]] = (),
    servers: Sequence[McpServer] = (),
    prepare: Prepare | None = None,
    known: Callable[[], Sequence[SessionSummary]] = lambda: (),
    ready: Callable[[Callable[[Note], None]], None] = lambda _: None,
    mouse: bool = True,
) -> int:
    """Talk to an agent, full screen, until the user leaves; gives the exit status.

    `connect` makes the agent: `accord.connect` with its target filled in, perhaps with a `Policy` around the
    `permission` it is given. `session` is the id of one to go on with, `key` is ours for it. `prepare` is called with
    each session that was opened; `known` gives the sessions that are remembered here, beside the agent's.
    `ready` is given the function that shows a note in the conversation.
    """
    wishes = Wishes(str(Path(cwd).absolute()), session, key, roots, servers, prepare, known)
    app = ChatApp(connect, wishes, name=name)
    ready(app.say)
    app.run(mouse=mouse)
    return int(app.talk.status) if app.return_code == 0 else 1
