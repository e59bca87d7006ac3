"""The parser of the built-in model: plain requests and slash commands become calls of tools, by fixed rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Action:
    """One call of a tool. A `quiet` one only prepares another; `otherwise` is tried where it fails."""

    tool: str
    label: str
    arguments: dict[str, Any] = field(default_factory=dict)
    quiet: bool = False
    otherwise: Action | None = None


class NotUnderstood(Exception):
    """A part of a request follows no rule; `question` asks the user back, if it was nearly understood."""

    def __init__(self, clause: str, question: str | None = None) -> None:
        super().__init__(clause)
        self.clause = clause
        self.question = question


# --- the rules

_PATH = r"(?:the )?(?:file |folder |directory )?(?P<path>\S+)"
_RULES: list[tuple[str, Callable[[dict[str, str]], list[Action]]]] = []
Maker = Callable[[dict[str, str]], list[Action]]


def _rule(*patterns: str) -> Callable[[Maker], Maker]:
    def register(maker: Maker) -> Maker:
        _RULES.extend((pattern, maker) for pattern in patterns)
        return maker

    return register


@_rule(
    rf"(?:read|show|open|cat|print|display)(?: me)? {_PATH}(?: lines? (?P<first>\d+)(?: ?(?:-|to) ?(?P<last>\d+))?)?",
    rf"(?:read|show|print)(?: me)? lines? (?P<first>\d+)(?: ?(?:-|to) ?(?P<last>\d+))? (?:of|in|from) {_PATH}",
)
def _read(groups: dict[str, str]) -> list[Action]:
    path = groups["path"]
    arguments: dict[str, Any] = {"path": path}
    if groups.get("first"):
        first, last = int(groups["first"]), int(groups.get("last") or groups["first"])
        arguments |= {"line": max(first, 1), "limit": max(last - first + 1, 1)}
    return [Action("read", f"read {path}", arguments)]


@_rule(rf"what(?: is|'s|s) in {_PATH}", rf"what does {_PATH} (?:say|contain)", rf"look (?:at|into) {_PATH}")
def _what_is_in(groups: dict[str, str]) -> list[Action]:
    path = groups["path"]
    (listing,) = _list(groups)
    return [Action("read", f"read {path}", {"path": path}, otherwise=listing)]


@_rule(
    rf"(?:list|ls|tree)(?: (?:all )?(?:the )?files)?(?: (?:in|of|below))?(?: {_PATH})?",
    rf"(?:what|which) files are (?:there|in {_PATH}|here)",
)
def _list(groups: dict[str, str]) -> list[Action]:
    path = groups.get("path") or "."
    return [Action("list", "list the files" if path == "." else f"list {path}", {"path": path})]


@_rule(
    rf"(?:search|find|grep|look)(?: for)? (?P<text>.+?)(?: in {_PATH}(?: folder| directory)?)?",
    r"where is (?P<text>\S+)(?: used| defined)?",
)
def _search(groups: dict[str, str]) -> list[Action]:
    text, path = groups["text"], groups.get("path") or "."
    arguments: dict[str, Any] = {"pattern": text, "path": path}
    expression = re.fullmatch(r"/(.+)/", text)
    if expression is not None:
        arguments |= {"pattern": expression[1], "regex": True}
    return [Action("search", f"search {text}" if path == "." else f"search {text} in {path}", arguments)]


@_rule(
    rf"replace (?:all |every )?(?P<old>.+?) (?:with|by) (?P<new>.*?) in {_PATH}",
    rf"(?:change|rename) (?P<old>.+?) (?:to|into) (?P<new>.*?) in {_PATH}",
    rf"(?:remove|delete) (?P<old>.+?) (?:from|in) {_PATH}",
)
def _replace(groups: dict[str, str]) -> list[Action]:
    path = groups["path"]
    arguments = {"path": path, "old": groups["old"], "new": groups.get("new") or "", "all": True}
    return [Action("read", f"read {path}", {"path": path}, quiet=True), Action("edit", f"edit {path}", arguments)]


@_rule(
    rf"(?:write|save|put) (?P<text>.*?) (?:to|into) {_PATH}",
    rf"(?:write|save)(?: to)? {_PATH}:?\n(?P<text>.*)",
    rf"(?:create|make|write) {_PATH} (?:with|containing)(?: the text)? (?P<text>.*)",
    r"(?:create|make) (?:a |an |the )?(?:new |empty )?file (?P<path>\S+)",
)
def _write(groups: dict[str, str]) -> list[Action]:
    path, text = groups["path"], groups.get("text") or ""
    if text and not text.endswith("\n"):
        text += "\n"
    return [Action("write", f"write {path}", {"path": path, "text": text})]


@_rule(r"(?:run|execute|exec) (?P<command>.+)")
def _run(groups: dict[str, str]) -> list[Action]:
    command = groups["command"]
    if re.match(r"(?:the|my|all|some|it|that|this)\b", command):
        raise NotUnderstood(f"run {command}", "Which command is that? Say for example: run python -m pytest -q")
    return [Action("run", f"run {command}", {"command": command})]


@_rule(r"(?:fetch|get|download) (?:the page )?(?P<url>https?://\S+)")
def _fetch(groups: dict[str, str]) -> list[Action]:
    url = groups["url"]
    return [Action("fetch", f"fetch {url}", {"url": url})]


@_rule(r"(?:make a )?plan:? (?P<steps>.+)")
def _plan(groups: dict[str, str]) -> list[Action]:
    steps = [step.strip() for step in re.split(r"[;\n,]|\band\b", groups["steps"]) if step.strip()]
    return [Action("plan", "plan", {"steps": [{"content": step} for step in steps]})]


_VERBS = (
    "read|show|open|cat|print|display|what|look|list|ls|tree|which|search|find|grep|where|replace|change|rename|remove"
    "|delete|write|save|put|create|make|run|execute|exec|fetch|get|download|plan"
)
_COMPILED = [(re.compile(pattern, re.IGNORECASE | re.DOTALL), maker) for pattern, maker in _RULES]
_POLITE = re.compile(r"(?:(?:please|now|first|also|can you|could you|would you|i want you to)\s+)+", re.IGNORECASE)
# All repetitions are bounded: a long prompt must not take long.
_BREAKS = re.compile(
    rf"(?:\s{{0,4}}[,;.]?\s{{1,4}}(?:and\s{{1,4}})?then\s{{1,4}}|\s{{0,4}};\s{{1,4}}|\.\s{{1,4}}(?=(?:then|{_VERBS})\b)"
    rf"|\s{{0,4}},?\s{{1,4}}and\s{{1,4}}(?=(?:{_VERBS})\b)|\n{{1,4}}(?=(?:please\s{{1,4}})?(?:{_VERBS})\b))",
    re.IGNORECASE,
)
MAX_CLAUSE = 4_000
_HELD = re.compile(
    r"```[^\n]*\n(?P<block>.*?)```|\"(?P<double>[^\"\n]*)\"|(?<!\w)'(?P<single>[^'\n]*)'(?!\w)|`(?P<tick>[^`\n]+)`",
    re.DOTALL,
)
_MARK = re.compile("\x00(\\d+)\x00")


class _Held:
    """Quoted and fenced texts: taken out, so that no rule looks into them, and put back with or without quotes."""

    def __init__(self, text: str) -> None:
        self._quoted: list[tuple[str, str]] = []
        self.text = _HELD.sub(self._take, text.replace("\x00", ""))

    def _take(self, match: re.Match[str]) -> str:
        inner = next((group for group in match.groups() if group is not None), "")
        self._quoted.append((match[0], inner))
        return f"\x00{len(self._quoted) - 1}\x00"

    def whole(self, text: str) -> str:
        """With quotes, as it was written."""
        return _MARK.sub(lambda mark: self._quoted[int(mark[1])][0], text)

    def inner(self, text: str) -> str:
        """Without the quotes, if they are around all of it."""
        mark = _MARK.fullmatch(text)
        return self.whole(text) if mark is None else self._quoted[int(mark[1])][1]


def understand(text: str) -> list[Action]:
    """The actions that a request asks for; none where it asks for nothing.

    Raises:
        NotUnderstood: Some of it follows no rule.
    """
    command = re.match(r"\s*/(\w+)(?:\s+|$)", text)
    if command is not None:
        return _commanded(command[1], text[command.end() :])
    held = _Held(text.strip())
    actions: list[Action] = []
    for clause in _BREAKS.split(held.text):
        wanted = _POLITE.sub("", clause.strip(), count=1) if _POLITE.match(clause.strip()) else clause.strip()
        wanted = wanted.rstrip(" ?!") if wanted.endswith(("?", "!", " ")) else wanted
        if wanted:
            actions += _clause(wanted, held)
    return actions


def _clause(clause: str, held: _Held) -> list[Action]:
    if len(clause) > MAX_CLAUSE:
        raise NotUnderstood(held.whole(clause[:MAX_CLAUSE]))
    for pattern, maker in _COMPILED:
        match = pattern.fullmatch(clause)
        if match is not None:
            groups = {name: value for name, value in match.groupdict().items() if value is not None}
            return maker({name: _put_back(name, value, held) for name, value in groups.items()})
    raise NotUnderstood(held.whole(clause))


def _put_back(name: str, value: str, held: _Held) -> str:
    if name == "command":
        return held.whole(value)  # its quotes say where its words end
    if name == "path":
        value = value.rstrip(".,:;") or value  # the end of a sentence, unless there is nothing else
    return held.inner(value)


# The slash commands whose argument is taken as it is: the question where there is none, and an example.
_EXAMPLES = {
    "run": ("Which command?", "python -m pytest -q"),
    "shell": ("Which line?", "git log --oneline | head -5"),
    "background": ("Which line?", "python -m http.server 8000"),
    "delegate": ("Which task?", "search TODO"),
}


def _with_text(name: str, text: str) -> Action:
    if name == "delegate":
        return Action("delegate", f"delegate {text}", {"task": text})
    if name == "background":
        return Action("shell", f"run {text}", {"command": text, "background": True})
    return Action(name, f"run {text}", {"command": text})


def _commanded(name: str, argument: str) -> list[Action]:
    """A slash command: everything behind it is its argument, and no rule looks for words in it."""
    if name in _EXAMPLES:
        if not argument.strip():
            raise NotUnderstood(f"/{name}", f"{_EXAMPLES[name][0]} Say for example: /{name} {_EXAMPLES[name][1]}")
        return [_with_text(name, argument.strip())]
    if name == "write":
        path, _, rest = argument.partition("\n") if "\n" in argument.split(" ", 1)[0] else argument.partition(" ")
        if not path:
            raise NotUnderstood("/write", "Which file? Say for example: /write notes.txt Hello")
        held = _Held(rest)
        return _write({"path": path, "text": held.inner(held.text)})
    if name == "plan":
        return _plan({"steps": argument}) if argument.strip() else []
    held = _Held(argument.strip())
    return _clause(f"{name} {held.text}".strip(), held)
