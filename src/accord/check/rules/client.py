"""What clients have to keep: one row for each rule, with its tier in each edition that has it."""

from __future__ import annotations

from typing import NamedTuple

from accord.check.rule import EDITIONS, Cause, EditionName, Rule, Tier

__all__ = ["CAUSES", "RULES"]

M: Tier = "mandatory"
C: Tier = "capability"
A: Tier = "advisory"
I: Tier = "informational"  # noqa: E741 - one letter each, for a table

READS = "clientCapabilities.fs.readTextFile"
WRITES = "clientCapabilities.fs.writeTextFile"
RUNS = "clientCapabilities.terminal"
FORMS = "elicitation.form"
VISITS = "elicitation.url"


class _Row(NamedTuple):
    """`tiers` are those of v1, v2_june and v2, None where an edition has no such rule."""

    topic: str
    tiers: tuple[Tier | None, Tier | None, Tier | None]
    page: str
    says: str
    offer: str = ""


_ROWS: tuple[_Row, ...] = (
    # --- lines
    _Row("WIRE-001", (M, M, M), "transports", "Every line that a client writes to its agent is a JSON-RPC 2.0 message"),
    _Row("WIRE-002", (M, M, M), "transports", "Every message ends with a newline, the last one too"),
    _Row("WIRE-003", (M, None, M), "transports", "A client sends single messages and never arrays of them"),
    _Row("ID-001", (M, M, M), "overview", "The id of a request is a text or an integer; null is left to v1 and June"),
    _Row("ID-002", (M, M, M), "overview", "An id is not used again while its request is pending"),
    _Row("ANSWER-001", (M, M, M), "overview", "No request of the agent is answered more than once"),
    _Row(
        "ANSWER-002",
        (M, M, M),
        "overview",
        "An answer has a result, or an error with a code and a message, and not both",
    ),
    _Row(
        "ANSWER-003", (M, M, M), "overview", "Only requests are answered: no notification, no answer, no id of nobody"
    ),
    _Row("END-001", (I, I, I), "transports", "How the client ended is recorded"),
    # --- the beginning
    _Row("INIT-001", (M, M, M), "initialization", "The first message of a client is `initialize`"),
    _Row("INIT-002", (M, M, M), "initialization", "The version that a client asks for is an integer from 0 to 65535"),
    _Row("INIT-003", (A, A, M), "initialization", "A client says its name and version"),
    _Row("INIT-004", (M, M, M), "initialization", "What a client offers has the shape that the edition gives it"),
    _Row(
        "INIT-005",
        (A, A, A),
        "initialization",
        "A client opens no session in a version that it did not ask for and does not know",
    ),
    _Row("INIT-006", (I, I, I), "initialization", "What the client offers is recorded"),
    _Row("INIT-007", (None, None, M), "initialization", "The handshake is not repeated when something else was asked"),
    _Row("SESSION-001", (M, M, M), "session-setup", "A session works at an absolute path"),
    _Row(
        "SESSION-002",
        (M, M, M),
        "session-setup",
        "MCP servers are a list of servers that the agent can reach; before v2 it is always there",
    ),
    _Row("SESSION-003", (M, M, M), "session-setup", "Further directories are named only to an agent that takes them"),
    _Row("SESSION-004", (M, M, M), "session-setup", "A client prompts and cancels only sessions that its agent opened"),
    _Row("GATE-001", (M, M, M), "initialization", "A client calls nothing optional that its agent does not advertise"),
    _Row(
        "GATE-002",
        (M, M, M),
        "extensibility",
        "What is no method of the edition is called only by a name that begins with an underscore",
    ),
    _Row("META-001", (M, M, M), "extensibility", "Nothing is added to the protocol's own types but inside `_meta`"),
    # --- turns
    _Row("TURN-001", (M, M, M), "prompt-turn", "A client that prompts stays until the work has ended"),
    _Row("PROMPT-001", (M, M, M), "content", "A prompt is a list of content blocks, each with its type and content"),
    _Row(
        "PROMPT-002",
        (M, M, M),
        "prompt-turn",
        "A prompt has only text and links where the agent advertises nothing else",
    ),
    _Row("PROMPT-003", (None, None, M), "prompt-turn", "A prompt has at least one block"),
    _Row(
        "CANCEL-001",
        (M, None, M),
        "cancellation",
        "A request that the agent takes back is still answered, by a result or by -32800",
    ),
    _Row("CANCEL-002", (M, None, M), "cancellation", "Taking back a request that nobody made changes nothing"),
    _Row("CANCEL-003", (M, None, M), "cancellation", "A client takes back only requests that it made"),
    _Row("CANCEL-004", (M, M, M), "prompt-turn", "`session/cancel` is a notification"),
    _Row(
        "CANCEL-005", (A, A, A), "prompt-turn", "A client listens on after it has cancelled, until the work has ended"
    ),
    _Row(
        "CONFIG-001", (M, M, M), "session-config-options", "An option of an unknown type takes nothing from the others"
    ),
    _Row(
        "CONFIG-002",
        (M, M, M),
        "session-config-options",
        "An option is set with the value and the type that the edition wants",
    ),
    # --- updates
    _Row("UPDATE-001", (M, M, M), "extensibility", "An update of an unknown kind ends nothing"),
    _Row("UPDATE-002", (A, M, M), "extensibility", "Unknown content, tool kinds and statuses end nothing"),
    _Row("UPDATE-003", (A, A, M), "extensibility", "An update that makes no sense is passed over and ends nothing"),
    _Row("UPDATE-004", (A, A, M), "session-setup", "Updates of a session may come before the answer that names it"),
    _Row("UPDATE-005", (M, M, M), "prompt-turn", "Updates may come while no turn runs"),
    _Row("UPDATE-006", (A, A, A), "session-setup", "An update of a session that the client does not have ends nothing"),
    _Row("UPDATE-007", (A, A, A), "transports", "An update of a megabyte is read"),
    _Row("UPDATE-008", (M, M, M), "prompt-turn", "Every kind of update of the edition is read"),
    _Row("UPDATE-009", (M, M, M), "schema", "What the schema lets be null may be null"),
    _Row("UPDATE-010", (None, None, M), "prompt-turn", "An unknown state of a session ends nothing"),
    _Row("UPDATE-011", (M, M, M), "extensibility", "`_meta` may stand wherever it is reserved"),
    # --- questions
    _Row("PERM-001", (M, M, M), "tool-calls", "Every question for permission is answered with an outcome"),
    _Row("PERM-002", (M, M, M), "tool-calls", "Only an option that was offered is selected"),
    _Row(
        "PERM-003",
        (M, M, None),
        "prompt-turn",
        "Every question that is open when the client cancels is answered `cancelled`",
    ),
    _Row(
        "PERM-004",
        (None, None, M),
        "prompt-turn",
        "A question of work that was cancelled is answered, and not by approving",
    ),
    _Row("PERM-005", (A, A, A), "tool-calls", "Nothing is approved for a session that the client does not have"),
    _Row(
        "PERM-006",
        (None, M, M),
        "tool-calls",
        "A question with an unknown kind of option or subject is answered like others",
    ),
    _Row("EXT-001", (M, M, M), "extensibility", "An unknown request is answered with -32601"),
    _Row("EXT-002", (M, M, M), "extensibility", "An unknown notification is ignored"),
    _Row("REQUEST-001", (A, A, A), "error", "A request whose params make no sense is answered with -32602"),
    _Row("ELICIT-001", (C, None, C), "elicitation", "A form is accepted, declined or cancelled", FORMS),
    _Row("ELICIT-002", (C, None, C), "elicitation", "An address is accepted, declined or cancelled", VISITS),
    _Row("ELICIT-003", (M, None, M), "elicitation", "A mode that the client did not offer is refused with -32602"),
    _Row("ELICIT-004", (M, None, M), "elicitation", "The completion of an unknown elicitation is ignored"),
    _Row("ELICIT-005", (C, None, C), "elicitation", "What was filled into a form fits its schema", FORMS),
    _Row("HONEST-001", (A, A, M), "initialization", "Reading files is refused by a client that does not offer it"),
    _Row(
        "HONEST-002",
        (A, A, M),
        "initialization",
        "Writing files is refused, and not done, by a client that does not offer it",
    ),
    _Row(
        "HONEST-003",
        (A, A, M),
        "initialization",
        "Running commands is refused, and not done, by a client that does not offer it",
    ),
    # --- what agents should not say
    _Row("RUDE-001", (A, A, A), "transports", "A line that is no JSON ends nothing"),
    _Row("RUDE-002", (A, A, A), "transports", "JSON that is no message ends nothing"),
    _Row("RUDE-003", (A, None, M), "transports", "An array is refused as a whole, with one -32600, and ends nothing"),
    _Row("RUDE-004", (M, M, M), "overview", "An answer to nothing is ignored"),
    _Row("RUDE-005", (A, A, A), "transports", "Blank lines are passed over"),
    _Row("BATCH-001", (None, M, None), "transports", "The requests of a batch are answered"),
    # --- files
    _Row("FS-001", (C, None, None), "file-system", "A file is read whole and as it is", READS),
    _Row(
        "FS-002",
        (C, None, None),
        "file-system",
        "`line` (from 1) and `limit` choose lines, together and each alone",
        READS,
    ),
    _Row("FS-003", (C, None, None), "file-system", "A `line` or `limit` of null is the same as none", READS),
    _Row("FS-004", (A, None, None), "file-system", "Line 0, which the schema allows, is the start", READS),
    _Row("FS-005", (I, None, None), "file-system", "What reading a missing file gives is recorded", READS),
    _Row("FS-006", (C, None, None), "file-system", "Writing makes the file where there is none", WRITES),
    _Row("FS-007", (A, None, None), "file-system", "A file outside of the session's directories is not read", READS),
    _Row(
        "FS-008", (A, None, None), "file-system", "A file outside of the session's directories is not written", WRITES
    ),
    _Row("FS-009", (I, None, None), "file-system", "What no lines, and lines beyond the end, give is recorded", READS),
    _Row(
        "FS-010", (A, None, None), "file-system", "Nothing is read for a session that the client does not have", READS
    ),
    _Row("FS-011", (A, None, None), "file-system", "A relative path is refused", READS),
    _Row("FS-012", (C, None, None), "file-system", "Writing replaces the whole text of a file", WRITES),
    # --- terminals
    _Row("TERM-001", (C, None, None), "terminals", "A terminal has an id at once, while its command runs", RUNS),
    _Row(
        "TERM-002",
        (C, None, None),
        "terminals",
        "Output can be asked for at any time; what runs has no exit status",
        RUNS,
    ),
    _Row(
        "TERM-003",
        (C, None, None),
        "terminals",
        "Arguments, variables and directory are those that were asked for",
        RUNS,
    ),
    _Row(
        "TERM-004",
        (C, None, None),
        "terminals",
        "Who waits is told the exit code, also when it has ended before",
        RUNS,
    ),
    _Row(
        "TERM-005",
        (C, None, None),
        "terminals",
        "No more than the limit is kept of the output, and it is the end of it",
        RUNS,
    ),
    _Row("TERM-006", (C, None, None), "terminals", "Output is cut between characters", RUNS),
    _Row("TERM-007", (C, None, None), "terminals", "`truncated` says whether output was cut", RUNS),
    _Row("TERM-008", (C, None, None), "terminals", "A killed command ends, and its terminal can still be asked", RUNS),
    _Row("TERM-009", (A, None, None), "terminals", "What a signal ended has that signal and no exit code", RUNS),
    _Row("TERM-010", (C, None, None), "terminals", "A released terminal is unknown to every further call", RUNS),
    _Row("TERM-011", (A, None, None), "terminals", "Who waits for a terminal is answered when it is released", RUNS),
    _Row("TERM-012", (C, None, None), "terminals", "The output of what has ended has its exit status", RUNS),
    _Row("TERM-013", (C, None, None), "terminals", "Releasing a terminal ends its command", RUNS),
    _Row("TERM-014", (A, None, None), "terminals", "No command outlives the client that ran it", RUNS),
)

_OTHER_PAGES: dict[EditionName, dict[str, str]] = {
    "v1": {"error": "overview"},
    "v2_june": {"error": "overview"},
    "v2": {"prompt-turn": "prompt-lifecycle"},
}
"""Where an edition says it elsewhere."""


def _page(edition: EditionName, page: str) -> str:
    folder = "v1" if edition == "v1" else "v2"
    return f"protocol/{folder}/{_OTHER_PAGES[edition].get(page, page)}"


def _gate(edition: EditionName, offer: str) -> str:
    if not offer:
        return ""
    key = "clientCapabilities" if edition == "v1" else "capabilities"
    return f"initialize.{offer}" if offer.startswith("clientCapabilities") else f"initialize.{key}.{offer}"


RULES: tuple[Rule, ...] = tuple(
    Rule(
        edition,
        f"ACCORD-CLIENT-{row.topic}",
        tier,
        row.says,
        _page(edition, row.page),
        side="client",
        gate=_gate(edition, row.offer),
    )
    for row in _ROWS
    for edition, tier in zip(EDITIONS, row.tiers, strict=True)
    if tier is not None
)
CAUSES: tuple[Cause, ...] = ()
