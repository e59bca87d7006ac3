"""What the fake model of every framework does, in words of no framework: the steps that follow from the conversation.

A framework's test module translates `steps` into its own fake model, and offers the tools of the same names.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["Call", "Say", "Step", "Think", "steps"]

QUESTION = {"question": "Approve this action?", "details": {"sql": "DROP TABLE users"}}
"""The value with which the tool `drop_table` asks, in the form of LangGraph's own example."""
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


@dataclass(frozen=True)
class Think:
    text: str


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Call:
    """A call of a tool by the model."""

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


Step: TypeAlias = Think | Say | Call


def steps(prompts: Sequence[str], results: Sequence[str], media: Sequence[str] = ()) -> list[Step]:
    """What the model answers.

    `prompts` are the texts of all the user's messages, `results` those of the tools since the last of them, `media` the
    MIME types of what came with it.
    """
    prompt, number = prompts[-1], len(prompts)
    if results:
        return [Say(f"Done: {' | '.join(results)}")]
    calls = {
        "delete": [Call(f"call_{number}", "delete_file", {"path": "old.txt"})],
        "fail": [Call(f"call_{number}", "fail")],
        "write": [Call(f"call_{number}", "write_file", {"path": "a.txt", "content": "after"})],
        "sleep": [Call(f"call_{number}", "sleep")],
        "block": [Call(f"call_{number}", "block")],
        **{
            f"{name} {how}": [Call(f"call_{number}", name, {"how": how})]
            for name in ("leave", "leave_later")
            for how in ("exit", "interrupt", "panic")
        },
        "raise": [Call(f"call_{number}", "raise_error")],
        "read": [Call(f"call_{number}", "read_file", {"path": "a.txt"})],
        "both": [
            Call(f"first_{number}", "read_file", {"path": "a.txt"}),
            Call(f"second_{number}", "delete_file", {"path": "old.txt"}),
        ],
        "plan": [
            Call(f"call_{number}", "write_todos", {"todos": [{"content": "one", "status": "in_progress"}]}),
        ],
        "drop": [Call(f"call_{number}", "drop_table", {"table": "users"})],
        "draw": [Call(f"call_{number}", "draw")],
        "mcp": [Call(f"call_{number}", "mcp_add", {"a": 2, "b": 3})],
        "same id": [Call("call_1", "read_file", {"path": "a.txt"})],
    }
    if prompt in calls:
        return [Think("It wants something. "), Say("I do it."), *calls[prompt]]
    if prompt == "remember":
        return [Say(" / ".join(prompts))]
    if prompt == "media":
        return [Say(f"got {' '.join(media)}")]
    return [Think("Somebody "), Think("is there."), Say("Hello "), Say("there.")]
