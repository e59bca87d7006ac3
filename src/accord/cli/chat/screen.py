"""The layout of the chat around the conversation: the bars, the plan, the queue, the greeting, the log."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll

from accord.cli.chat.agent_log import LogPane
from accord.cli.chat.bars import (
    OFFLINE,
    Greeting,
    PlanLine,
    PlanPanel,
    StatusBar,
    StatusFacts,
    TitleBar,
    settings_text,
    value_name,
)
from accord.cli.chat.chat_session import ChatSession
from accord.cli.chat.composer import Composer, Proposals
from accord.cli.chat.programs import Shell
from accord.cli.chat.state_files import SettingsFile, ThemeChoice
from accord.cli.chat.timeline import Timeline
from accord.cli.chat.widgets import StaticText
from accord.cli.show.line import usage_parts
from accord.client.session import Session
from accord.display import EMPTY, exact, filled, joined, own, prose_line
from accord.session.option import Select
from accord.session.transcript import Transcript
from accord.time_scale import scaled

LEAVE_SECONDS = scaled(2.0)
PLAN_BESIDE_CELLS = 116
FOLDER_CHARACTERS = 64


class ChatScreen(App[int]):
    """The layout, updated from the state of the chat session. Keys and questions belong to `ChatApp`."""

    CSS = """
    Screen { layout: vertical; }
    ToastRack { dock: top; align: right top; margin-top: 1; }
    #middle { height: 1fr; }
    #plan { width: 36; display: none; border-left: solid $primary 40%; height: 1fr; }
    #plan.-beside { display: block; }
    #plan-above { display: none; height: auto; max-height: 40%; }
    #plan-above.-shown { display: block; }
    PlanLine { display: none; }
    PlanLine.-shown { display: block; }
    #queue { display: none; height: auto; max-height: 4; padding: 0 1; color: $text-accent; }
    #queue.-shown { display: block; }
    """

    # Made by `ChatApp`.
    chat_session: ChatSession
    composer: Composer
    timeline: Timeline
    log_pane: LogPane
    shell: Shell
    settings: SettingsFile
    _proposals: Proposals
    _transcript: Transcript
    _question_lock: asyncio.Lock
    _agent_name: str
    _cwd: str
    _pressed_at: float | None = None
    _wants_plan = False

    # Used by the commands of the chat; implemented by `ChatApp`.

    def action_help(self) -> None: ...

    async def action_leave(self) -> None: ...

    def action_new_session(self) -> None: ...

    def use_theme(self, choice: ThemeChoice) -> None: ...

    async def set_option(self, session: Session, option_id: str, value: str | bool) -> None: ...  # noqa: FBT001

    async def edit_prompt(self) -> None: ...

    def compose(self) -> ComposeResult:
        yield TitleBar()
        with Horizontal(id="middle"):
            yield self.timeline
            with VerticalScroll(id="plan", can_focus=False):
                yield PlanPanel()
        with VerticalScroll(id="plan-above", can_focus=False):
            yield PlanPanel()
        yield self.log_pane
        yield PlanLine()
        yield StaticText(id="queue")
        with Vertical(id="bottom") as bottom:
            bottom.styles.height = "auto"
            yield self._proposals
            yield self.composer
            yield StatusBar()

    def on_resize(self) -> None:
        """Lay out the parts that depend on the size."""
        self.call_after_refresh(self._show_around)

    def _show_around(self) -> None:
        if not self.is_running or not self.query(TitleBar):
            return
        session, agent = self.chat_session.session, self.chat_session.agent
        self.query_one(TitleBar).follow(
            self._agent_title(),
            None if agent is None else agent.edition,
            None if session is None else session.title,
            EMPTY if session is None else settings_text(session.options),
        )
        self._show_plan()
        self._show_queue()
        self._show_status()
        if self.timeline.is_empty:
            self.timeline.welcome.follow(self._greeting())

    def _agent_title(self) -> str:
        agent = self.chat_session.agent
        info = None if agent is None else agent.info
        return self._agent_name if info is None else f"{info.title or info.name} {info.version}"

    def _greeting(self) -> Greeting:
        session, agent = self.chat_session.session, self.chat_session.agent
        if session is None:
            return Greeting(_folder(self._cwd), "" if agent is None else self._agent_title())
        return Greeting(
            _folder(session.cwd),
            self._agent_title(),
            (agent.edition if agent is not None else None) or "",
            _value(session, "model"),
            _value(session, "mode"),
            is_open=True,
            is_demo=self._is_demo(session),
        )

    def _is_demo(self, session: Session) -> bool:
        """Whether the agent is the built-in one with its offline rules."""
        agent = self.chat_session.agent
        info = None if agent is None else agent.info
        models = (each for each in session.options if isinstance(each, Select) and each.category == "model")
        return info is not None and info.name == "accord" and any(each.value == OFFLINE for each in models)

    def _show_plan(self) -> None:
        plans = list(self._transcript.plans.values())
        is_there = any(plan.entries for plan in plans)
        beside = is_there and self.size.width >= PLAN_BESIDE_CELLS
        self.query_one("#plan").set_class(beside, "-beside")
        self.query_one("#plan-above").set_class(is_there and not beside and self._wants_plan, "-shown")
        line = self.query_one(PlanLine)
        is_open = any(entry.status in {"pending", "in_progress"} for plan in plans for entry in plan.entries)
        wants_line = is_open and not beside and not self._wants_plan
        line.set_class(wants_line, "-shown")
        for panel in self.query(PlanPanel):
            panel.follow(plans)
        line.follow(plans)

    def _show_queue(self) -> None:
        queue = self.query_one("#queue", StaticText)
        waiting = list(self.chat_session.queue) if self.chat_session.is_busy else []
        queue.set_class(bool(waiting), "-shown")
        queue.update(joined((filled("▹ {}", prose_line(text, 100)) for text in waiting), own("\n")))

    def _show_status(self) -> None:
        if not self.is_running or not self.query(StatusBar):
            return  # during the exit
        chat_session = self.chat_session
        is_asked, is_busy = self._question_lock.locked(), chat_session.is_busy or self.shell.is_running
        seconds = (
            asyncio.get_running_loop().time() - chat_session.since
            if chat_session.is_busy and chat_session.since
            else 0.0
        )
        hint = own("Esc cancels") if chat_session.turn is not None and not is_asked else EMPTY
        if self.shell.is_running and not is_asked:
            hint = own("Ctrl+C ends your command")
        if self._pressed_at is not None and not self._is_late(self._pressed_at):
            hint = own("Ctrl+C again leaves")
        doing = "waiting for your answer" if is_asked else chat_session.doing
        doing = doing or ("running your command" if self.shell.is_running else "")
        doing = doing or ("ready" if chat_session.session is not None else "no session")
        queued = len(chat_session.queue) if chat_session.is_busy else 0
        usage = joined(usage_parts(self._transcript.usage), own(" · "))
        self.query_one(StatusBar).follow(StatusFacts(exact(doing), is_busy, seconds, queued, usage, hint))

    def _is_late(self, pressed_at: float) -> bool:
        return asyncio.get_running_loop().time() - pressed_at > LEAVE_SECONDS


def _value(session: Session, category: str) -> str:
    options = (each for each in session.options if isinstance(each, Select) and each.category == category)
    return next((value_name(each) for each in options), EMPTY)


def _folder(path: str) -> str:
    """The folder with `~`, shortened to its end where it is long."""
    with contextlib.suppress(ValueError, RuntimeError):
        path = str(Path("~") / Path(path).relative_to(Path.home()))
    return path if len(path) <= FOLDER_CHARACTERS else f"…{path[1 - FOLDER_CHARACTERS :]}"
