"""The start and the end of `accord chat`, also when the terminal is gone.

A window that is closed sends SIGHUP to the programs that have it as their controlling terminal, which ends them. Others
(started by a tool on a terminal of its own) would not notice it: the thread that writes to the screen has ended then,
the one that reads it never rests, and the loop waits for both.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from accord.cli.chat.app import ChatApp
from accord.cli.chat.chat_session import ChatOptions, ChatSession, Connect
from accord.cli.chat.state_files import PromptHistory, SettingsFile
from accord.cli.chat.terminal import Shade, detected_shade
from accord.cli.show.line import Span, hidden_before
from accord.cli.show.presentation import Note
from accord.cli.show.screen import Progress, TextScreen, has_colours
from accord.display import exact, filled, prose, safe_lines, trimmed
from accord.time_scale import scaled

MAX_ANSWER_LINES = 40
# In the state folder; see docs/formats.md.
SETTINGS_FILE = "chat.json"
HISTORY_FILE = "prompts.jsonl"


def run_chat(
    connect: Connect,
    options: ChatOptions,
    *,
    name: str = "agent",
    ready: Callable[[Callable[[Note], None]], None] = lambda _: None,
    mouse: bool = True,
    state: Path | None = None,
    go_on: str = "",
) -> int:
    """Run the chat until the user leaves; returns the exit status.

    `connect` makes the agent: `accord.connect` with its target filled in, perhaps with a `Policy` around the
    `permission` it is given. `ready` is given the function that shows a note in the conversation. `state` is the folder
    for prompts and settings, which are not kept without it; `go_on` is the line that goes on with the session.
    """
    settings = SettingsFile(None if state is None else state / SETTINGS_FILE)
    history = PromptHistory(None if state is None else state / HISTORY_FILE)
    app = ChatApp(connect, options, name=name, history=history, settings=settings, shade=_shade(settings))
    ready(app.show_note)
    leave_with_terminal(lambda: app.call_later(app.exit))
    with app.chat_session.log.capturing():
        app.run(mouse=mouse)
    with contextlib.suppress(OSError):
        _print_end(app.chat_session, go_on)
    return int(app.chat_session.status) if app.return_code == 0 else 1


def _shade(settings: SettingsFile) -> Shade:
    chosen = settings.settings.theme
    return detected_shade() if chosen == "auto" else chosen


def _print_end(chat_session: ChatSession, go_on: str) -> None:
    """Print the last message and the command that continues the session: the full screen leaves nothing behind."""
    answer = safe_lines(trimmed(prose(chat_session.last_answer)))
    if not any(answer):
        return
    screen = TextScreen(sys.stdout, Progress(sys.stderr, shown=False), colours=has_colours(sys.stdout, os.environ))
    hidden = len(answer) - MAX_ANSWER_LINES
    if hidden > 0:
        screen.line([Span(hidden_before(hidden), "dim")])
    screen.lines([Span(line)] for line in answer[-MAX_ANSWER_LINES:])
    if go_on and chat_session.can_go_on:
        screen.line([])
        screen.line([Span(filled("go on: {}", exact(go_on)), "dim")])
    screen.flush()


GRACE_SECONDS = scaled(3.0)
# The exit status that a shell reports for a program that SIGHUP has ended.
HANGUP_STATUS = 129


def leave_with_terminal(leave: Callable[[], object]) -> None:
    """Call `leave`, in another thread, when stdin's terminal is gone; end the process if it still runs seconds later.

    The agents that this process started end with it.
    """
    if hasattr(select, "poll") and sys.stdin.isatty():
        threading.Thread(target=_watch, args=(sys.stdin.fileno(), leave), daemon=True, name="hangup").start()


def _watch(descriptor: int, leave: Callable[[], object]) -> None:
    poll = select.poll()
    # No event is requested: a hang-up is always reported.
    poll.register(descriptor, 0)
    poll.poll()
    try:
        leave()
    finally:
        time.sleep(GRACE_SECONDS)
        os._exit(HANGUP_STATUS)
