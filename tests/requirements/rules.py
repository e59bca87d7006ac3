"""The rules of the public compatibility kit, each in a sentence of ours, with who has to show it.

Tiers: M must hold; C must hold if the agent advertises `gate`, a path into its answers to `initialize` and
`session/new`; A should hold, and we hold it; I is recorded only. Every id has a test that says so (`shows`), in
`test_v1.py`, `test_v2.py` or `test_june.py`; `test_rules.py` sees to that.

Where the kit and the v2 of November disagree, November's schema decides, and `note` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar

__all__ = ["RULES", "Rule", "Tier", "rules_of", "shows"]

Tier = Literal["M", "C", "A", "I"]
F = TypeVar("F", bound=Callable[..., None])


class Rule(NamedTuple):
    """One row."""

    edition: str
    id: str
    tier: Tier
    says: str
    gate: str = ""
    note: str = ""


_LOAD = "initialize.agentCapabilities.loadSession"
_SESSION = "initialize.agentCapabilities.sessionCapabilities."
_PROMPT = "initialize.agentCapabilities.promptCapabilities."
_METHODS = "initialize.authMethods"
_OPTIONS = "new.configOptions"

_V1: tuple[tuple[str, ...], ...] = (
    ("ACP-TRANSPORT-001", "M", "Every line on stdout is one JSON-RPC 2.0 message, to the very end"),
    ("ACP-TRANSPORT-002", "M", "Everything on stdout is UTF-8"),
    ("ACP-JSONRPC-001", "M", "An answer carries the id of its request, with its type"),
    ("ACP-JSONRPC-002", "M", "An answer has a result or an error and never both; an error has a code and a message"),
    ("ACP-JSONRPC-003", "M", "Nothing answers a notification"),
    ("ACP-JSONRPC-004", "A", "A method that nobody has is answered with -32601"),
    ("ACP-JSONRPC-005", "A", "A bad request leaves the connection working"),
    ("ACP-INIT-001", "M", "The handshake succeeds, in the right shape, with a whole number for a version"),
    ("ACP-INIT-002", "M", "Who asks for version 1 gets it"),
    ("ACP-INIT-003", "M", "Who asks for version 65535 is told a version that exists, not below the one told to v1"),
    ("ACP-INIT-004", "A", "The agent tells its name and its version"),
    ("ACP-SCHEMA-001", "M", "Whatever the agent says in a plain conversation fits the schema"),
    ("ACP-SCHEMA-002", "A", "No params and no result have keys that the schema does not name"),
    ("ACP-SESSION-001", "M", "A session is made in an absolute folder without MCP servers, and has an id"),
    ("ACP-SESSION-002", "M", "Two sessions have two ids"),
    ("ACP-PROMPT-001", "M", "A prompt of text ends with a stop reason that v1 knows"),
    ("ACP-PROMPT-002", "M", "The updates of a turn fit the schema and name the session that was prompted"),
    ("ACP-PROMPT-003", "A", "A prompt may hold a link beside its text"),
    ("ACP-CANCEL-001", "M", "A prompt that is cancelled succeeds with the stop reason cancelled"),
    ("ACP-CANCEL-002", "M", "No update comes behind the answer to a cancelled prompt"),
    ("ACP-LOAD-001", "C", "A session can be loaded", _LOAD),
    ("ACP-LOAD-002", "C", "A loaded session is replayed before the answer and nothing comes behind it", _LOAD),
    ("ACP-LOAD-003", "A", "The answer to a load is an object, also when it has nothing to say", _LOAD),
    ("ACP-RESUME-001", "C", "A session can be resumed without a list of MCP servers", _SESSION + "resume"),
    ("ACP-RESUME-002", "C", "Resuming shows nothing of the history", _SESSION + "resume"),
    ("ACP-LIST-001", "C", "Sessions can be listed", _SESSION + "list"),
    ("ACP-LIST-002", "C", "A folder without sessions has an empty list", _SESSION + "list"),
    ("ACP-DELETE-001", "C", "A session can be deleted", _SESSION + "delete"),
    ("ACP-DELETE-002", "A", "Deleting what is not there succeeds", _SESSION + "delete"),
    ("ACP-CLOSE-001", "C", "An idle session can be closed", _SESSION + "close"),
    ("ACP-CLOSE-002", "C", "Closing a session cancels its prompt", _SESSION + "close"),
    ("ACP-ADDDIRS-001", "C", "A session may have a further absolute root", _SESSION + "additionalDirectories"),
    ("ACP-MODES-001", "C", "The current mode is one of those that are offered", "new.modes"),
    ("ACP-MODES-002", "C", "A mode can be set, and an update about it says currentModeId", "new.modes"),
    ("ACP-CONFIG-001", "C", "The value of each option fits its type and its choices", _OPTIONS),
    ("ACP-CONFIG-002", "C", "Setting an option answers with all of them, the new value among them", _OPTIONS),
    ("ACP-CONFIG-003", "M", "A client that did not ask for toggles gets none"),
    ("ACP-PROMPTCAP-001", "C", "A prompt with an image runs to its end", _PROMPT + "image"),
    ("ACP-PROMPTCAP-002", "C", "A prompt with a recording runs to its end", _PROMPT + "audio"),
    ("ACP-PROMPTCAP-003", "C", "A prompt with an embedded resource runs to its end", _PROMPT + "embeddedContext"),
    ("ACP-AUTH-001", "A", "No two ways to log in have the same id"),
    ("ACP-AUTH-002", "M", "A client that cannot log in by a terminal is not offered that"),
    ("ACP-AUTH-003", "C", "After a login that succeeded sessions can be made", _METHODS),
    ("ACP-AUTH-004", "C", "Logging out succeeds", "initialize.agentCapabilities.auth.logout"),
    ("ACP-AUTH-005", "A", "An agent without a way to log in never asks for a login"),
    ("ACP-CLIENTCAP-001", "M", "A client that offers no files is not asked for any"),
    ("ACP-CLIENTCAP-002", "M", "A client that offers no terminals is not asked for any"),
    ("ACP-CLIENTCAP-003", "M", "A client that offers no forms is not asked to fill one in"),
    ("ACP-EXT-001", "M", "An extension request that nobody knows is answered all the same"),
    ("ACP-META-001", "A", "A prompt may carry metadata"),
    ("ACP-ERROR-001", "A", "The message of an error is one line, and not empty"),
    ("ACP-SHUTDOWN-001", "A", "The process ends by itself when its stdin is closed"),
    ("ACP-STDERR-001", "I", "What is said on stderr"),
    ("ACP-INFO-PARSE-001", "I", "What happens after a line that is no JSON"),
    ("ACP-INFO-INVALIDREQ-001", "I", "What happens after JSON that is no JSON-RPC"),
    ("ACP-INFO-UNKNOWNSESSION-001", "I", "How a prompt for an unknown session is answered"),
)

_S = "initialize.capabilities.session"
_V2_PROMPT = _S + ".prompt."
_NO_BATCHES = "November has no batches: any array gets one -32600 without an id. As the kit has it: judged for June"

_V2: tuple[tuple[str, ...], ...] = (
    ("ACP-INIT-001", "M", "The handshake succeeds"),
    ("ACP-INIT-201", "M", "The version is a whole number: 2, or the agent's own latest, never an echo"),
    ("ACP-INIT-003", "M", "Who asks for version 65535 is told a version that exists, not below the one told to v2"),
    ("ACP-INIT-202", "M", "Who asks for version 1 is answered 1 or 2, and not with an error"),
    ("ACP-INIT-203", "M", "The agent tells a name and a version that are not empty"),
    ("ACP-INIT-204", "M", "Capabilities are objects, null or absent, and never booleans"),
    ("ACP-SCHEMA-001", "M", "The answer to the handshake fits the schema"),
    ("ACP-SCHEMA-002", "A", "No params and no result have keys that the schema does not name"),
    ("ACP-SESSION-001", "C", "A session is made without a word about MCP servers", _S),
    ("ACP-SESSION-002", "C", "Two sessions have two ids", _S),
    ("ACP-SESSION-203", "C", "No list of MCP servers and an empty one are both accepted", _S),
    ("ACP-PROMPT-201", "C", "A prompt is answered with the id of its message, not with a stop reason", _S),
    ("ACP-PROMPT-203", "C", "The user's message is shown under that id before the turn ends", _S),
    ("ACP-PROMPT-205", "C", "The updates of a turn fit the schema and name the session", _S),
    ("ACP-PROMPT-003", "A", "A prompt may hold a link beside its text, and its turn ends", _S),
    ("ACP-STATE-201", "C", "The idle that ends a turn comes behind a running", _S),
    ("ACP-STATE-202", "C", "After running comes an idle", _S),
    ("ACP-STATE-203", "C", "That idle has a stop reason that is known or starts with an underscore", _S),
    ("ACP-PROMPTCAP-001", "C", "A prompt with an image runs to its end", _V2_PROMPT + "image"),
    ("ACP-PROMPTCAP-002", "C", "A prompt with a recording runs to its end", _V2_PROMPT + "audio"),
    ("ACP-PROMPTCAP-003", "C", "A prompt with an embedded resource runs to its end", _V2_PROMPT + "embeddedContext"),
    ("ACP-PERM-201", "C", "A permission question has session, title and whole options; the turn goes on after it", _S),
    ("ACP-CLIENTCAP-201", "C", "A client that offers no forms is not asked to fill one in", _S),
    (
        "ACP-CLIENTCAP-202",
        "C",
        "A client is asked and told nothing but what v2 names, or starts with an underscore",
        _S,
    ),
    ("ACP-CANCEL-201", "C", "A cancelled turn ends with an idle that says cancelled", _S),
    ("ACP-CANCEL-202", "C", "No state is told behind that idle", _S),
    ("ACP-CANCEL-203", "C", "A cancellation is no error and no other stop reason", _S),
    ("ACP-CANCEL-204", "I", "How soon work stops after a cancellation", _S, "The kit cannot see it; we see the time"),
    ("ACP-CANCEL-205", "C", "Nothing answers a cancellation", _S),
    ("ACP-CANCEL-206", "C", "A cancellation is accepted with the session's id alone and with metadata", _S),
    ("ACP-CANCEL-207", "C", "No word of the agent's own stands in for cancelled", _S),
    ("ACP-CANCEL-208", "C", "Closing a session cancels its work", _S),
    ("ACP-INFO-CANCEL-201", "I", "What a cancellation does to a session that is unknown or idle", _S),
    ("ACP-INFO-CANCEL-202", "I", "Whether the agent takes its own open questions back", _S),
    ("ACP-INFO-CONCURRENT-201", "I", "What happens to a second prompt before the first one ended", _S),
    ("ACP-INFO-UNKNOWNSESSION-001", "I", "How a prompt for an unknown session is answered", _S),
    ("ACP-TRANSPORT-201", "M", "Every line is one message, or an array of some"),
    ("ACP-TRANSPORT-002", "M", "Everything on stdout is UTF-8"),
    ("ACP-TRANSPORT-203", "M", "No message holds a newline, and an array is one line"),
    ("ACP-JSONRPC-001", "M", "An answer carries the id of its request, with its type"),
    ("ACP-JSONRPC-002", "M", "An answer has a result or an error and never both; an error has a code and a message"),
    ("ACP-JSONRPC-003", "M", "Nothing answers a notification"),
    ("ACP-JSONRPC-004", "A", "A method that nobody has is answered with -32601"),
    ("ACP-JSONRPC-005", "A", "A bad request, or a bad array, leaves the connection working"),
    ("ACP-BATCH-201", "M", "An empty array is answered with one -32600 without an id"),
    ("ACP-BATCH-202", "M", "An array of notifications is not answered", "", _NO_BATCHES),
    ("ACP-BATCH-203", "A", "A bad entry gets an error of its own, and the others run", "", _NO_BATCHES),
    ("ACP-BATCH-204", "A", "The answers come as one array when all are there", "", _NO_BATCHES),
    ("ACP-BATCH-205", "A", "Answers in an array are found by their ids", "", _NO_BATCHES),
    ("ACP-BATCH-206", "I", "Whether the entries of an array run side by side", "", _NO_BATCHES),
    ("ACP-BATCH-207", "I", "Whether the agent says arrays of its own accord"),
    ("ACP-BATCH-208", "I", "What a handshake inside an array does", "", _NO_BATCHES),
    ("ACP-INFO-BATCH-201", "I", "What happens after an array that is broken off"),
    ("ACP-INFO-BATCH-202", "I", "What happens after an array of calls and answers"),
    ("ACP-RESUME-201", "C", "A session can be resumed", _S),
    ("ACP-RESUME-202", "C", "A replay from the start is over before the answer", _S),
    ("ACP-RESUME-203", "C", "Without a wish for a replay nothing of the history is shown", _S),
    ("ACP-RESUME-204", "C", "A user's message keeps its id in a replay", _S),
    ("ACP-RESUME-205", "C", "In a replay a chunk comes behind the message it belongs to", _S),
    ("ACP-LIST-201", "C", "Sessions can be listed", _S),
    ("ACP-LIST-202", "C", "A folder without sessions has an empty list", _S),
    ("ACP-LIST-203", "C", "A folder's list has the sessions of that folder and no others", _S),
    ("ACP-LIST-204", "C", "The folders in a list are absolute", _S),
    ("ACP-CLOSE-201", "C", "An idle session can be closed", _S),
    ("ACP-CLOSE-202", "C", "Closing a session cancels its work", _S),
    ("ACP-DELETE-201", "C", "A session can be deleted", _S + ".delete"),
    ("ACP-DELETE-202", "C", "A deleted session is in no list", _S + ".delete"),
    ("ACP-DELETE-203", "A", "Deleting what is not there succeeds", _S + ".delete"),
    ("ACP-ADDDIRS-201", "C", "A session may have a further absolute root", _S + ".additionalDirectories"),
    ("ACP-ADDDIRS-202", "C", "And may be resumed with another one", _S + ".additionalDirectories"),
    ("ACP-MCP-201", "I", "A well-formed MCP server on stdio is accepted", _S + ".mcp.stdio"),
    ("ACP-MCP-202", "I", "A well-formed MCP server over HTTP is accepted", _S + ".mcp.http"),
    ("ACP-CONFIG-201", "C", "Options are whole: id, name, a type that is known, choices flat or grouped", _OPTIONS),
    ("ACP-CONFIG-202", "C", "Setting an option answers with every one that there was", _OPTIONS),
    ("ACP-CONFIG-203", "C", "Resuming tells the options in the same shape", _OPTIONS),
    ("ACP-CONFIG-204", "C", "The value of a select is one of its choices", _OPTIONS),
    ("ACP-CONFIG-206", "C", "An update about options has all of them", _OPTIONS),
    ("ACP-AUTH-201", "A", "No two ways to log in have the same id"),
    ("ACP-AUTH-202", "M", "A client that cannot log in by a terminal is not offered that"),
    ("ACP-AUTH-203", "C", "Logging out succeeds", _METHODS),
    ("ACP-AUTH-204", "C", "Logging in succeeds, and sessions can be made after it", _METHODS),
    ("ACP-AUTH-205", "A", "An agent without a way to log in never asks for a login"),
    ("ACP-AUTH-206", "M", "A way to log in is of a known type, or of one with an underscore"),
    ("ACP-AUTH-207", "M", "The arguments and the environment of a terminal login are well formed, names unique"),
    ("ACP-PATCH-201", "C", "Every message and every chunk has an id", _S),
    ("ACP-PATCH-203", "C", "Two prompts have two ids", _S),
    ("ACP-PATCH-204", "C", "Everything about a tool call names it, and a chunk has content", _S),
    ("ACP-PATCH-205", "C", "A plan has an id", _S),
    ("ACP-PATCH-206", "C", "The folder of a terminal is absolute and never another", _S),
    ("ACP-PATCH-207", "C", "Each piece of a terminal's output is base64 by itself", _S),
    ("ACP-PATCH-208", "A", "A tool call is first told with a title, and its name never changes", _S),
    ("ACP-PATCH-209", "A", "While a permission is awaited the session requires action, and then runs again", _S),
    ("ACP-ENUM-201", "C", "Kinds, statuses and priorities are known words or start with an underscore", _S),
    ("ACP-ENUM-202", "A", "So are updates, states and the types of content", _S),
    ("ACP-ENUM-203", "A", "A permission outcome that is the client's own word does no harm", _S),
    ("ACP-EXT-001", "M", "An extension request that nobody knows is answered all the same"),
    ("ACP-EXT-201", "A", "An extension notification that nobody knows is ignored"),
    ("ACP-EXT-202", "A", "Abilities beside the protocol stand in the metadata of the capabilities"),
    ("ACP-EXT-203", "I", "What a notification does whose name starts with $/"),
    ("ACP-META-001", "A", "A prompt may carry metadata", _S),
    ("ACP-META-201", "A", "All metadata are objects or null"),
    ("ACP-ERROR-001", "A", "The message of an error is one line, and not empty"),
    ("ACP-SHUTDOWN-001", "A", "The process ends by itself when its stdin is closed"),
    ("ACP-STDERR-001", "I", "What is said on stderr"),
    ("ACP-INFO-PARSE-001", "I", "What happens after a line that is no JSON"),
    ("ACP-INFO-INVALIDREQ-001", "I", "What happens after JSON that is no JSON-RPC"),
)

# The batches of the kit are those of June; its other rows are written for November.
_JUNE = tuple(row[:3] for row in _V2 if "-BATCH-" in row[0])


def _rules(edition: str, rows: tuple[tuple[str, ...], ...]) -> tuple[Rule, ...]:
    return tuple(Rule(edition, *row) for row in rows)  # type: ignore[arg-type]


RULES: tuple[Rule, ...] = (*_rules("v1", _V1), *_rules("v2", _V2), *_rules("v2_june", _JUNE))

_BY_ID = {(rule.edition, rule.id): rule for rule in RULES}


def shows(*ids: str) -> Callable[[F], F]:
    """Mark a test with the rules that it shows to hold."""

    def mark(test: F) -> F:
        test.__dict__["shows"] = ids
        return test

    return mark


def rules_of(edition: str, test: Callable[..., object]) -> list[Rule]:
    """The rules that a test shows.

    Raises:
        KeyError: It names one that there is not.
    """
    return [_BY_ID[edition, id_] for id_ in test.__dict__.get("shows", ())]
