"""How a client begins: the handshake, what it offers, its sessions, and calling only what the agent has."""

from __future__ import annotations

import re
from typing import Any

from accord.check.case import Case, Unseen, Violation
from accord.check.entry import Entry
from accord.check.judge import judge
from accord.check.rule import EditionName

__all__: list[str] = []

MAX_VERSION = 65535
METHODS: dict[EditionName, set[str]] = {
    "v1": {"initialize", "session/new", "session/prompt", "session/cancel", "session/set_config_option"},
    "v2_june": {"initialize", "session/new", "session/prompt", "session/cancel", "session/set_config_option"},
    "v2": {"initialize", "session/new", "session/prompt", "session/cancel", "session/set_config_option"}
    | {"session/list", "session/resume", "session/close"},
}
"""What every agent has, and what ours told of."""
GATED: dict[EditionName, set[str]] = {
    "v1": {"authenticate", "logout", "session/set_mode"}
    | {f"session/{verb}" for verb in ("load", "list", "resume", "close", "delete")},
    "v2_june": {"authenticate", "logout"}
    | {f"session/{verb}" for verb in ("load", "list", "resume", "close", "delete")},
    "v2": {"auth/login", "auth/logout", "session/delete", "tool_call/cancel", "terminal/cancel"},
}
"""What an agent has to tell of first."""
ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")


def _said(case: Case, method: str) -> list[tuple[Entry, dict[str, Any]]]:
    """What the client asked or told by a method, to an agent that speaks its version."""
    found = [
        (entry, message)
        for record, entry, message in case.messages()
        if message.get("method") == method and not record.name.endswith("strange")
    ]
    if not found:
        raise Unseen(f"there was no {method}")
    return found


def _params(entry: Entry, message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    if not isinstance(params, dict):
        raise Violation(f"{message['method']} has no params", entry)
    return params


# --- the handshake


@judge("ACCORD-CLIENT-INIT-001", steps=())
def the_handshake_comes_first(case: Case) -> None:
    for record in case.records:
        said = next((entry for entry in record.heard() if isinstance(entry.message, dict)), None)
        if said is not None and said.message.get("method") != "initialize":
            raise Violation("the first message was no `initialize`", said)
    if not any(message.get("method") == "initialize" for _, _, message in case.messages()):
        raise Violation(f"the client never shook hands: does it start the agent that it was given?{_last_words(case)}")


def _last_words(case: Case) -> str:
    said = [line for record in case.records for line in record.stderr.decode(errors="replace").splitlines() if line]
    return f" It said: {said[-1]}" if said else ""


@judge("ACCORD-CLIENT-INIT-002", steps=())
def the_version_is_a_small_integer(case: Case) -> None:
    for entry, message in _said(case, "initialize"):
        version = _params(entry, message).get("protocolVersion")
        if type(version) is not int or not 0 <= version <= MAX_VERSION:
            raise Violation(f"the version is {version!r}", entry)


@judge("ACCORD-CLIENT-INIT-003", steps=())
def the_client_says_who_it_is(case: Case) -> None:
    key = "info" if case.edition == "v2" else "clientInfo"
    entry, message = _said(case, "initialize")[-1]
    info = _params(entry, message).get(key)
    if not isinstance(info, dict) or not all(isinstance(info.get(word), str) for word in ("name", "version")):
        raise Violation(f"`{key}` has no name and version", entry)


SHAPES: dict[EditionName, dict[str, type]] = {
    "v1": {
        "fs": dict,
        "fs.readTextFile": bool,
        "fs.writeTextFile": bool,
        "terminal": bool,
        "session": dict,
        "session.notices": dict,
        "session.compaction": dict,
        "session.configOptions": dict,
        "session.configOptions.boolean": dict,
        "auth": dict,
        "auth.terminal": bool,
        "elicitation": dict,
        "elicitation.form": dict,
        "elicitation.url": dict,
    },
    "v2_june": {},
    "v2": {"auth": dict, "auth.terminal": dict, "elicitation": dict, "elicitation.form": dict, "elicitation.url": dict},
}


@judge("ACCORD-CLIENT-INIT-004", steps=())
def what_is_offered_has_its_shape(case: Case) -> None:
    entry, message = _said(case, "initialize")[-1]
    key = "clientCapabilities" if case.edition == "v1" else "capabilities"
    offered = _params(entry, message).get(key)
    if not isinstance(offered, dict | None):
        raise Violation(f"`{key}` is no object", entry)
    for path, kind in SHAPES[case.edition].items():
        said: Any = offered
        for word in path.split("."):
            said = said.get(word) if isinstance(said, dict) else None
        if said is not None and not isinstance(said, kind):
            raise Violation(f"`{key}.{path}` is {said!r}", entry)


@judge("ACCORD-CLIENT-INIT-005", steps=())
def a_strange_version_is_the_end(case: Case) -> None:
    records = [record for record in case.records if record.name.endswith("strange")]
    met = False
    for record in records:
        for entry in record.entries:
            message = entry.message if isinstance(entry.message, dict) else {}
            met = met or (entry.sent and "result" in message)
            if met and not entry.sent and str(message.get("method", "")).startswith("session/"):
                answer = next(each for each in record.entries if each.sent)
                raise Violation("it went on in a version that it cannot know", answer, entry)
    if not met:
        raise Unseen("the client did not shake hands again")


@judge("ACCORD-CLIENT-INIT-006", steps=())
def what_it_offers_is_recorded(case: Case) -> str:
    entry, message = _said(case, "initialize")[-1]
    offered = _params(entry, message).get("clientCapabilities" if case.edition == "v1" else "capabilities")
    names = sorted(_leaves(offered))
    return f"offers {', '.join(names)}" if names else "offers nothing"


@judge("ACCORD-CLIENT-INIT-007", steps=(), editions=("v2",))
def the_handshake_is_not_repeated_later(case: Case) -> None:
    for record in case.records:
        other: Entry | None = None
        for entry in record.heard():
            message = entry.message if isinstance(entry.message, dict) else {}
            if message.get("method") == "initialize" and other is not None:
                raise Violation("`initialize` came again after another request", other, entry)
            if "id" in message and isinstance(message.get("method"), str) and message["method"] != "initialize":
                other = other or entry
    _said(case, "initialize")


def _leaves(offered: Any, path: str = "") -> list[str]:
    if not isinstance(offered, dict) or (path and not offered):
        return [path] if path and offered not in (None, False) else []
    found = [_leaves(value, f"{path}.{key}" if path else key) for key, value in offered.items() if key != "_meta"]
    return [name for names in found for name in names]


# --- sessions


@judge("ACCORD-CLIENT-SESSION-001", steps=())
def sessions_work_at_an_absolute_path(case: Case) -> None:
    for entry, message in _said(case, "session/new"):
        cwd = _params(entry, message).get("cwd")
        if not isinstance(cwd, str) or not ABSOLUTE.match(cwd):
            raise Violation(f"`cwd` is {cwd!r}", entry)


@judge("ACCORD-CLIENT-SESSION-002", steps=())
def tool_servers_are_a_list(case: Case) -> None:
    for entry, message in _said(case, "session/new"):
        servers = _params(entry, message).get("mcpServers", [] if case.edition == "v2" else None)
        if not isinstance(servers, list):
            raise Violation("`mcpServers` is no list", entry)
        for server in servers:
            _check_server(case, entry, server)


def _check_server(case: Case, entry: Entry, server: Any) -> None:
    if not isinstance(server, dict) or not isinstance(server.get("name"), str):
        raise Violation("an MCP server has no name", entry)
    if case.edition != "v1" and not isinstance(server.get("type"), str):
        raise Violation("an MCP server does not say its type", entry)
    if server.get("type") in {"http", "sse"}:
        raise Violation("an MCP server is reached in a way that the agent does not have", entry)


@judge("ACCORD-CLIENT-SESSION-003", steps=())
def further_roots_are_named_only_to_who_takes_them(case: Case) -> None:
    for entry, message in _said(case, "session/new"):
        if _params(entry, message).get("additionalDirectories"):
            raise Violation("the agent takes no additional directories", entry)


@judge("ACCORD-CLIENT-SESSION-004", steps=())
def sessions_are_called_as_the_agent_called_them(case: Case) -> None:
    for record in case.records:
        given: set[str] = set()
        for entry in record.entries:
            message = entry.message if isinstance(entry.message, dict) else {}
            if entry.sent and isinstance(message.get("result"), dict) and "sessionId" in message["result"]:
                given.add(message["result"]["sessionId"])
            if not entry.sent and message.get("method") in {"session/prompt", "session/cancel"}:
                session = _params(entry, message).get("sessionId")
                if session not in given:
                    raise Violation(f"the agent has no session {session!r}", entry)
    _said(case, "session/prompt")


# --- what it calls


@judge("ACCORD-CLIENT-GATE-001", steps=())
def nothing_is_called_that_the_agent_does_not_tell_of(case: Case) -> None:
    for _, entry, message in case.messages():
        if message.get("method") in GATED[case.edition]:
            raise Violation(f"the agent does not say that it has {message['method']}", entry)
    _said(case, "initialize")


@judge("ACCORD-CLIENT-GATE-002", steps=())
def nothing_is_called_that_does_not_exist(case: Case) -> None:
    known = METHODS[case.edition] | GATED[case.edition]
    for _, entry, message in case.messages():
        method = message.get("method")
        if isinstance(method, str) and method not in known and not method.startswith(("_", "$/")):
            raise Violation(f"there is no method {method}", entry)
    _said(case, "initialize")
