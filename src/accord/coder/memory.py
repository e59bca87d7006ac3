"""The memory of a session: the messages of its model, kept beside the conversation as the agent's own state.

The user's prompts become such messages here (`message_of`). A turn is kept while it runs, so that a crash loses nothing
of it. A turn that broke off is completed (`break_off`) into a form that every provider accepts: each call has a result,
and the user's next message follows a reply.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from accord.agent import Session
from accord.agent.session_paths import name_of_uri
from accord.coder.file_changes import ChangeLog
from accord.coder.model import Message, ModelReply, Picture, ToolResult, ToolResults, UserMessage, estimated_tokens
from accord.session.content import Block, Image, Link, Resource, Text
from accord.session.entry import Entry, Message as SessionMessage
from accord.session.remembered import RememberedAnswer

log = logging.getLogger("accord.coder")

SUMMARY = "What was said before, in short:\n\n"
SUMMARY_MESSAGES = 2
"""A summary, and the reply to it."""
SHORT_RESULT = 400
SHORT_REQUEST = 4_000
STOPPED = "[The user stopped the turn here.]"
FAILED = "[The turn ended here, because the agent failed.]"
LOST = "[The agent's process ended here, in the middle of the turn.]"


class Memory(msgspec.Struct, omit_defaults=True):
    """The messages, the user's remembered answers, and the tokens and the cost so far."""

    messages: list[UserMessage | ModelReply | ToolResults] = []
    answers: list[RememberedAnswer] = []
    """The user's answers for the whole session."""
    counted_tokens: int = 0
    """The provider's token count, for the first `counted` messages with all that was sent beside them."""
    counted: int = 0
    cost: float = 0.0
    priced: bool = False
    open_prompt: str | None = None
    """The id of the user's message whose turn runs; found after a restart, that turn broke off."""
    last_prompt: str | None = None
    """The id of the user's message whose turn ended last."""
    changes: ChangeLog = msgspec.field(default_factory=ChangeLog)
    """The changes of files that turns made, for `/undo`."""

    @property
    def tokens(self) -> int:
        """How full the context is: counted as far as possible, then estimated."""
        return self.counted_tokens + estimated_tokens(*self.messages[self.counted :])

    @property
    def last_text(self) -> str:
        """The text of the last message, where that is a reply."""
        last = self.messages[-1] if self.messages else None
        return last.text if isinstance(last, ModelReply) else ""

    def add(self, *messages: Message) -> None:
        self.messages.extend(messages)

    def begin(self, message: UserMessage, prompt_id: str) -> None:
        """A turn begins with this message of the user."""
        self.messages.append(message)
        self.open_prompt = prompt_id

    def end(self) -> None:
        """The turn is over, and its messages are complete."""
        self.last_prompt, self.open_prompt = self.open_prompt, None

    def add_result(self, result: ToolResult) -> None:
        """The result of the next call of the last reply."""
        last = self.messages[-1]
        if isinstance(last, ToolResults):
            last.results.append(result)
        else:
            self.messages.append(ToolResults([result]))

    def break_off(self, note: str, said: str = "") -> None:
        """Complete a turn that broke off: results for the calls that have none, then what was said, and a note."""
        self.answer_open_calls(note)
        self.set_reply("\n\n".join(text for text in (self.last_text, said, note) if text.strip()))

    def set_reply(self, text: str) -> None:
        """Let this be the reply to the last message, in the place of one that was there already."""
        if self.messages and isinstance(self.messages[-1], ModelReply):
            self.messages.pop()
        self.add(ModelReply(text))

    def answer_open_calls(self, text: str) -> None:
        """Give each call of the last reply that has no result this one."""
        last = self.messages[-1] if self.messages else None
        results = last.results if isinstance(last, ToolResults) else []
        reply = self.messages[-2] if isinstance(last, ToolResults) and len(self.messages) > 1 else last
        if isinstance(reply, ModelReply):
            for use in reply.calls[len(results) :]:
                self.add_result(ToolResult(use.id, use.name, text, failed=True))

    def count(self, tokens: int) -> None:
        """Set a provider's count for all messages that are here now."""
        self.counted_tokens, self.counted = tokens, len(self.messages)

    def pay(self, cost: float | None) -> None:
        """Add the price of a request, if it is known."""
        if cost is not None:
            self.cost += cost
            self.priced = True

    def forget_from(self, place: int) -> None:
        del self.messages[place:]
        if self.counted > place:
            self.counted_tokens = self.counted = 0

    def summarise(self, before: int, summary: str) -> int:
        """Keep a summary instead of the messages before a place; returns the new number of that place."""
        self.messages[:before] = [UserMessage(SUMMARY + summary), ModelReply("Understood.")]
        self.counted_tokens = self.counted = 0
        return SUMMARY_MESSAGES

    def is_summary_at(self, place: int) -> bool:
        """Whether there is nothing but a summary before a place."""
        first = self.messages[0] if self.messages else None
        return place == SUMMARY_MESSAGES and isinstance(first, UserMessage) and first.text.startswith(SUMMARY)

    def shorten_request(self, place: int) -> None:
        """Keep only the beginning of a message that did not fit, so that the next one fits."""
        message = self.messages[place]
        if isinstance(message, UserMessage):
            text = message.whole
            cut = text if len(text) <= SHORT_REQUEST else f"{text[:SHORT_REQUEST]}\n[cut, to save room]"
            self.messages[place] = UserMessage(cut)
            self.counted_tokens = self.counted = 0

    def shorten_results(self, start: int, tokens: int) -> None:
        """Cut the results of tools from a place on, the oldest first, until no more than so many tokens are left."""
        self.counted_tokens = self.counted = 0
        for place in range(start, len(self.messages) - 1):
            if self.tokens <= tokens:
                return
            message = self.messages[place]
            if isinstance(message, ToolResults):
                self.messages[place] = ToolResults([_shortened(result) for result in message.results])


def _shortened(result: ToolResult) -> ToolResult:
    if len(result.text) <= SHORT_RESULT and not result.pictures:
        return result
    return ToolResult(result.call_id, result.name, f"{result.text[:SHORT_RESULT]}\n[cut, to save room]", result.failed)


def remembered(state: Any) -> Memory:
    """The memory of a session from before; an empty one where there is none that can be read."""
    if state is None:
        return Memory()
    try:
        return msgspec.convert(state, Memory)
    except msgspec.ValidationError as error:
        log.warning("the model's memory of this session cannot be read: %s", error)
        return Memory()


# --- a memory whose process died in a turn


async def recover(session: Session, memory: Memory) -> None:
    """Complete the turn that broke off, and add the requests that the memory does not have."""
    turns = _turns((await session.history()).timeline)
    known = memory.open_prompt or memory.last_prompt
    ids = [prompt.id for prompt, _ in turns]
    # Without a known id either nothing is remembered yet, or the memory was kept without ids.
    last = ids.index(known) if known in ids else len(turns) if memory.messages else -1
    if memory.open_prompt is not None:
        said = turns[last][1] if known in ids else []
        memory.break_off(LOST, _unremembered(memory, said))
        memory.end()
    for prompt, said in turns[last + 1 :]:
        memory.begin(message_of(prompt.content, session.cwd), prompt.id or "")
        memory.break_off(LOST, _unremembered(memory, said))
        memory.end()


def _turns(timeline: Sequence[Entry]) -> list[tuple[SessionMessage, list[str]]]:
    """Each message of the user, and the messages of the agent that follow it."""
    turns: list[tuple[SessionMessage, list[str]]] = []
    for entry in timeline:
        if isinstance(entry, SessionMessage) and entry.speaker == "user":
            turns.append((entry, []))
        elif isinstance(entry, SessionMessage) and entry.speaker == "agent" and turns:
            turns[-1][1].append(entry.text)
    return turns


def _unremembered(memory: Memory, said: Sequence[str]) -> str:
    """The text of a turn that the memory does not have: the beginning of the interrupted answer."""
    known = {message.text for message in memory.messages if isinstance(message, ModelReply)}
    return "\n\n".join(text for text in said if text not in known)


def message_of(blocks: Sequence[Block], cwd: str) -> UserMessage:
    """A prompt as models take it: links and files by name in their place, embedded texts behind the text."""
    texts: list[str] = []
    behind: list[str] = []
    pictures: list[Picture] = []
    for block in blocks:
        match block:
            case Text(text=text):
                texts.append(text)
            case Link(uri=uri):
                texts.append(name_of_uri(uri, cwd))
            case Resource(uri=uri, text=str(text)):
                texts.append(name_of_uri(uri, cwd))
                behind.append(f"{name_of_uri(uri, cwd)}:\n{text}")
            case Image(data=data, mime_type=mime_type):
                pictures.append(Picture(data, mime_type))
            case _:
                continue
    return UserMessage("".join(_spaced(texts)), pictures, "\n\n".join(behind))


def _spaced(texts: Sequence[str]) -> list[str]:
    """Pieces that were not written with a space between them get one."""
    return [
        text if n == 0 or texts[n - 1][-1:].isspace() or text[:1].isspace() else f" {text}"
        for n, text in enumerate(texts)
    ]
