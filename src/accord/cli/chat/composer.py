"""The prompt's editor: several lines, completion of commands and files, a history, pasted pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Key, Paste
from textual.message import Message
from textual.widgets import OptionList, TextArea

from accord.cli.chat.completion import (
    Completion,
    FileList,
    complete_command,
    complete_file,
    pasted_picture,
    path_prefix,
)
from accord.cli.chat.own_commands import typed
from accord.cli.chat.state_files import PromptHistory
from accord.cli.chat.widgets import MUTED, label, option_of
from accord.display import EMPTY, exact, filled, prose, prose_line
from accord.session.option import Command

# The column of the descriptions is at most so far to the right.
NAME_CELLS = 36


class Proposals(OptionList, can_focus=False):
    """The list of completions above the prompt."""

    DEFAULT_CSS = """
    Proposals { display: none; height: auto; max-height: 12; border: none; padding: 0 1; background: $panel; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False, compact=True)

    def offer(self, completion: Completion | None) -> None:
        """Show these, the first one selected; None hides the list."""
        self.display = completion is not None
        self.clear_options()
        if completion is not None:
            column = max(min(cell_len(exact(each.name)), NAME_CELLS) for each in completion.proposals)
            self.add_options([option_of(_line(each.name, each.detail, column)) for each in completion.proposals])
            self.highlighted = 0


def _line(name: str, detail: str, column: int) -> Content:
    """The name, and its description in the same column as all the others; a longer name moves its own."""
    shown = exact(name, 60)
    about = filled("{:{}}  {}", EMPTY, max(column - cell_len(shown), 0), prose_line(detail, 100)) if detail else EMPTY
    return label((shown, "bold"), (about, MUTED))


class Composer(TextArea):
    """The prompt. Enter sends it, Ctrl+J begins a new line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j,shift+enter,alt+enter", "newline", "New line", show=False, priority=True),
        Binding("ctrl+x", "editor", "Editor", show=False, priority=True),
        Binding("pageup", "scroll_conversation(-1)", "Scroll up", show=False),
        Binding("pagedown", "scroll_conversation(1)", "Scroll down", show=False),
    ]
    DEFAULT_CSS = """
    Composer {
        height: auto; min-height: 3; max-height: 8; border: round $primary 60%; padding: 0 1; background: $surface;
        border-subtitle-color: $text-muted; border-title-color: $text-muted;
        &:focus { border: round $primary; }
    }
    """

    class Sent(Message):
        """The user sent this text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class WantsEditor(Message):
        """The user requests the external editor."""

    class Scrolled(Message):
        """The user scrolls the conversation by pages."""

        def __init__(self, pages: int) -> None:
            super().__init__()
            self.pages = pages

    def __init__(
        self,
        cwd: str,
        proposals: Proposals,
        commands: Callable[[], Sequence[Command]],
        history: PromptHistory,
        examples: Callable[[], Sequence[str]],
    ) -> None:
        super().__init__(soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False, tab_behavior="focus")
        self._cwd = cwd
        self._commands = commands
        self._files = FileList(cwd)
        self._proposals = proposals
        self._completion: Completion | None = None
        self._offered_for = ""
        self._history = history
        self._examples = examples
        self._recalled: int | None = None

    # --- sending and history

    def action_newline(self) -> None:
        self.insert("\n")

    def action_editor(self) -> None:
        self.post_message(self.WantsEditor())

    def action_scroll_conversation(self, pages: int) -> None:
        """Scroll the conversation: the prompt itself has only a few lines."""
        self.post_message(self.Scrolled(pages))

    def put(self, text: str) -> None:
        """Replace the text, with the cursor at the end."""
        self.text = text
        self.move_cursor(self.document.end)

    def _send(self) -> None:
        text = self.text.strip()
        if not text:
            return
        if typed(text, self._commands()).name != "exit":
            # It would be the first entry of the next chat's history.
            self._history.add(text)
        self._recalled = None
        self.text = ""
        self.post_message(self.Sent(text))

    def _recall(self, step: int) -> bool:
        """Go through the history; only from an empty prompt, or from one that was recalled unchanged."""
        prompts = self._history.prompts
        at = len(prompts) if self._recalled is None else self._recalled
        if self.text != ("" if self._recalled is None else prompts[at]):
            return False
        at += step
        if not 0 <= at <= len(prompts) or (step > 0 and self._recalled is None):
            return False
        self._recalled = at if at < len(prompts) else None
        self.put("" if self._recalled is None else prompts[at])
        return True

    # --- completing

    @property
    def is_completing(self) -> bool:
        """Whether there are proposals to choose from."""
        return self._completion is not None

    def accept(self, index: int) -> None:
        completion = self._completion
        if completion is None:
            return
        typed = self._before()[: completion.start]
        start = (typed.count("\n"), len(typed) - (typed.rfind("\n") + 1))
        self.replace(completion.proposals[index].text, start, self.cursor_location)
        self._offer(None)

    def _before(self) -> str:
        return self.get_text_range((0, 0), self.cursor_location)

    def _offer(self, completion: Completion | None) -> None:
        self._completion = completion
        self._offered_for = self._before()
        self._proposals.offer(completion)

    def on_text_area_changed(self) -> None:
        before = self._before()
        if self._recalled is not None:
            self._offer(None)
        elif path_prefix(before) is not None:
            self._offer(complete_file(before, self._files.known))
            self.run_worker(self._look_up(), group="files", exclusive=True)
        else:
            self._offer(complete_command(before, self._commands()))

    async def _look_up(self) -> None:
        files = await self._files.refresh()
        before = self._before()
        if path_prefix(before) is not None:
            self._offer(complete_file(before, files))

    # --- keys

    async def _on_key(self, event: Key) -> None:
        if self._handle(event.key):
            # Textual calls the handler of the base class too, unless this prevents it.
            event.stop()
            event.prevent_default()

    def _handle(self, key: str) -> bool:
        if self._completion is not None and self._before() != self._offered_for:
            # Keys can arrive before the message that the text has changed.
            self.on_text_area_changed()
        if self._completion is not None and self._handle_completing(key):
            return True
        match key:
            case "enter":
                self._send()
                return True
            case "1" | "2" | "3" if not self.text and self._examples():
                self.put(self._examples()[int(key) - 1])
                return True
            case "up":
                return self._recall(-1)
            case "down":
                return self._recall(1)
            case _:
                return False

    def _handle_completing(self, key: str) -> bool:
        match key:
            case "up":
                self._proposals.action_cursor_up()
            case "down":
                self._proposals.action_cursor_down()
            case "tab" | "enter":
                index = self._proposals.highlighted or 0
                chosen = self._completion.proposals[index].text if self._completion else ""
                if key == "enter" and self._before().strip() == chosen.strip():
                    # The name is complete already: Enter sends it.
                    self._offer(None)
                    return False
                self.accept(index)
            case "escape":
                self._offer(None)
            case _:
                return False
        return True

    async def _on_paste(self, event: Paste) -> None:
        # Most terminals end the lines of a pasted text with CR alone.
        pasted = event.text.replace("\r\n", "\n").replace("\r", "\n")
        mention = pasted_picture(pasted, self._cwd)
        # Pasted text may hold control characters.
        text = prose(pasted) if mention is None else filled("{} ", mention)
        if text != event.text:
            event.stop()
            event.prevent_default()
            self.insert(text)
