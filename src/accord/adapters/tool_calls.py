"""The tool calls of one turn by the framework's own ids: announced once, never going back, always ended.

Frameworks report a call in pieces and in any order: its name, its arguments, that it needs approval, that its body
begins, its result. Each of those is one method here, and each may come again or come first.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from accord.adapters.history import AdapterState
from accord.adapters.prompt_parts import Media
from accord.adapters.tool_description import decoded, kind_of, paths_of, proposed_change, title_of
from accord.agent import McpResult, Session, Showable, Tool, Turn
from accord.agent.question import decision
from accord.errors import LocalProtocolError, RequestError
from accord.json_values import JsonValue
from accord.jsonrpc.plain import plain, plain_text
from accord.protocol.model import UNSET
from accord.session.content import Audio, Block, Image, Link, Resource, Text, block_text
from accord.session.entry import ToolCall
from accord.session.option import PermissionOption
from accord.session.tool import ToolKind
from accord.workspace.errors import NoSuchFile, WorkspaceError

__all__ = ["ToolCalls", "json_text", "media_block", "result_content", "text_of"]


BLOCKS = (Text, Image, Audio, Link, Resource)


def json_text(value: Any) -> str:
    """Any value as readable JSON; a value without a form in JSON is replaced by the name of its type."""
    return json.dumps(json_value(value), ensure_ascii=False, indent=2)


def json_value(value: Any) -> Any:
    """Any value as plain JSON; a value without a form in JSON is replaced by the name of its type."""
    try:
        return plain(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    # Only the parts that are no JSON lose their form.
    if isinstance(value, dict):
        return {str(key): json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_value(inner) for inner in value]
    return f"[{type(value).__name__}]"


def media_block(data: str | bytes, mime_type: str, uri: str = "") -> Block:
    """A picture, a recording or any other bytes as a block."""
    text = base64.b64encode(data).decode("ascii") if isinstance(data, bytes) else plain_text(data)
    match Media(text, mime_type).kind:
        case "image":
            return Image(text, mime_type)
        case "audio":
            return Audio(text, mime_type)
        case _:
            return Resource(uri or "data:", blob=text, mime_type=mime_type)


def result_content(value: Any) -> list[Showable]:
    """The content that shows a result: text as text, blocks unchanged, any other value as JSON."""
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return [plain_text(value)]
    if isinstance(value, BLOCKS):
        return [value]
    if isinstance(value, McpResult):
        return list(value.content) or ([] if value.structured is None else [json_text(value.structured)])
    if isinstance(value, Media):
        return [media_block(value.data, value.mime_type)]
    if isinstance(value, list | tuple) and any(isinstance(item, (*BLOCKS, Media)) for item in value):
        return [shown for item in value for shown in result_content(item)]
    return [json_text(value)]


def text_of(blocks: list[Block], structured: Any = None) -> str:
    """Blocks as a text for models that take only text."""
    texts = [text for block in blocks if (text := block_text(block) or _media_label(block))]
    if not texts and structured is not None:
        return json_text(structured)
    return "\n".join(texts)


def _media_label(block: Block) -> str:
    return f"[{block.mime_type}]" if isinstance(block, Image | Audio) else ""


# --- calls

OPTIONS = (
    PermissionOption("allow", "Allow once", "allow_once"),
    PermissionOption("allow-always", "Always allow exactly this in this session", "allow_always"),
    PermissionOption("reject", "Reject", "reject_once"),
)

_ids_in_use: WeakKeyDictionary[Session, set[str]] = WeakKeyDictionary()
"""The ids of the tool calls of the sessions that are open here."""


class ToolCalls:
    """The calls of one turn. Made by `FrameworkRun`.

    `place` turns a path of the framework into one for Accord, for agents with a virtual root; relative paths start at
    the session's directory in any case.
    """

    def __init__(self, turn: Turn, state: AdapterState, place: Callable[[str], str] = plain_text) -> None:
        self._turn = turn
        self._state = state
        self._place = place
        self._tools: dict[str, Tool] = {}
        self._names: dict[str, str] = {}
        self._arguments: dict[str, Any] = {}

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._tools

    def get(self, call_id: str) -> Tool | None:
        """The call of an id; None if it was not announced."""
        return self._tools.get(call_id)

    @property
    def open(self) -> list[str]:
        """The ids of the calls without an end, in the order in which they were announced."""
        return [call_id for call_id, tool in self._tools.items() if not tool.finished]

    def find(self, name: str, arguments: JsonValue) -> str | None:
        """The id of the first open call with this name and these arguments, for frameworks that ask without an id."""
        wanted = json_value(arguments)
        for call_id in self.open:
            if self._names[call_id] == name and self._arguments[call_id] == wanted:
                return call_id
        return None

    async def announce(
        self,
        call_id: str,
        name: str,
        arguments: JsonValue = None,
        *,
        title: str | None = None,
        kind: ToolKind | None = None,
        annotations: Mapping[str, Any] | None = None,
    ) -> Tool:
        """Show the call as `pending`, with its kind, its files and the change that it would make.

        `arguments` may be JSON as text. The second time only arguments count that were not known before; where the
        call has ended, another name or other arguments are another call. `annotations` are those of an MCP tool.
        """
        name = plain_text(name)
        given = json_value(decoded(arguments))
        known = self._tools.get(call_id)
        if known is not None and not (known.finished and self._is_other(call_id, name, given)):
            if given is not None and given != self._arguments[call_id] and not known.finished:
                await self._change_arguments(call_id, known, given)
            return known
        kind = kind or kind_of(name, annotations)
        tool = self._turn.tool(
            title or title_of(name, given),
            kind=kind,
            status="pending",
            name=name,
            input=UNSET if given is None else given,
            locations=[self._place(path) for path in paths_of(given)],
            id=await self._unused(plain_text(call_id)),
        )
        self._tools[call_id], self._names[call_id], self._arguments[call_id] = tool, name, given
        await tool.start()
        await self._show_change(tool, given)
        return tool

    def _is_other(self, call_id: str, name: str, given: Any) -> bool:
        """Whether an id that the model used before stands for another call: some models count from 1 in each answer.

        Permission for the first call is none for the second.
        """
        return bool(given) and (name, given) != (self._names[call_id], self._arguments[call_id])

    async def _change_arguments(self, call_id: str, tool: Tool, given: Any) -> None:
        self._arguments[call_id] = given
        await tool.update(title=title_of(self._names[call_id], given), input=given)
        places = [self._place(path) for path in paths_of(given)]
        if places:
            await tool.locate(*places)
        await self._show_change(tool, given)

    async def _unused(self, call_id: str) -> str:
        """The id itself, unless the session has a call with it: models without a provider count from 1 in each turn."""
        session = self._turn.session
        used = _ids_in_use.get(session)
        if used is None:
            used = _ids_in_use[session] = await self._kept_ids()
        unused, number = call_id, 2
        while unused in used:
            unused, number = f"{call_id}-{number}", number + 1
        used.add(unused)
        return unused

    async def _kept_ids(self) -> set[str]:
        if self._state.history is None:
            return set()
        try:
            transcript = await self._turn.history()
        except LocalProtocolError:
            return set()
        return {entry.id for entry in transcript.timeline if isinstance(entry, ToolCall)}

    async def _show_change(self, tool: Tool, arguments: Any) -> None:
        change = proposed_change(tool.kind, arguments)
        if change is None or any(getattr(item, "changes", None) for item in tool.content):
            return
        path = self._place(change.path)
        old = change.old
        if change.is_whole:
            try:
                # Without it the diff would claim that the file is new.
                old = await self._turn.files.read(path)
            except NoSuchFile:
                old = None
            except (WorkspaceError, RequestError):
                return
        await tool.diff(path, old, change.new)

    async def begin(self, call_id: str) -> None:
        """The body of the tool begins: the call is `in_progress`, unless it has ended."""
        tool = self._tools.get(call_id)
        if tool is not None and tool.status == "pending":
            await tool.update(status="in_progress")

    async def complete(self, call_id: str, result: object = None, *, name: str = "tool") -> None:
        """The tool returned. The result is shown as content; `name` is for a call that was never announced.

        A result of an MCP server may say that the tool failed.
        """
        is_error = isinstance(result, McpResult) and result.is_error
        tool = await self.announce(call_id, name)
        await (tool.fail if is_error else tool.complete)(*self._new_content(tool, result))

    async def fail(self, call_id: str, result: object = None, *, name: str = "tool") -> None:
        """The tool raised, or its result says that it failed."""
        tool = await self.announce(call_id, name)
        await tool.fail(*self._new_content(tool, result))

    async def cancel(self, call_id: str) -> None:
        """The user refused the call, or it was given up."""
        tool = self._tools.get(call_id)
        if tool is not None:
            await tool.cancel()

    @staticmethod
    def _new_content(tool: Tool, result: Any) -> list[Any]:
        return [] if tool.finished else result_content(result)

    @decision
    async def request_permission(
        self, call_id: str, *, title: str | None = None, description: str | None = None
    ) -> bool:
        """Ask the user about this very call; a call that is refused is cancelled.

        An answer that is meant for the whole session holds for a call with the same name and arguments.

        Raises:
            KeyError: The call was not announced.
        """
        tool = self._tools[call_id]
        digest = self._digest(call_id)
        if digest in self._state.allowed:
            return True
        permission = await self._turn.request_permission(tool, options=OPTIONS, title=title, description=description)
        if not permission:
            await tool.cancel()
        elif permission.always:
            self._state.allowed.append(digest)
        return permission.allowed

    def _digest(self, call_id: str) -> str:
        exact = json.dumps([self._names[call_id], self._arguments[call_id]], sort_keys=True)
        return hashlib.sha256(exact.encode()).hexdigest()
