"""What an agent asks its user, at the terminal: with the agent's own options, or field by field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from accord.cli.show.asked import asked_commands, facts_of, shown_command
from accord.cli.show.diff import diff_lines
from accord.cli.show.line import Line, Span, clipped, line_of
from accord.cli.show.tool import ABOUT_COLUMNS, about, headline, tool_lines
from accord.cli.terminal import Terminal
from accord.client import FormQuestion, PermissionQuestion, UrlQuestion
from accord.client.question import ElicitAnswer
from accord.display import SafeText, exact, filled, joined, json_text, own, prose, prose_line, safe_lines
from accord.session.option import PermissionOption, means_no
from accord.session.tool import Diff

__all__ = ["Questions", "fact_lines", "keys_of", "subject_lines"]

KEYS = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "d"}
TAKEN = frozenset({"v"})
TITLE_CHARACTERS = 400


def keys_of(options: Sequence[PermissionOption]) -> dict[str, PermissionOption]:
    """A key for each option: a letter for the kinds that everybody knows, a number for the rest."""
    keys: dict[str, PermissionOption] = {}
    for number, option in enumerate(options, 1):
        letter = KEYS.get(option.kind, "")
        keys[letter if letter and letter not in keys else str(number)] = option
    return keys


def subject_lines(question: PermissionQuestion) -> list[Line]:
    """What a question is about."""
    lines: list[Line] = []
    cwd, tool = question.session.cwd, question.tool
    if tool is not None:
        if not asked_commands(question):
            lines.append(headline(tool, cwd))
        lines += tool_lines(tool, question.session.transcript.terminals)
    lines += fact_lines(question)
    if question.description:
        lines += [line_of(own("    "), line) for line in safe_lines(prose(question.description))]
    return lines


def fact_lines(question: PermissionQuestion) -> list[Line]:
    """The facts of a question that the line of its call does not show; what the agent calls it stands apart."""
    commands = asked_commands(question)
    lines: list[Line] = [
        line_of(own("  "), Span(filled("{:<5}", fact.word), "cyan"), filled(" {}", fact.text))
        for fact in facts_of(question)
    ]
    title = None if question.tool is None else question.tool.title
    if commands and title and question.request is None:
        lines.append(line_of(Span(filled("    the agent calls it: {}", exact(title, 200)), "dim")))
    return lines


def _sentence(question: PermissionQuestion) -> SafeText:
    tool, title = question.tool, exact(question.title, TITLE_CHARACTERS)
    commands = asked_commands(question)
    if commands and question.request is None:
        if len(commands) > 1:
            return filled("allow to run these {} commands?", len(commands))
        return filled("allow to run {}?", clipped(shown_command(commands[0]), ABOUT_COLUMNS))
    if question.command is not None or tool is None:
        return title if title.endswith("?") else filled("allow: {}?", title)
    what = about(tool, question.session.cwd)
    if tool.kind in {"edit", "delete", "read", "move"}:
        words = {"edit": "edit", "delete": "deletion", "read": "reading", "move": "move"}
        return filled("allow the {} of {}?", words[tool.kind], what)
    if tool.kind == "execute":
        return filled("allow to run {}?", what)
    return title if title.endswith("?") else filled("allow: {}?", title)


class Questions:
    """The answers of somebody at the terminal.

    `shown` says whether what a question is about is on the same screen already.
    """

    def __init__(self, terminal: Terminal, shown: Callable[[PermissionQuestion], bool]) -> None:
        self._terminal = terminal
        self._shown = shown

    async def permission(self, question: PermissionQuestion) -> PermissionOption | None:
        """The option that the user takes; None to dismiss the question."""
        async with self._terminal.floor():
            if not self._shown(question):
                self._terminal.show(subject_lines(question))
            keys = keys_of(question.options)
            diffs = [item for item in question.tool.content if isinstance(item, Diff)] if question.tool else []
            offered = [filled("[{}] {}", key, option.name) for key, option in keys.items()]
            if diffs:
                offered.append(own("[v] whole diff"))
            prompt = filled("  {}  {} > ", _sentence(question), joined(offered, own("  ")))
            while True:
                answer = await self._terminal.ask(prompt)
                if answer is None:
                    return question.reject()
                if answer.lower() == "v" and diffs:
                    self._terminal.show(line for diff in diffs for line in diff_lines(diff))
                    continue
                option = keys.get(answer.lower()) or _meant(answer, question.options)
                if means_no(answer) and (option is None or option.consent != "reject"):
                    return question.reject()
                if option is not None:
                    return option
                self._terminal.say(filled("  one of: {}", ", ".join([*keys, *(["v"] if diffs else [])])), "dim")

    async def elicit(self, question: FormQuestion | UrlQuestion) -> ElicitAnswer:
        """What the user fills in, or whether the address was visited."""
        async with self._terminal.floor():
            self._terminal.say(filled("  {}", prose_line(question.message)), "bold")
            if isinstance(question, FormQuestion):
                return await self._form(question.schema)
            self._terminal.say(filled("  {}", question.url), "cyan")
            answer = await self._terminal.ask(own("  open it in your browser; done?  [y] yes  [n] no > "))
            return "cancel" if answer is None else answer.lower() in {"y", "yes"}

    async def _form(self, schema: dict[str, Any]) -> ElicitAnswer:
        values: dict[str, Any] = {}
        fields = schema.get("properties")
        required = schema.get("required") or []
        for name, field in (fields if isinstance(fields, dict) else {}).items():
            known = field if isinstance(field, dict) else {}
            while True:
                answer = await self._terminal.ask(_field_prompt(name, known, needed=name in required))
                if answer is None:
                    return "cancel"
                try:
                    value = _field_value(answer, known, needed=name in required)
                except ValueError as error:
                    self._terminal.say(filled("  {}", str(error)), "dim")
                    continue
                if value is not None:
                    values[name] = value
                break
        return values

    async def yes(self, prompt: SafeText) -> bool:
        """A plain yes or no."""
        async with self._terminal.floor():
            answer = await self._terminal.ask(filled("{}  [y] yes  [n] no > ", prompt))
            return answer is not None and answer.lower() in {"y", "yes"}

    async def choose(self, title: SafeText, choices: Sequence[tuple[str, str]]) -> str | None:
        """One of several, by number or by id."""
        async with self._terminal.floor():
            self._terminal.say(title, "bold")
            for number, (id_, name) in enumerate(choices, 1):
                self._terminal.say(filled("  [{}] {} ({})", number, name, id_))
            while True:
                answer = await self._terminal.ask(own("which? > "))
                if answer is None or not answer:
                    return None
                for number, (id_, _) in enumerate(choices, 1):
                    if answer in {str(number), id_}:
                        return id_
                self._terminal.say(filled("  a number from 1 to {}", len(choices)), "dim")

    def alone(self) -> AbstractAsyncContextManager[None]:
        """While this lasts the terminal is somebody else's: nothing is asked, and nothing is shown."""
        return self._terminal.floor()


def _meant(answer: str, options: Sequence[PermissionOption]) -> PermissionOption | None:
    """The option whose name or id was typed."""
    return next(
        (option for option in options if answer and answer.lower() in {option.id.lower(), option.name.lower()}), None
    )


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
    return filled("  {} > ", joined(parts, own(" ")))


def _choices(field: dict[str, Any]) -> list[str]:
    listed = field.get("enum")
    if isinstance(listed, list):
        return [str(each) for each in listed]
    return [str(each["const"]) for each in field.get("oneOf") or () if isinstance(each, dict) and "const" in each]


def _field_value(answer: str, field: dict[str, Any], *, needed: bool) -> Any:
    """The value that was typed; None to leave the field out.

    Raises:
        ValueError: It cannot be that.
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
