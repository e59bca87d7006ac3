"""`accord chat` as a whole program: what the verb calls, and its end when the terminal is gone.

A window that is closed sends SIGHUP to the programs that have it as their controlling terminal, which ends them. Others
(started by a tool on a terminal of its own) would not notice it: the thread that writes to the screen has ended then,
the one that reads it never rests, and the loop waits for both.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable

from accord.cli.chat.app import ChatApp
from accord.cli.chat.chat_session import ChatOptions, Connect
from accord.cli.show.presentation import Note
from accord.time_scale import scaled


def run_chat(
    connect: Connect,
    options: ChatOptions,
    *,
    name: str = "agent",
    ready: Callable[[Callable[[Note], None]], None] = lambda _: None,
    mouse: bool = True,
) -> int:
    """Talk to an agent, full screen, until the user leaves; gives the exit status.

    `connect` makes the agent: `accord.connect` with its target filled in, perhaps with a `Policy` around the
    `permission` it is given. `ready` is given the function that shows a note in the conversation.
    """
    app = ChatApp(connect, options, name=name)
    ready(app.show_note)
    leave_with_terminal(lambda: app.call_later(app.exit))
    app.run(mouse=mouse)
    return int(app.chat_session.status) if app.return_code == 0 else 1


GRACE_SECONDS = scaled(3.0)
# What a shell reports for a program that SIGHUP has ended.
HANGUP_STATUS = 129


def leave_with_terminal(leave: Callable[[], object]) -> None:
    """Call `leave`, in another thread, when stdin's terminal is gone; what still runs some seconds later is ended.

    The agents that this process started end with it.
    """
    if hasattr(select, "poll") and sys.stdin.isatty():
        threading.Thread(target=_watch, args=(sys.stdin.fileno(), leave), daemon=True, name="hangup").start()


def _watch(descriptor: int, leave: Callable[[], object]) -> None:
    poll = select.poll()
    # No event at all: only what is always reported, the hang-up.
    poll.register(descriptor, 0)
    poll.poll()
    try:
        leave()
    finally:
        time.sleep(GRACE_SECONDS)
        os._exit(HANGUP_STATUS)
