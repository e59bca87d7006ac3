"""The options of a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from accord.check.rule import EditionName
from accord.time_scale import scaled

PROMPT = "Reply with the single word: hello"
CANCEL_PROMPT = "Count slowly from 1 to 5000, one number per line, without using any tools."
"""A prompt that should keep an agent busy for longer than a cancellation takes to arrive."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a check; no option changes a rule."""

    edition: EditionName = "v1"
    only: tuple[str, ...] = ()
    """Ids, or beginnings of ids; empty for all rules."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    cwd: str = ""
    """The directory of its sessions; empty for a temporary folder. The program starts in the current directory."""
    prompt: str = PROMPT
    tool_prompt: str = ""
    """A prompt that makes the agent use a tool that needs permission; empty: `prompt`."""
    cancel_prompt: str = CANCEL_PROMPT
    auth_method: str = ""
    """The login method to use before sessions are created."""
    allow_logout: bool = False
    """Whether the check may log out."""
    touch_model: bool = False
    """Whether the model may be changed, and set back."""
    touch_permission: bool = False
    """Whether modes and options that may loosen permission may be changed, and set back."""
    timeout_seconds: float = scaled(30.0)
    """The time limit for an answer."""
    turn_seconds: float = scaled(120.0)
    """The time limit for the end of a turn."""
    start_seconds: float = scaled(30.0)
    """The time limit for the answer to the handshake of a program that has just been started."""
    grace_seconds: float = scaled(5.0)
    """The time limit for the end of the program after its stdin was closed."""
    quiet_seconds: float = scaled(0.5)
    """The time limit for the end of a short turn that has begun."""
    silence_seconds: float = scaled(30.0)
    """The time limit for a sign of life on a stream on which nothing is said; 0: such streams are not judged."""
    jobs: int = 2
    """How many processes run at once."""
