"""Where each edition's agents say what they can do, as paths for gates; no step."""

from __future__ import annotations

from accord.check.case import reached
from accord.check.rule import EditionName
from accord.check.talk import Talk

__all__ = ["SESSIONS", "can", "gate"]

_V1 = "initialize.agentCapabilities."
_SESSION = "initialize.capabilities.session"
SESSIONS: dict[EditionName, str] = {"v2_june": _SESSION, "v2": _SESSION}
"""What has to be advertised for there to be sessions at all; in v1 there always are."""

_JUNE_WORDS = {"embeddedContext": "prompt.embeddedContext", "image": "prompt.image", "audio": "prompt.audio"}
_JUNE_WORDS |= {"stdio": "mcp.stdio", "http": "mcp.http"}
_V1_WORDS = {"load": "loadSession", "stdio": "", "http": "mcpCapabilities.http"}
_V1_WORDS |= {word: f"promptCapabilities.{word}" for word in ("image", "audio", "embeddedContext")}
_BASELINE_OF_V2 = ("list", "resume", "close")


def gate(word: str) -> dict[EditionName, str]:
    """The path of a capability in each edition; "" where every agent has it."""
    v2 = _JUNE_WORDS.get(word, word)
    v1 = _V1_WORDS.get(word, f"sessionCapabilities.{word}")
    return {
        "v1": _V1 + v1 if v1 else "",
        "v2_june": f"{_SESSION}.{v2}",
        "v2": _SESSION if word in _BASELINE_OF_V2 else f"{_SESSION}.{v2}",
    }


def can(talk: Talk, word: str) -> bool:
    """Whether the agent said in this process that it has a capability."""
    path = gate(word)[talk.edition]
    return not path or reached({"initialize": talk.initialized}, path)
