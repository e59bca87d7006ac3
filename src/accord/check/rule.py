"""Rules, one row for each with a tier for every edition that has it, and the options of a check, which select them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from accord.time_scale import scaled

EditionName: TypeAlias = Literal["v1", "v2_june", "v2"]
"""The name of an edition."""
Tier: TypeAlias = Literal["mandatory", "capability", "advisory", "informational"]
"""The weight of a failure."""
Side: TypeAlias = Literal["agent", "client", "both"]
"""The side that has to keep a rule."""
EDITIONS: tuple[EditionName, ...] = ("v1", "v2_june", "v2")
V1, JUNE, V2 = ((edition,) for edition in EDITIONS)
V1_JUNE, JUNE_V2 = EDITIONS[:2], EDITIONS[1:]
V1_V2: tuple[EditionName, ...] = ("v1", "v2")
VERSIONS: dict[EditionName, int] = {"v1": 1, "v2_june": 2, "v2": 2}
"""The protocol version in the handshake of each edition."""
FAR_FUTURE = 65535
"""The largest number that can stand for a version."""


@dataclass(frozen=True, slots=True)
class CheckRule:
    """A rule in one edition; an id means the same in every edition that has it."""

    edition: EditionName
    id: str
    tier: Tier
    says: str
    """The rule in one sentence."""
    page: str
    """The source in the specification: a page of its site, or a pointer into the schema."""
    side: Side = "agent"
    """The side that has to keep it."""
    gate: str = ""
    """The capability it needs: a path into the results of `initialize` and `session/new`, or "" for none."""
    superseded: str = ""
    """The reason why the edition's own text overrules it; then it is reported and never judged."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Rules that necessarily fail together."""

    edition: EditionName
    root: str
    """The rule that names the cause."""
    says: str
    """The cause, in one sentence."""
    also: tuple[str, ...]
    """The ids of the rules that fail with it."""

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all of these rules."""
        return frozenset((self.root, *self.also))


# --- rows

Texts: TypeAlias = str | tuple[str, str, str]
"""One text for all editions, or one for each of v1, June and v2."""
_TIERS: dict[str, Tier] = {"M": "mandatory", "C": "capability", "A": "advisory", "I": "informational"}
_SCHEMAS: dict[EditionName, str] = {"v1": "schema/v1", "v2_june": "schema/v2-june", "v2": "schema/v2"}
NO_BATCHES = "November's v2 has no batches: any array gets one error -32600 without an id, and nothing in it is done"


class RuleRow(NamedTuple):
    """One rule in all editions."""

    id: str
    tiers: str
    """A letter each for v1, June and v2: mandatory, capability, advisory, informational; `-` has no such rule."""
    page: Texts
    """A page of the specification; with `#` a type of the schema; `rfds/…` or an address as it is."""
    says: Texts
    gate: Texts = ""
    """A capability, or a path that begins with `initialize.` or `new.`; see `CheckRule.gate`."""
    superseded: str = ""
    """See `CheckRule.superseded`; in v2."""


def agent_rules(*rows: RuleRow) -> tuple[CheckRule, ...]:
    """The rules of rows that agents have to keep."""
    return tuple(rule for row in rows for rule in _rules(row, "agent"))


def client_rules(*rows: RuleRow) -> tuple[CheckRule, ...]:
    """The rules of rows that clients have to keep."""
    return tuple(rule for row in rows for rule in _rules(row, "client"))


def _rules(row: RuleRow, side: Side) -> list[CheckRule]:
    rules = []
    for place, (edition, letter) in enumerate(zip(EDITIONS, row.tiers, strict=True)):
        if letter != "-":
            page, says, word = (
                each if isinstance(each, str) else each[place] for each in (row.page, row.says, row.gate)
            )
            path = gate(word)[edition] if side == "agent" else _offer(edition, word)
            superseded = row.superseded if edition == "v2" else ""
            rules.append(CheckRule(edition, row.id, _TIERS[letter], says, _page(edition, page), side, path, superseded))
    return rules


def _page(edition: EditionName, page: str) -> str:
    if page.startswith(("https://", "rfds/")):
        return page
    if page.startswith("#"):
        return f"{_SCHEMAS[edition]}#/$defs/{page[1:]}"
    if edition == "v2" and page == "prompt-turn":
        page = "prompt-lifecycle"
    return f"protocol/{'v1' if edition == 'v1' else 'v2'}/{page}"


# --- capabilities

_V1 = "initialize.agentCapabilities."
_V2 = "initialize.capabilities."
_SESSION = f"{_V2}session"
SESSIONS: dict[EditionName, str] = {"v1": "", "v2_june": _SESSION, "v2": _SESSION}
"""The capability for sessions; in v1 every agent has them."""
_V1_PATHS = {"load": "loadSession", "stdio": "", "http": "mcpCapabilities.http"}
_V1_PATHS |= {word: f"promptCapabilities.{word}" for word in ("image", "audio", "embeddedContext")}
_V2_PATHS = {word: f"prompt.{word}" for word in ("image", "audio", "embeddedContext")}
_V2_PATHS |= {"stdio": "mcp.stdio", "http": "mcp.http"}
_BASELINE_OF_V2 = ("list", "resume", "close")


def gate(word: str) -> dict[EditionName, str]:
    """The path of an agent's capability in each edition; "" where every agent has it."""
    if not word or word.startswith(("initialize.", "new.")):
        return dict.fromkeys(EDITIONS, word)
    if word == "session":
        return SESSIONS
    if word == "logout":
        return {"v1": f"{_V1}auth.logout", "v2_june": f"{_V2}auth.logout", "v2": f"{_V2}auth.logout"}
    v1, v2 = _V1_PATHS.get(word, f"sessionCapabilities.{word}"), f"{_SESSION}.{_V2_PATHS.get(word, word)}"
    return {"v1": _V1 + v1 if v1 else "", "v2_june": v2, "v2": _SESSION if word in _BASELINE_OF_V2 else v2}


def _offer(edition: EditionName, word: str) -> str:
    key = "clientCapabilities" if edition == "v1" else "capabilities"
    return word and f"initialize.{key}.{word}"


# --- options

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
