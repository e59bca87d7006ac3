"""The updates that a client received for one session, in any edition, compared with those after a restart.

The fold is a client's own and knows nothing of ours: what was said in order, what each tool call and terminal shows,
and the newest of what replaces itself. It relies on the marks of `busy_agent`: `[turn.number]`, ascending.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, NamedTuple

MARK = re.compile(r"\[(\d+)\.(\d+)\]")
PIECE = re.compile(r"(\[\d+\.\d+\])([^\[]*)")
OVER = {"completed", "failed", "cancelled"}

Mark = tuple[int, int]


class Piece(NamedTuple):
    speaker: str
    mark: Mark
    rest: str


def mark_of(text: str) -> Mark:
    found = MARK.search(text)
    assert found is not None, f"no mark in {text[:200]!r}"
    return int(found[1]), int(found[2])


class Call:
    """A tool call: the last word on each field, and its items as texts."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.items: list[str] = []

    def change(self, update: dict[str, Any]) -> None:
        if "content" in update:
            self.items = [_item(item) for item in update["content"] or []]
        self.fields.update(
            {name: update[name] for name in ("title", "kind", "rawInput", "rawOutput") if name in update}
        )
        self.fields["status"] = update.get("status", self.fields.get("status"))

    @property
    def status(self) -> str:
        return str(self.fields["status"])

    def has_all_of(self, earlier: Call) -> bool:
        """Whether this is what the earlier one became."""
        for name, value in earlier.fields.items():
            if name == "status" and value not in OVER:
                continue
            if self.fields.get(name) != value:
                return False
        return self._grew_from(earlier.items) or self._began_anew_after(earlier.items)

    def _grew_from(self, items: list[str]) -> bool:
        """Whether each is still there, in order, and begins as it was: a terminal that is shown as text grows."""
        left = iter(self.items)
        return all(any(now.startswith(item) for now in left) for item in items)

    def _began_anew_after(self, items: list[str]) -> bool:
        return bool(self.items) and mark_of(self.items[0]) > mark_of(items[-1])


def _item(item: dict[str, Any]) -> str:
    if item["type"] == "content" and item["content"]["type"] == "text":
        return str(item["content"]["text"])
    return json.dumps(item, sort_keys=True)


class Received:
    """One session. Feed it updates."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.calls: dict[str, Call] = {}
        self.screens: dict[str, bytes] = {}
        self.exits: dict[str, Any] = {}
        self.newest: dict[str, tuple[Mark, Any]] = {}
        """The plan, the title and the usage: what was told of each last."""
        self.turns: set[int] = set()
        """Those that the agent has shown to know of: their prompts must be there."""
        self.state: str | None = None
        self.updates = 0

    def hear(self, update: dict[str, Any]) -> None:
        self.updates += 1
        kind = update["sessionUpdate"]
        if kind.endswith(("_message", "_message_chunk", "_thought", "_thought_chunk")):
            self._hear_message(kind.split("_")[1 if "thought" in kind else 0], update["content"])
        elif kind.startswith("tool_call"):
            self._hear_call(kind, update)
        elif kind.startswith("terminal"):
            self._hear_terminal(kind, update)
        elif kind in {"plan", "plan_update"}:
            entries = update.get("entries") or update["plan"]["entries"]
            self._renew("plan", mark_of(entries[0]["content"]), entries)
        elif kind == "usage_update":
            self._renew("usage", divmod(update["used"], 1_000_000), update.get("cost"))
        elif kind == "session_info_update" and update.get("title"):
            self._renew("title", mark_of(update["title"]), update["title"])
        elif kind == "state_update":
            self.state = update["state"]

    def _hear_message(self, speaker: str, content: Any) -> None:
        for block in content if isinstance(content, list) else [content]:
            if block["type"] != "text":
                self._say(Piece(speaker, mark_of(block["name"]), json.dumps(block, sort_keys=True)))
                continue
            text = block["text"]
            assert MARK.match(text), f"a message begins with {text[:200]!r}"
            for found in PIECE.finditer(text):
                self._say(Piece(speaker, mark_of(found[1]), found[2]))

    def _say(self, piece: Piece) -> None:
        self.pieces.append(piece)
        self.turns.add(piece.mark[0])

    def _hear_call(self, kind: str, update: dict[str, Any]) -> None:
        call = self.calls.setdefault(update["toolCallId"], Call())
        if kind == "tool_call_content_chunk":
            call.items.append(_item(update["content"]))
        else:
            call.change(update)

    def _hear_terminal(self, kind: str, update: dict[str, Any]) -> None:
        name = update["terminalId"]
        screen = self.screens.setdefault(name, b"")
        if kind == "terminal_output_chunk":
            self.screens[name] = screen + base64.b64decode(update["data"])
        elif "output" in update:
            self.screens[name] = base64.b64decode(update["output"]["data"])
        if "exitStatus" in update:
            self.exits[name] = update["exitStatus"]

    def _renew(self, what: str, mark: Mark, value: Any) -> None:
        self.newest[what] = (mark, value)

    # --- after a restart

    def check_replay(self, earlier: Received) -> None:
        """See that this, told after a restart, has everything that was received before, in order."""
        said = [piece for piece in self.pieces if piece.speaker != "user"]
        said_before = [piece for piece in earlier.pieces if piece.speaker != "user"]
        assert len(said) >= len(said_before), f"{len(said_before)} pieces became {len(said)}"
        for now, before in zip(said, said_before, strict=False):
            assert now == before, f"{before} was received, {now} stands in its place"
        self._check_turns(earlier.turns)
        self._check_calls(earlier.calls)
        for name, screen in earlier.screens.items():
            assert self.screens[name].startswith(screen), f"the output of {name} is not what was received"
        for name, ended in earlier.exits.items():
            assert self.exits[name] == ended
        assert self.exits.keys() == self.screens.keys(), "a command still runs although its agent was killed"
        for what, (mark, value) in earlier.newest.items():
            mark_now, value_now = self.newest[what]
            assert mark_now >= mark, f"the {what} fell back from {mark} to {mark_now}"
            assert mark_now > mark or value_now == value
        assert self.state in {None, "idle"}

    def _check_turns(self, earlier: set[int]) -> None:
        prompts = [piece.mark[0] for piece in self.pieces if piece.speaker == "user"]
        assert prompts == sorted(set(prompts)), "the prompts are out of order"
        assert earlier <= set(prompts), f"the prompts of the turns {earlier - set(prompts)} are gone"
        current = None
        for piece in self.pieces:
            if piece.speaker == "user":
                current = piece.mark[0]
            assert piece.mark[0] == current, f"{piece} stands in turn {current}"

    def _check_calls(self, earlier: dict[str, Call]) -> None:
        assert list(self.calls)[: len(earlier)] == list(earlier), "the tool calls are out of order"
        for name, call in earlier.items():
            now = self.calls[name]
            assert now.has_all_of(call), f"{name}: {call.fields} {call.items} became {now.fields} {now.items}"
        for name, call in self.calls.items():
            assert call.status in OVER, f"{name} is {call.status} although nobody works on it"
