"""The chat application: routes keys and commands of the user, and events and questions of the agent."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from textual.app import SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.events import AppBlur, AppFocus
from textual.widget import MountError
from textual.widgets import OptionList

from accord.cli.chat.agent_log import LogPane
from accord.cli.chat.changes import ChangeTracker
from accord.cli.chat.chat_commands import answered, carry_out, change_option, choose_session, login_items, next_mode
from accord.cli.chat.chat_session import ChatOptions, ChatSession, Connect
from accord.cli.chat.composer import Composer, Proposals
from accord.cli.chat.dialogs.form import FormDialog, UrlDialog, is_web_address
from accord.cli.chat.dialogs.frame import ARMING_SECONDS, Picker, ReadingDialog
from accord.cli.chat.dialogs.permission import PermissionDialog
from accord.cli.chat.lines import DiffLayout
from accord.cli.chat.message import PassageView
from accord.cli.chat.own_commands import ESCAPE, help_view, typed, unknown_command
from accord.cli.chat.programs import EditorFailed, Shell, edited, editor_of
from accord.cli.chat.screen import LEAVE_SECONDS, ChatScreen
from accord.cli.chat.state_files import PromptHistory, SettingsFile, ThemeChoice
from accord.cli.chat.terminal import RESTORE_TITLE, TEXTUAL_THEMES, Shade, title_sequence
from accord.cli.chat.timeline import Timeline
from accord.cli.chat.tool_call import WantsWhole
from accord.cli.chat.widgets import announce
from accord.cli.show.presentation import Note, notice_note
from accord.client.question import FormQuestion, PermissionAnswer, PermissionQuestion, UrlQuestion
from accord.client.session import Session
from accord.display import EMPTY, exact, filled, own, prose
from accord.errors import AccordError
from accord.session.capability import AuthMethod
from accord.session.event import Event, Noticed, StateChanged
from accord.session.option import Command
from accord.session.transcript import Transcript

REPAINT_SECONDS = 0.05
CLOCK_SECONDS = 0.25
# How many events may wait for a repaint before reading pauses.
MAX_UNPAINTED = 4_000


class ChatApp(ChatScreen):
    TITLE = "accord"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", "Cancel", priority=True),
        Binding("escape", "stop", "Cancel"),
        Binding("ctrl+q", "leave", "Leave", priority=True),
        Binding("ctrl+o", "options", "Options"),
        Binding("ctrl+r", "sessions", "Sessions"),
        Binding("ctrl+n", "new_session", "New session"),
        Binding("ctrl+t", "lay_out", "Side by side"),
        Binding("ctrl+g", "fold", "Fold"),
        Binding("ctrl+l", "plan", "Plan"),
        Binding("shift+tab", "next_mode", "Mode", priority=True),
        Binding("f1", "help", "Help"),
        Binding("f2", "log", "Log"),
    ]

    def __init__(
        self,
        connect: Connect,
        options: ChatOptions,
        *,
        name: str = "agent",
        arming_seconds: float = ARMING_SECONDS,
        repaint_seconds: float = REPAINT_SECONDS,
        history: PromptHistory | None = None,
        settings: SettingsFile | None = None,
        shade: Shade = "dark",
    ) -> None:
        super().__init__()
        self.settings = settings or SettingsFile()
        self._shade: Shade = shade
        self._has_focus: bool | None = None
        self._cwd = options.cwd
        self.shell = Shell()
        self._agent_name = name
        self._arming_seconds = arming_seconds
        self._repaint_seconds = repaint_seconds
        self._changes = ChangeTracker(Transcript())
        self._transcript = Transcript()
        self._unlisten: Callable[[], None] = lambda: None
        self._news = asyncio.Event()
        self._painting = asyncio.Lock()
        self._painted = asyncio.Event()
        self._unpainted = 0
        self._question_lock = asyncio.Lock()
        self._questioned = ""
        self._diff_layout: DiffLayout = "inline"
        self._folded = True
        self.repaints = 0
        """How often the conversation was brought up to date."""
        self.chat_session = ChatSession(connect, options, self, self._request_permission, self._elicit)
        self._proposals = Proposals()
        self.log_pane = LogPane(self.chat_session.log)
        self._history = history or PromptHistory()
        self.composer = Composer(options.cwd, self._proposals, self._commands, self._history, self._examples)
        self.timeline = Timeline(options.cwd)

    def on_mount(self) -> None:
        self.composer.border_subtitle = "Enter sends · / commands · @ files · ! shell · F1 help"
        self.use_theme(self.settings.settings.theme)
        self._write(title_sequence(self._agent_name, self._cwd))
        self.composer.focus()
        if self._history.problem is not None:
            announce(self, prose(self._history.problem), title=own("Prompts are not kept"), severity="warning")
        self.set_interval(CLOCK_SECONDS, self._tick)
        self.run_worker(self._paint(), name="paint", group="paint")
        self.run_worker(self.chat_session.run(), name="chat_session", group="chat_session")
        self.changed()

    async def on_unmount(self) -> None:
        self._unlisten()
        await self.shell.stop()
        await self.chat_session.close()
        self._write(RESTORE_TITLE)

    def _write(self, sequence: str) -> None:
        """Write a control sequence to the terminal, beside Textual's output."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    def use_theme(self, choice: ThemeChoice) -> None:
        """Use the light or the dark theme; `auto` is the terminal's."""
        self.theme = TEXTUAL_THEMES[self._shade if choice == "auto" else choice]

    # --- called by the chat session

    async def session_opened(self, session: Session) -> None:
        """Show this session from now on."""
        self._unlisten()
        self._transcript = session.transcript
        self._changes = ChangeTracker(session.transcript)
        self._unlisten = session.listen(self._on_event)
        async with self._painting:
            await self.timeline.begin(session.transcript)
        self._schedule()

    def show_note(self, note: Note) -> None:
        """Show a remark at the end of the conversation."""
        self._changes.add(note)
        self._schedule()

    def changed(self) -> None:
        """Show the new state of the chat session."""
        self._schedule()

    @property
    def is_behind(self) -> bool:
        """Whether more events wait for a repaint than the limit."""
        return self._unpainted > MAX_UNPAINTED

    async def catch_up(self) -> None:
        """Return when the screen shows all events."""
        self._painted.clear()
        self._schedule()
        await self._painted.wait()

    def turn_ended(self, seconds: float) -> None:
        self._ring(seconds)

    def _ring(self, seconds: float) -> None:
        """Ring the bell, where the turn took long and the window has no focus."""
        least = self.settings.settings.bell_seconds
        if least is not None and seconds >= least and not self._has_focus:
            self.bell()

    def on_app_focus(self, _event: AppFocus) -> None:
        self._has_focus = True

    def on_app_blur(self, _event: AppBlur) -> None:
        self._has_focus = False

    def give_back(self, text: str) -> None:
        """Put an unsent prompt back in front of the text in the composer."""
        if typed(text, self._commands()).kind == "own":
            text = f"{ESCAPE}{text}"
        written = self.composer.text
        self.composer.put(f"{text}\n{written}" if written.strip() else text)

    async def choose_login(self, methods: Sequence[AuthMethod]) -> str | None:
        picker = Picker(own("The agent wants you to log in"), login_items(methods))
        return await answered(self, picker)

    @contextlib.contextmanager
    def own_terminal(self) -> Iterator[None]:
        """Give the terminal to a program for a while."""
        failed: BaseException | None = None
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.batch_update())
            try:
                stack.enter_context(self.suspend())
            except SuspendNotSupported:
                self.show_note(Note(own("this terminal cannot be lent to another program"), "warning"))
            # Textual takes the terminal back only if nothing is raised in its context.
            try:
                yield
            except BaseException as error:  # noqa: BLE001 - raised again below
                failed = error
        if failed is not None:
            raise failed

    # --- events of the session

    def _on_event(self, event: Event) -> None:
        self._unpainted += 1
        self._changes.track(event)
        if isinstance(event, Noticed):
            self._notice(event)
        elif isinstance(event, StateChanged) and event.state == "idle":
            self._changes.add_terminals()
        self._schedule()

    def _notice(self, notice: Noticed) -> None:
        shown = notice_note(notice)
        announce(
            self,
            shown.detail or shown.text,
            title=shown.text if shown.detail else EMPTY,
            severity="information" if shown.level == "info" else shown.level,
            timeout_seconds=15 if shown.level == "error" else 8,
        )

    def _schedule(self) -> None:
        self._news.set()

    async def _paint(self) -> None:
        """Repaint, at most so many times a second; keys have priority."""
        clock = asyncio.get_running_loop().time
        while True:
            await self._news.wait()
            self._news.clear()
            begun = clock()
            async with self._painting:
                try:
                    await self._repaint()
                except MountError:
                    # At the exit widgets are removed before this task is cancelled.
                    if self.is_running:
                        raise
                    return
            # The pause between two repaints is as long as the last one took.
            await asyncio.sleep(max(self._repaint_seconds, clock() - begun))

    async def _repaint(self) -> None:
        self.repaints += 1
        self._unpainted = 0
        await self.timeline.follow(self._changes.take())
        if any(turn.refused for turn in self._transcript.turns[-1:]):
            self.timeline.mark_refused()
        self._show_around()
        self._painted.set()

    def _tick(self) -> None:
        if self.chat_session.is_busy or self.shell.is_running:
            self._show_status()
        self.log_pane.follow()

    # --- input of the user

    def _commands(self) -> Sequence[Command]:
        return () if self.chat_session.session is None else self.chat_session.session.commands

    def _examples(self) -> Sequence[str]:
        return self.timeline.welcome.greeting.examples if self.timeline.is_empty else ()

    def on_composer_sent(self, message: Composer.Sent) -> None:
        """Send the prompt or run the command, and scroll to the end."""
        line = typed(message.text, self._commands())
        if line.kind == "own":
            self.run_worker(carry_out(self, line.name, line.text), group="menu", exclusive=True)
        elif line.kind == "shell":
            self._run_shell(line.text)
        elif not self._questions(message.text):
            self.chat_session.submit(line.text)
        self.timeline.anchor()

    def _questions(self, text: str) -> bool:
        """Whether a prompt begins with an unknown command: the first time it goes back to the user."""
        found = unknown_command(text, self._commands())
        if found is None or text == self._questioned:
            self._questioned = ""
            return False
        self._questioned = text
        self.give_back(text)
        name, near = found
        guess = EMPTY if near is None else filled("Did you mean /{}? ", exact(near))
        told = filled("There is no command /{}. {}Enter sends it to the agent as it is.", exact(name, 40), guess)
        announce(self, told, severity="warning")
        return True

    def _run_shell(self, text: str) -> None:
        """Run a shell line of the user; one at a time."""
        if not text:
            announce(self, own("Type a command behind the !, such as !git status"))
        elif self.shell.is_running:
            announce(self, own("Your last command still runs: Ctrl+C ends it"), severity="warning")
            self.give_back(f"!{text}")
        else:
            self.run_worker(self._shell(text), group="shell")

    async def _shell(self, text: str) -> None:
        session = self.chat_session.session
        line = self.shell.line(text, self._cwd if session is None else session.cwd)
        line.on_output = self._schedule
        self._changes.add(line)
        self._schedule()
        columns = max(self.timeline.size.width - 4, 20)
        problem = await self.shell.run(line, columns)
        if problem is not None:
            announce(self, prose(problem), title=own("Not run"), severity="error")
        self._schedule()

    async def edit_prompt(self) -> None:
        """The prompt in the user's editor."""
        try:
            text = await edited(self.composer.text, editor_of(os.environ), self.own_terminal())
        except EditorFailed as error:
            announce(self, prose(str(error)), title=own("The prompt stays as it was"), severity="warning")
        else:
            self.composer.put(prose(text))
        self.refresh(layout=True)
        self.composer.focus()

    def on_composer_wants_editor(self) -> None:
        self.run_worker(self.edit_prompt(), group="menu", exclusive=True)

    def action_log(self) -> None:
        """The agent's stderr, the log and the wire."""
        self.log_pane.toggle()

    def on_composer_scrolled(self, message: Composer.Scrolled) -> None:
        """Scroll the conversation while the prompt has the keys."""
        if message.pages < 0:
            self.timeline.action_page_up()
        else:
            self.timeline.action_page_down()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_list is self._proposals:
            self.composer.accept(event.option_index)
            self.composer.focus()

    def on_wants_whole(self, message: WantsWhole) -> None:
        self.push_screen(ReadingDialog(message.title, message.view))

    def on_passage_view_link_clicked(self, message: PassageView.LinkClicked) -> None:
        """Open a link, if it is a web address; show the address, which the link's text may hide."""
        if is_web_address(message.address):
            announce(self, exact(message.address), title=own("Opening"))
            self.open_url(message.address)
        else:
            announce(self, exact(message.address), title=own("Not opened: no address of the web"))

    async def action_interrupt(self) -> None:
        """Ctrl+C: cancel; clear a filled prompt; twice: leave."""
        if self._pressed_at is not None and not self._is_late(self._pressed_at):
            await self.action_leave()
            return
        if self.chat_session.turn is None and self._copy_selected():
            return
        if self.shell.is_running:
            await self.shell.stop()
            return
        if self.chat_session.turn is None and self.focused is self.composer and self.composer.text:
            # Not by `text`: Ctrl+Z brings it back.
            self.composer.clear()
            return
        self._pressed_at = asyncio.get_running_loop().time()
        await self.chat_session.cancel()
        self._show_status()
        self.set_timer(LEAVE_SECONDS, self._show_status)

    def _copy_selected(self) -> bool:
        text = self.composer.selected_text or self.screen.get_selected_text()
        if text:
            self.copy_to_clipboard(text)
            announce(self, own("Copied"))
        return bool(text)

    async def action_stop(self) -> None:
        """Escape: back to the prompt, or cancel."""
        if self.focused is not self.composer:
            self.composer.focus()
        await self.chat_session.cancel()

    async def action_leave(self) -> None:
        self.exit(return_code=0)

    def action_lay_out(self) -> None:
        """Diffs inline or side by side."""
        self._diff_layout = "inline" if self._diff_layout == "side" else "side"
        self.timeline.lay_out(self._diff_layout)
        text = own("Side by side where it is wide enough") if self._diff_layout == "side" else own("Inline")
        announce(self, text, timeout_seconds=2)

    async def action_fold(self) -> None:
        self._folded = not self._folded
        await self.timeline.fold_all(folded=self._folded)

    def action_plan(self) -> None:
        """Switch between the whole plan and one line of it."""
        self._wants_plan = not self._wants_plan
        self._show_plan()

    def action_help(self) -> None:
        self.push_screen(ReadingDialog(own("Help"), help_view(self._commands())))

    def action_options(self) -> None:
        self.run_worker(change_option(self, self.chat_session.session, self.set_option), group="menu", exclusive=True)

    async def set_option(self, session: Session, option_id: str, value: str | bool) -> None:  # noqa: FBT001
        try:
            await session.set_option(option_id, value)
        except AccordError as error:
            announce(self, prose(str(error)), title=own("Not changed"), severity="error")
        self._show_around()

    def action_next_mode(self) -> None:
        session = self.chat_session.session
        wanted = None if session is None else next_mode(session.options)
        if session is not None and wanted is not None:
            self.run_worker(self.set_option(session, *wanted), group="menu", exclusive=True)

    def action_sessions(self) -> None:
        self.run_worker(choose_session(self, self.chat_session), group="menu", exclusive=True)

    def action_new_session(self) -> None:
        if self.chat_session.is_busy:
            announce(self, own("The agent is at work: cancel that first (Esc)"), severity="warning")
        else:
            self.run_worker(self.chat_session.switch(None), group="menu", exclusive=True)

    # --- questions of the agent

    async def _request_permission(self, question: PermissionQuestion) -> PermissionAnswer:
        async with self._question_lock:
            self._ring(asyncio.get_running_loop().time() - self.chat_session.since)
            return await answered(self, PermissionDialog(question, self._diff_layout, self._arming_seconds))

    async def _elicit(self, question: FormQuestion | UrlQuestion) -> Any:
        async with self._question_lock:
            if isinstance(question, FormQuestion):
                return await answered(self, FormDialog(question, self._arming_seconds))
            return await answered(self, UrlDialog(question, self._arming_seconds))
