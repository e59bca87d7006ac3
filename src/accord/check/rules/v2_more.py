"""What November's v2 asks of agents beyond the public kit: the wire, the handshake, sessions, prompts, what is told."""

from __future__ import annotations

from accord.check.rule import Cause, Rule, Tier

__all__ = ["CAUSES", "RULES"]

_SESSION = "initialize.capabilities.session"
_SETUP = "protocol/v2/session-setup"
_LIFECYCLE = "protocol/v2/prompt-lifecycle"
_TOOLS = "protocol/v2/tool-calls"
_OPTIONS = "protocol/v2/session-config-options"
_TRANSPORTS = "protocol/v2/transports"
_HANDSHAKE = "protocol/v2/initialization"


def _always(tier: Tier, id_: str, says: str, page: str) -> Rule:
    return Rule("v2", f"ACCORD-{id_}", tier, says, page)


def _must(id_: str, says: str, page: str, gate: str = _SESSION) -> Rule:
    return Rule("v2", f"ACCORD-{id_}", "capability", says, page, gate=gate)


def _should(id_: str, says: str, page: str, gate: str = _SESSION) -> Rule:
    return Rule("v2", f"ACCORD-{id_}", "advisory", says, page, gate=gate)


def _noted(id_: str, says: str, page: str, gate: str = _SESSION) -> Rule:
    return Rule("v2", f"ACCORD-{id_}", "informational", says, page, gate=gate)


_WIRE = (
    _always("mandatory", "WIRE-201", "An agent sends each message alone, never in an array", _TRANSPORTS),
    _always(
        "mandatory", "WIRE-202", "An array with messages gets exactly one -32600 with the id null", "protocol/v2/error"
    ),
    _always("mandatory", "WIRE-203", "Nothing that stands in an array is done or answered", _TRANSPORTS),
    _always(
        "mandatory", "WIRE-204", "A response to nothing is dropped without an answer", "schema/v2#/$defs/ClientResponse"
    ),
    _always("advisory", "WIRE-205", "A malformed response is dropped without an answer", _TRANSPORTS),
    _always(
        "mandatory",
        "WIRE-206",
        "A request whose id is null, a fraction or no scalar is refused with -32600 and the id null",
        "schema/v2#/$defs/RequestId",
    ),
    _always("advisory", "WIRE-207", "A line that is no JSON gets -32700 with the id null", "protocol/v2/error"),
    _always("advisory", "WIRE-208", "JSON that is no object gets -32600 with the id null", "protocol/v2/error"),
    _always("advisory", "WIRE-209", "Blank lines and lines that end with CR LF do no harm", _TRANSPORTS),
    _always(
        "mandatory",
        "WIRE-210",
        "A notification with params that do not fit is dropped, and the connection goes on",
        "protocol/v2/error",
    ),
    _always("advisory", "WIRE-211", "A message of one mebibyte is read and answered", _TRANSPORTS),
    _always("mandatory", "WIRE-212", "A request is answered once, never twice", "schema/v2#/$defs/RequestId"),
    _always(
        "mandatory",
        "WIRE-213",
        "The ids of an agent's own requests are strings or integers, and none is used again while it waits",
        "schema/v2#/$defs/RequestId",
    ),
    _always(
        "mandatory",
        "WIRE-214",
        "Taking back a request that does not exist or was answered does nothing",
        "protocol/v2/cancellation",
    ),
    _must(
        "WIRE-216",
        "An id that the agent uses for a request of its own may be used by the client at the same time",
        "schema/v2#/$defs/RequestId",
    ),
    _always(
        "advisory", "WIRE-217", "An id may be used again when its request was answered", "schema/v2#/$defs/RequestId"
    ),
    _should("WIRE-215", "Absent and null params of a method without required fields count as {}", "protocol/v2/error"),
    _always("advisory", "ERROR-201", "An error carries no stack trace to whoever reads it", "schema/v2#/$defs/Error"),
    _should("EXIT-201", "An agent ends when its stdin ends, also in the middle of a turn", _TRANSPORTS),
    _noted("EXIT-202", "With which status an agent ends when its stdin ends during a turn", _TRANSPORTS),
)

_MEETING = (
    _always("mandatory", "INIT-201", "A request before the handshake is refused with -32600", _HANDSHAKE),
    _always("mandatory", "INIT-202", "A notification before the handshake is ignored", _HANDSHAKE),
    _always(
        "advisory", "INIT-203", "A handshake in this very version with an incomplete `info` is refused", _HANDSHAKE
    ),
    _always("mandatory", "INIT-204", "After a handshake that failed another one can succeed", _HANDSHAKE),
    _always(
        "mandatory",
        "INIT-205",
        "Where no version fits, the handshake fails with -32022",
        "schema/v2#/$defs/InitializeResponse",
    ),
    _always(
        "mandatory",
        "INIT-206",
        "The error -32022 says which version was requested and which are supported",
        "schema/v2#/$defs/UnsupportedProtocolVersionErrorData",
    ),
    _always(
        "mandatory",
        "INIT-207",
        "A capability of the client that is null or malformed counts as absent",
        "schema/v2#/$defs/ClientCapabilities",
    ),
    _always("mandatory", "INIT-208", "The handshake may be repeated before the first other request", _HANDSHAKE),
    _always("mandatory", "INIT-209", "After another request the handshake is refused with -32600", _HANDSHAKE),
    _always("advisory", "INIT-210", "A client of a later version may leave out `info`", _HANDSHAKE),
    _always(
        "mandatory",
        "INIT-211",
        "The version that is agreed on is not above the one that was asked for",
        "schema/v2#/$defs/InitializeResponse",
    ),
    _must(
        "AUTH-201",
        "Who offers logins serves `auth/login`: an unknown method is refused, the request is not unknown",
        "schema/v2#/$defs/LoginAuthRequest",
        "initialize.authMethods",
    ),
)

_SESSIONS = (
    _should("SESSION-201", "A session in a relative directory is refused with -32602", _SETUP),
    _must("SESSION-202", "A session without a directory is refused with -32602", _SETUP),
    _must(
        "SESSION-203",
        "A null list of servers or of extra directories counts as an empty one",
        "schema/v2#/$defs/NewSessionRequest",
    ),
    _must(
        "SESSION-204",
        "Options and commands in a result are lists, or absent, and never null",
        "schema/v2#/$defs/NewSessionResponse",
    ),
    _must("SESSION-205", "What is said in a turn names the session that was prompted", "protocol/v2/prompt-lifecycle"),
    _should(
        "ADDDIRS-201",
        "A relative extra directory is refused with -32602",
        _SETUP,
        "initialize.capabilities.session.additionalDirectories",
    ),
    _must("MCP-201", "An MCP transport that the agent does not know is refused with -32602", _SETUP),
    _must("MCP-202", "An MCP transport that the agent does not advertise is refused with -32602", _SETUP),
    _must("UNKNOWN-201", "A prompt for an unknown session is refused with -32002", "protocol/v2/error"),
    _must("UNKNOWN-202", "Resuming an unknown session is refused with -32002", "protocol/v2/error"),
    _must(
        "UNKNOWN-203",
        "The error -32002 says which session was not found",
        "schema/v2#/$defs/SessionNotFoundErrorData",
    ),
    _must("RESUME-201", "The state is told between the request to resume and its answer", _SETUP),
    _must("RESUME-202", "With a replay, the state is told after the last of the history", _SETUP),
    _must("RESUME-203", "A replay cursor of an unknown type is refused with -32602", "schema/v2#/$defs/ReplayFrom"),
    _must("RESUME-204", "A malformed replay cursor is refused with -32602", "schema/v2#/$defs/ResumeSessionRequest"),
    _must("RESUME-205", "Notices are not replayed", "schema/v2#/$defs/Notice"),
    _should("RESUME-206", "The agent's messages are replayed with the text that they had", _SETUP),
    _should("RESUME-207", "A replay tells terminals and compactions as they are, without their pieces", _SETUP),
    _noted("RESUME-208", "What comes of resuming a session in another directory", _SETUP),
    _must("LIST-201", "The pages of the list end, and no session stands on two of them", _SETUP),
    _noted("LIST-202", "What comes of asking for a page that never was", _SETUP),
    _should("LIST-203", "The time of the last activity is told as RFC 3339 has it", "schema/v2#/$defs/SessionInfo"),
    _must("CLOSE-201", "Nothing is told of a session after it was closed", "schema/v2#/$defs/CloseSessionRequest"),
    _must(
        "CLOSE-202",
        "A prompt that was held when its session was closed gets -32800",
        "schema/v2#/$defs/CloseSessionRequest",
    ),
    _must("CLOSE-203", "A prompt for a closed session is refused with -32002", "protocol/v2/error"),
    _should("CLOSE-204", "Closing an unknown or a closed session succeeds", "schema/v2#/$defs/CloseSessionRequest"),
    _must(
        "DELETE-201",
        "A deleted session can not be resumed: -32002",
        "protocol/v2/error",
        "initialize.capabilities.session.delete",
    ),
    _must(
        "CONFIG-201",
        "An unknown option is refused with -32602",
        "schema/v2#/$defs/SetSessionConfigOptionRequest",
        "new.configOptions",
    ),
    _must(
        "CONFIG-202",
        "A value that an option does not have is refused with -32602",
        "schema/v2#/$defs/SetSessionConfigOptionRequest",
        "new.configOptions",
    ),
    _must("CONFIG-203", "A value of an unknown type is refused with -32602", _OPTIONS, "new.configOptions"),
    _must("CONFIG-204", "What was refused changes no option", _OPTIONS, "new.configOptions"),
    _must(
        "CONFIG-205",
        "The values of an option are all different, also across groups",
        "schema/v2#/$defs/SessionConfigSelect",
        "new.configOptions",
    ),
    _must("COMMAND-201", "The names of commands have no whitespace in them", "schema/v2#/$defs/Command"),
    _must("COMMAND-202", "The names of commands are all different", "schema/v2#/$defs/Command"),
)

_PROMPTS = (
    _must("PROMPT-201", "A block of a type that the agent does not know is refused with -32602", _LIFECYCLE),
    _must("PROMPT-202", "A block that the agent does not advertise is refused with -32602", _LIFECYCLE),
    _must("PROMPT-203", "A known block with a bad payload is refused with -32602", "protocol/v2/extensibility"),
    _must("PROMPT-204", "A prompt that was refused is never told as a message of the user", _LIFECYCLE),
    _must("PROMPT-205", "A prompt is answered without waiting for the end of the work", _LIFECYCLE),
    _must("PROMPT-206", "Prompts are inserted in the order in which they came", _LIFECYCLE),
    _must("PROMPT-207", "A held prompt that is taken back gets -32800 and is never inserted", _LIFECYCLE),
    _noted("PROMPT-208", "What comes of an empty prompt", "schema/v2#/$defs/PromptRequest"),
    _should(
        "PROMPT-209", "An optional field of a block that does not fit counts as absent", "schema/v2#/$defs/TextContent"
    ),
    _must("CANCEL-201", "A prompt that is held when the session is cancelled gets -32800", _LIFECYCLE),
    _must("CANCEL-202", "A prompt that is sent after a cancellation is not touched by it", _LIFECYCLE),
    _must("CANCEL-203", "A cancellation does not wait for permissions that are still asked for", _LIFECYCLE),
    _should("CANCEL-204", "A permission that is not needed any more is taken back", _LIFECYCLE),
    _should("CANCEL-205", "An answer that comes after the end revives no work", _LIFECYCLE),
    _must("CANCEL-206", "What was not permitted before the cancellation is not done", _LIFECYCLE),
    _must("CANCEL-207", "The messages of cancelled work come before its end, not after it", _LIFECYCLE),
    _must("CANCEL-208", "Cancelling an unknown tool call is refused with -32602", _TOOLS),
    _must("CANCEL-209", "Cancelling an unknown terminal is refused with -32602", _TOOLS),
    _must("CANCEL-210", "Cancelling a finished tool call is refused with -32602", _TOOLS),
    _must("CANCEL-211", "Cancelling a terminal that has exited is refused with -32602", _TOOLS),
    _must("CANCEL-212", "A tool call that offers it can be cancelled alone, and then it ends", _TOOLS),
    _must("CANCEL-213", "A terminal that offers it can be cancelled alone, and then it exits", _TOOLS),
    _must(
        "PERM-201",
        "The choice of an option that was never offered is no approval",
        "schema/v2#/$defs/RequestPermissionOutcome",
    ),
    _must("PERM-202", "The ids of the options of one question are all different", "schema/v2#/$defs/PermissionOption"),
    _must(
        "PERM-203",
        "A command that is asked for stands with an absolute directory",
        "schema/v2#/$defs/CommandPermissionSubject",
    ),
    _must("ELICIT-201", "An agent asks only in a mode that the client offers", "protocol/v2/elicitation"),
    _must(
        "ELICIT-202",
        "A question belongs to a session or to a pending request, to exactly one of them",
        "schema/v2#/$defs/CreateElicitationRequest",
    ),
    _should(
        "ELICIT-205",
        "A question of cancelled work is taken back",
        "schema/v2#/$defs/CreateElicitationRequest",
    ),
    _should("ELICIT-203", "A form asks for no secret", "protocol/v2/elicitation"),
    _must(
        "ELICIT-204",
        "An unknown answer to a question is taken like `cancel`, and the turn comes to its end",
        "schema/v2#/$defs/CreateElicitationResponse",
    ),
)

_TOLD = (
    _must("UPDATE-201", "What is told belongs to a session that the client knows", _LIFECYCLE),
    _must(
        "ENUM-201",
        "Words for options, notices, compactions, diffs and background work are known or begin with `_`",
        "protocol/v2/extensibility",
    ),
    _must("STATE-201", "Background work is told with every state of a session, or with none", _LIFECYCLE),
    _must("STATE-202", "Background work is announced before it is listed", "schema/v2#/$defs/BackgroundWork"),
    _must(
        "STATE-203", "The end of background work is told before it leaves the list", "schema/v2#/$defs/BackgroundWork"
    ),
    _should("STATE-204", "Work that failed says why", "schema/v2#/$defs/ErrorStopReason"),
    _should("STATE-205", "An idle that ends work says why it ended", "schema/v2#/$defs/IdleStateUpdate"),
    _must("STATE-206", "Each piece of background work is listed once", "schema/v2#/$defs/BackgroundWork"),
    _should("MESSAGE-201", "A message of a later turn has an id of its own", "schema/v2#/$defs/MessageId"),
    _must("TOOL-201", "The paths of tool calls and of their diffs are absolute", "schema/v2#/$defs/AbsolutePath"),
    _should("TOOL-202", "Diffs have a patch wherever one can be made", "schema/v2#/$defs/Diff"),
    _must(
        "TOOL-203",
        "A Git patch has absolute paths without prefixes, and nothing in front of its first section",
        "schema/v2#/$defs/DiffPatchFormat",
    ),
    _must("TOOL-204", "A patch names only files that the changes name", "schema/v2#/$defs/Diff"),
    _should(
        "TOOL-205", "A tool call with a final status offers no cancellation", "schema/v2#/$defs/ToolCallCapabilities"
    ),
    _should("TOOL-206", "When a session is idle, a tool call has ended or is listed as background work", _TOOLS),
    _should("TOOL-207", "A tool call that has ended does not begin again", "schema/v2#/$defs/ToolCallId"),
    _must("TERM-203", "The id of a terminal is not used for another one", "schema/v2#/$defs/TerminalId"),
    _should("TERM-201", "A terminal that a tool call shows is described", _TOOLS),
    _should("TERM-202", "A terminal that has exited offers no cancellation", "schema/v2#/$defs/TerminalCapabilities"),
    _must(
        "COMPACT-201", "Pieces of a summary come only while the compaction goes on", "schema/v2#/$defs/CompactionUpdate"
    ),
    _should("COMPACT-202", "A completed compaction has a summary", "schema/v2#/$defs/CompactionUpdate"),
    _should("COMPACT-203", "A failed compaction says why", "schema/v2#/$defs/CompactionUpdate"),
)

RULES: tuple[Rule, ...] = (*_WIRE, *_MEETING, *_SESSIONS, *_PROMPTS, *_TOLD)


def _falls(root: str, says: str, *also: str) -> Cause:
    """Rules of ours that fall with one of the kit's; each text names several."""
    return Cause("v2", f"ACP-{root}", says, tuple(f"ACCORD-{id_}" for ids in also for id_ in ids.split()))


CAUSES: tuple[Cause, ...] = (
    _falls(
        "INIT-001",
        "The handshake fails, so nothing else can be asked",
        "INIT-201 INIT-202 INIT-203 INIT-204 INIT-205 INIT-206 INIT-207 INIT-208 INIT-209 INIT-210 INIT-211",
        "WIRE-202 WIRE-204 WIRE-205 WIRE-206 WIRE-207 WIRE-208 WIRE-209 WIRE-210 WIRE-211 WIRE-214 WIRE-217",
    ),
    _falls(
        "SESSION-001",
        "No session can be opened, so nothing that needs one works",
        "CANCEL-201 CANCEL-202 CANCEL-203 CANCEL-204 CANCEL-205 CANCEL-206 CANCEL-207 CANCEL-208",
        "CANCEL-209 CANCEL-210 CANCEL-211 CANCEL-212 CANCEL-213 CLOSE-201 CLOSE-202 CLOSE-203 CLOSE-204",
        "ELICIT-204 ELICIT-205 EXIT-201 EXIT-202 PERM-201 MESSAGE-201 STATE-205 TERM-203 TOOL-207 WIRE-216",
        "PROMPT-201 PROMPT-202 PROMPT-203 PROMPT-204 PROMPT-205 PROMPT-206 PROMPT-207 PROMPT-208",
        "PROMPT-209",
        "RESUME-201 RESUME-202 RESUME-203 RESUME-204 RESUME-205 RESUME-206 RESUME-207 RESUME-208",
        "SESSION-203",
    ),
    _falls(
        "STATE-202",
        "Turns never become idle, so nothing that comes behind the end of one can be done",
        "CANCEL-208 CANCEL-209 CANCEL-210 CANCEL-211 EXIT-201 EXIT-202 PERM-201",
        "RESUME-201 RESUME-202 RESUME-203 RESUME-204 RESUME-205 RESUME-206 RESUME-207 RESUME-208",
    ),
    _falls("PATCH-203", "All messages have one id, whoever wrote them and when", "MESSAGE-201"),
)
