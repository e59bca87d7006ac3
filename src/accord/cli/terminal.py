"""Questions to the user at a terminal: input lines, permission requests, forms, and the choice of a login."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from accord.cli.fault import phase
from accord.cli.show.answer import (
    WIDE_KEYS,
    contradiction_text,
    option_name,
    wide_choices,
)
from accord.cli.show.line import Line, Span
from accord.cli.show.question import (
    can_be_shown_whole,
    host_text,
    question_lines,
    sentence_of,
    whole_lines,
)
from accord.cli.show.screen import Progress, TextScreen, has_colours, is_terminal
from accord.client import ConnectedAgent, FormQuestion, PermissionQuestion, UrlQuestion
from accord.client.question import ElicitAnswer, WiderAnswer
from accord.display import SafeText, exact, filled, joined, json_text, own, prose_line
from accord.errors import AuthRequired
from accord.session.option import PermissionOption
from accord.session.refusal import typed_no

ARMING_SECONDS = 0.5
"""So long a question that takes the place of another one accepts no answer."""


def is_interactive() -> bool:
    """Whether a question can be asked: stdin and stderr are terminals."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


class UserTerminal:
    """Questions on stderr, answers from stdin; stdout is left to the output."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress or Progress(sys.stderr, shown=False)
        self._screen = TextScreen(sys.stderr, self._progress, colours=has_colours(sys.stderr, os.environ))
        self._alone = asyncio.Lock()
        self._is_replaced = False
        """Whether a question ended before it was answered: the next one takes its place."""
        self.before: Callable[[], None] = lambda: None
        """Called before a question, to write all earlier output."""
        self.after: Callable[[], None] = lambda: None
        """Called when a question was answered."""

    @contextlib.asynccontextmanager
    async def floor(self) -> AsyncIterator[None]:
        """Hold the screen for one question: others wait, and no output is shown meanwhile.

        Keys that were typed before it is shown do not answer it: they were meant for another question, or for none.
        """
        async with self._alone:
            self.before()
            _forget_typed_keys()
            held, self._progress.is_held = self._progress.is_held, True
            self._progress.erase()
            try:
                yield
            finally:
                self._progress.is_held = held
                self.after()

    @property
    def row_columns(self) -> int | None:
        """The width of rows of words; None where the terminal does not tell it."""
        return self._screen.row_columns

    def show(self, lines: Iterable[Line]) -> None:
        """Show lines that belong to a question, as they are."""
        self._screen.lines(lines)
        self._screen.flush()

    async def read_line(self, prompt: SafeText) -> str | None:
        """The line that the user types; None where the input ends."""
        self._screen.prompt(prompt)
        self._screen.flush()
        try:
            if self._is_replaced:
                await self._arm(prompt)
            answer = await _read_line()
        except asyncio.CancelledError:
            self._is_replaced = True
            # The next output begins on a new line.
            self._screen.line([])
            raise
        self._screen.forget_line()
        if answer is None:
            self._screen.line([])
        return answer

    async def _arm(self, prompt: SafeText) -> None:
        """Take no key for a moment: an agent that withdraws a question chooses when the next one takes its place."""
        await asyncio.sleep(ARMING_SECONDS)
        self._is_replaced = False
        if _forget_typed_keys():
            self._screen.forget_line()
            self._screen.line([Span(own("  that was typed too early to be meant for this question"), "dim")])
            self._screen.text(prompt)
            self._screen.flush()

    def show_line(self, text: SafeText, style: str = "") -> None:
        """Show a line of words that belongs to a question."""
        self._screen.prose([Span(text, style)])
        self._screen.flush()


def _forget_typed_keys() -> bool:
    """Drop what was typed so far; whether it was a line."""
    if sys.platform == "win32" or not is_terminal(sys.stdin):
        return False
    import termios  # noqa: PLC0415 - not on every system

    is_line = bool(select.select([sys.stdin], [], [], 0)[0])
    with contextlib.suppress(termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    return is_line


async def _read_line() -> str | None:
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":
        line = await asyncio.to_thread(sys.stdin.readline)
        return line.strip() if line else None
    # The terminal gives whole lines. Waiting in the loop can be cancelled, a thread in `readline` could not.
    ready: asyncio.Future[None] = loop.create_future()
    descriptor = sys.stdin.fileno()
    loop.add_reader(descriptor, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
    try:
        data = os.read(descriptor, 65536)
    except OSError:
        return None
    return data.decode(errors="replace").strip() if data else None


KEYS = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "d"}
# A key means one thing. Where a question does not offer it, no option is chosen because the agent has named it so.
_OWN_KEYS = frozenset({*KEYS.values(), "v", *WIDE_KEYS.values()})


def keys_of(options: Sequence[PermissionOption]) -> dict[str, PermissionOption]:
    """A key for each option that can be given: a letter for the known kinds, a number for the rest."""
    keys: dict[str, PermissionOption] = {}
    for number, option in enumerate(options, 1):
        if not option.can_be_given(options):
            continue
        letter = KEYS.get(option.kind, "")
        keys[letter if letter and letter not in keys else str(number)] = option
    return keys


class _Choices:
    """The answers that the user can give to one question."""

    def __init__(self, question: PermissionQuestion) -> None:
        self._question = question
        self._options = keys_of(question.options)
        self._wide = {choice.key: choice for choice in wide_choices(question)}
        self.can_show_whole = can_be_shown_whole(question)

    @property
    def keys(self) -> list[str]:
        return [*self._options, *self._wide, *(["v"] * self.can_show_whole)]

    @property
    def prompt(self) -> SafeText:
        offered = [filled("[{}] {}", key, option_name(option)) for key, option in self._options.items()]
        if not offered:
            offered.append(own("[n] No"))
        if self.can_show_whole:
            has_diff = self._question.tool is not None and self._question.tool.content
            offered.append(own("[v] whole diff") if has_diff else own("[v] all of it"))
        return filled("  {}  {} > ", sentence_of(self._question), joined(offered, own("  ")))

    def show(self, terminal: UserTerminal) -> None:
        """Show the facts before the question."""
        left_out = len(self._question.options) - len(self._options)
        if left_out:
            terminal.show_line(filled("  {}", contradiction_text(left_out)), "yellow")
        if self._wide:
            names = joined((filled("[{}] {}", key, choice.name) for key, choice in self._wide.items()), own("  "))
            terminal.show_line(filled("  always can also mean:  {}", names), "dim")

    def meant(self, answer: str) -> tuple[bool, PermissionOption | WiderAnswer | None]:
        """The option that an answer means, and whether it was understood.

        A typed refusal never allows anything, independent of the ids and names of the agent's options.
        """
        key = answer.lower()
        if key in self._wide:
            return True, self._wide[key].answer
        option = self._options.get(key)
        if option is None and typed_no(answer):
            return True, self._question.reject()
        if option is None and key not in _OWN_KEYS and not key.isdecimal():
            option = _named(answer, self._options.values()) or (self._options.get("y") if key == "yes" else None)
        if option is None and not any(each.consent == "allow" for each in self._options.values()):
            # No option can be allowed, so the answer does not matter.
            return True, self._question.reject()
        return option is not None, option


class Questions:
    """The answers of the user at the terminal.

    `shown` returns whether the subject of a question is on the same screen already.
    """

    def __init__(self, terminal: UserTerminal, shown: Callable[[PermissionQuestion], bool]) -> None:
        self._terminal = terminal
        self._shown = shown

    async def permission(self, question: PermissionQuestion) -> PermissionOption | WiderAnswer | None:
        """The option that the user takes; None to dismiss the question."""
        async with self._terminal.floor():
            if not self._shown(question):
                self._terminal.show(question_lines(question, columns=self._terminal.row_columns))
            choices = _Choices(question)
            choices.show(self._terminal)
            while True:
                answer = await self._terminal.read_line(choices.prompt)
                if answer is None:
                    return question.reject()
                if answer.lower() == "v" and choices.can_show_whole:
                    self._terminal.show(whole_lines(question, columns=self._terminal.row_columns))
                    continue
                is_understood, meant = choices.meant(answer)
                if is_understood:
                    return meant
                self._terminal.show_line(filled("  one of: {}; then Enter", ", ".join(choices.keys)), "dim")

    async def elicit(self, question: FormQuestion | UrlQuestion) -> ElicitAnswer:
        """The values of a form, or whether the address was visited."""
        async with self._terminal.floor():
            self._terminal.show_line(filled("  the agent asks: {}", prose_line(question.message)), "bold")
            if isinstance(question, FormQuestion):
                return await self._form(question.schema)
            self._terminal.show_line(filled("  {}", question.url), "cyan")
            self._terminal.show_line(filled("  at {}", host_text(question.url)), "yellow")
            answer = await self._terminal.read_line(own("  open it in your browser; done?  [y] yes  [n] no > "))
            return "cancel" if answer is None else answer.lower() in {"y", "yes"}

    async def _form(self, schema: dict[str, Any]) -> ElicitAnswer:
        values: dict[str, Any] = {}
        fields = schema.get("properties")
        required = schema.get("required") or []
        for name, field in (fields if isinstance(fields, dict) else {}).items():
            known = field if isinstance(field, dict) else {}
            while True:
                answer = await self._terminal.read_line(_field_prompt(name, known, needed=name in required))
                if answer is None:
                    return "cancel"
                try:
                    value = _field_value(answer, known, needed=name in required)
                except ValueError as error:
                    self._terminal.show_line(filled("  {}", str(error)), "dim")
                    continue
                if value is not None:
                    values[name] = value
                break
        return values

    async def yes(self, prompt: SafeText) -> bool:
        """A plain yes or no."""
        async with self._terminal.floor():
            answer = await self._terminal.read_line(filled("{}  [y] yes  [n] no > ", prompt))
            return answer is not None and answer.lower() in {"y", "yes"}

    async def choose(self, title: SafeText, choices: Sequence[tuple[str, str]]) -> str | None:
        """One of several, by number or by id."""
        async with self._terminal.floor():
            self._terminal.show_line(title, "bold")
            for number, (id_, name) in enumerate(choices, 1):
                self._terminal.show_line(filled("  [{}] {} ({})", number, name, id_))
            while True:
                answer = await self._terminal.read_line(own("which? > "))
                if answer is None or not answer or typed_no(answer):
                    return None
                for number, (id_, _) in enumerate(choices, 1):
                    if answer in {str(number), id_}:
                        return id_
                self._terminal.show_line(filled("  a number from 1 to {}", len(choices)), "dim")

    def alone(self) -> AbstractAsyncContextManager[None]:
        """Give the terminal to another program while this lasts: no question and no output is shown."""
        return self._terminal.floor()


def _named(answer: str, options: Iterable[PermissionOption]) -> PermissionOption | None:
    """The option whose name or id was typed; ids are not shown, so that none of them is an answer with "always"."""
    typed = answer.lower()
    for option in options:
        if typed and (typed == option.name.lower() or (typed == option.id.lower() and not option.is_lasting)):
            return option
    return None


def _field_prompt(name: str, field: dict[str, Any], *, needed: bool) -> SafeText:
    parts = [exact(str(field.get("title") or name))]
    if isinstance(field.get("description"), str):
        parts.append(filled("({})", prose_line(field["description"])))
    choices = _choices(field)
    if choices:
        parts.append(filled("one of {}", joined(map(exact, choices), own(", "))))
    elif field.get("type") == "boolean":
        parts.append(own("yes or no"))
    if "default" in field:
        parts.append(filled("[{}]", json_text(field["default"])))
    elif not needed:
        parts.append(own("[leave out]"))
    # Marked as the agent's words: they must not look like a question of ours.
    return filled("  | {} > ", joined(parts, own(" ")))


def _choices(field: dict[str, Any]) -> list[str]:
    listed = field.get("enum")
    if isinstance(listed, list):
        return [str(each) for each in listed]
    return [str(each["const"]) for each in field.get("oneOf") or () if isinstance(each, dict) and "const" in each]


def _field_value(answer: str, field: dict[str, Any], *, needed: bool) -> Any:
    """The value that was typed; None to leave the field out.

    Raises:
        ValueError: The text is no valid value.
    """
    if not answer:
        if "default" in field:
            return field["default"]
        if needed:
            raise ValueError("this one is needed")
        return None
    choices = _choices(field)
    if field.get("type") == "array":
        return [each.strip() for each in answer.split(",") if each.strip()]
    if choices and answer not in choices:
        raise ValueError(f"one of {', '.join(choices)}")
    return _READERS.get(str(field.get("type")), str)(answer)


def _yes_or_no(answer: str) -> bool:
    if answer.lower() not in {"y", "yes", "true", "n", "no", "false"}:
        raise ValueError("yes or no")
    return answer.lower() in {"y", "yes", "true"}


_READERS: dict[str, Callable[[str], Any]] = {"boolean": _yes_or_no, "integer": int, "number": float}

LogIn: TypeAlias = Callable[[ConnectedAgent], Awaitable[bool]]
"""Logs the user in; False where the user declines, or the agent offers no method."""


def ways_at_terminal(questions: Questions, typed: str) -> LogIn:
    """Ask the user for the login method, also where there is only one: it may open a browser, or cost something.

    `typed` is the agent's form on the command line.
    """

    async def log_in(agent: ConnectedAgent) -> bool:
        ways = {way.id: way for way in agent.auth_methods}
        if not ways:
            return False
        choices = [(way.id, way.name) for way in ways.values()]
        chosen = await questions.choose(own("the agent wants you to log in; Enter alone leaves it:"), choices)
        if chosen is None:
            return False
        with phase("login", typed):
            # A program in the terminal has it to itself; any other login may ask the user something.
            async with questions.alone() if ways[chosen].type == "terminal" else contextlib.nullcontext():
                await agent.login(chosen)
        return True

    return log_in


@contextlib.contextmanager
def naming_ways(agent: ConnectedAgent) -> Iterator[None]:
    """An `AuthRequired` inside names the login methods of the handshake, also where the agent's answer does not."""
    try:
        yield
    except AuthRequired as error:
        if not error.auth_methods and agent.auth_methods:
            ways = [{"id": way.id, "name": way.name} for way in agent.auth_methods]
            error.data = {"reason": "auth_required", "authMethods": ways}
        raise
