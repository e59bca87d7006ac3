"""Permission on simse's page: an update that asks, and one of four responses.

`PagePermissionRequest` is an update of a backend as v1's request for our client; `PendingPermission` is a v1 request of
our agent as an update for a client of the page.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from accord.dialects import Json
from accord.session.meta_original import ORIGINAL, ToolOriginal, keep
from accord.simse.update import METHOD, PERMISSION, notification, shown

__all__ = ["REJECT", "OpenPermissions", "PagePermissionRequest", "PendingPermission", "question_in", "response_of"]

REJECT = "reject_once"
"""The response for every answer that does not approve: the page has none for a dismissed question."""

NAMES = {
    "allow_once": "Allow once",
    "allow_always": "Always allow",
    "reject_once": "Reject once",
    "reject_always": "Always reject",
}
RESPONSES = frozenset(NAMES)
"""The page's four answers."""
_PLAIN = re.compile(r"[A-Za-z0-9_.-]{1,40}")
_STRANGE = re.compile(r"[^A-Za-z0-9_.-]+")
DIGEST_CHARACTERS = 12


class PagePermissionRequest:
    """One question about an `action`; "always" applies to that action."""

    def __init__(self, session_id: str, request_id: str | int, action: str, description: str) -> None:
        self.session_id = session_id
        self.request_id = request_id
        self.action = action
        self._description = description

    @property
    def _call_id(self) -> str:
        return f"permission-{self.request_id}"

    def request(self, id_: str) -> Json:
        """The request for the client, about a tool call that represents the action."""
        call = {
            "toolCallId": self._call_id,
            "title": self._description or self.action or "Permission required",
            "kind": "other",
            # A kind of its own for our client, so that the user's rules can distinguish actions.
            "_meta": keep(None, ToolOriginal(kind=_kind(self.action))),
            "status": "pending",
            "content": shown(self._description) if self._description else [],
            "rawInput": {"action": self.action, "description": self._description, "requestId": self.request_id},
        }
        options = [{"optionId": kind, "name": name, "kind": kind} for kind, name in NAMES.items()]
        params = {"sessionId": self.session_id, "toolCall": call, "options": options}
        return {"jsonrpc": "2.0", "id": id_, "method": "session/request_permission", "params": params}

    def answer(self, response: str) -> Json:
        """The answer for the agent."""
        params = {
            "sessionId": self.session_id,
            "type": "permission_response",
            "requestId": self.request_id,
            "response": response,
        }
        return {"jsonrpc": "2.0", "method": METHOD, "params": params}

    def end(self, response: str) -> Json:
        """The update for the client that ends the tool call of the action."""
        status = "completed" if response.startswith("allow") else "failed"
        update = {"sessionUpdate": "tool_call_update", "toolCallId": self._call_id, "status": status}
        return notification(self.session_id, update)


def question_in(session_id: str, fields: Json) -> PagePermissionRequest | None:
    """The question; None for one that could not be answered, because it has no id."""
    request_id, action, description = fields.get("requestId"), fields.get("action"), fields.get("description")
    if not isinstance(request_id, str | int):
        return None
    return PagePermissionRequest(session_id, request_id, _text(action), _text(description))


def response_of(answer: Json) -> str:
    """The client's answer, as one of the page's four responses."""
    outcome: Any = answer.get("result")
    for name in ("outcome", "optionId"):
        outcome = outcome.get(name) if isinstance(outcome, dict) else None
    return outcome if isinstance(outcome, str) and outcome in NAMES else REJECT


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _kind(action: str) -> str:
    if _PLAIN.fullmatch(action):
        return f"_{action}"
    # Rules are lines of words: an action that is no word gets a unique name.
    digest = hashlib.sha256(action.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARACTERS]
    return f"_{_STRANGE.sub('_', action)[:40]}-{digest}"


MAX_DEPTH = 3
"""How deep an answer is searched for its response: v1's own answer has it two objects below."""


class PendingPermission:
    """One `session/request_permission` of the agent; "always" applies to its `action`."""

    def __init__(self, id_: Any, params: Json, action: str) -> None:
        self.id = id_
        self.session_id: str = params["sessionId"]
        self.action = action
        self._call: Json = params["toolCall"]
        # An option whose kind v1 does not have is encoded as a rejection, and is no answer to one.
        self._options = {
            option["kind"]: option["optionId"]
            for option in reversed(params["options"])
            if ORIGINAL not in (option.get("_meta") or {})
        }

    def update(self, request_id: str) -> Json:
        """The update that asks the client."""
        fields = {
            "type": PERMISSION,
            "action": self.action,
            "description": _description(self._call) or self.action,
            "requestId": request_id,
        }
        return {"jsonrpc": "2.0", "method": METHOD, "params": {"sessionId": self.session_id, **fields}}

    def offers(self, response: str) -> bool:
        """Whether the agent has an option of exactly this kind."""
        return response in self._options

    def answer(self, response: str) -> Json:
        """The answer for the agent: the first option of the kind, else of the same kind for once, else none."""
        option = self._options.get(response) or self._options.get(response.replace("_always", "_once"))
        outcome = {"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option}
        return {"jsonrpc": "2.0", "id": self.id, "result": {"outcome": outcome}}


class OpenPermissions:
    """The open questions of a connection, and the answers for the rest of a session."""

    def __init__(self) -> None:
        self._open: dict[str, PendingPermission] = {}
        self._always: dict[str, dict[str, str]] = {}
        self._made = 0

    def is_open(self, request_id: Any) -> bool:
        """Whether the client was asked under this id and has not answered."""
        return isinstance(request_id, str) and request_id in self._open

    def open_question(self, question: PendingPermission) -> tuple[list[Json], list[Json]]:
        """The update for the client, or the answer for the agent where an earlier one applies."""
        held = self._always.get(question.session_id, {}).get(question.action)
        if held is not None and (held.startswith("reject") or question.offers(held)):
            return [], [question.answer(held)]
        self._made += 1
        request_id = f"permission-{self._made}"
        self._open[request_id] = question
        return [question.update(request_id)], []

    def take(self, request_id: Any, answer: Json, session_id: Any = None) -> list[Json] | None:
        """The answer for the agent; None where no such question is open."""
        if not self.is_open(request_id) or session_id not in (None, self._open[request_id].session_id):
            return None
        question = self._open.pop(request_id)
        response = _response_in(answer)
        # Where the agent offers no "always", a permission applies once. A rejection may always apply longer.
        if response.endswith("_always") and (response.startswith("reject") or question.offers(response)):
            self._always.setdefault(question.session_id, {})[question.action] = response
        return [question.answer(response)]

    def withdraw(self, id_: Any) -> bool:
        """The agent withdraws its request; False if the request is no open question."""
        found = [request_id for request_id, question in self._open.items() if question.id == id_]
        for request_id in found:
            del self._open[request_id]
        return bool(found)

    def forget(self, session_id: Any) -> None:
        """Drop the answers for the rest of a session that has ended."""
        if isinstance(session_id, str):
            self._always.pop(session_id, None)


def _response_in(answer: Json) -> str:
    """The one of the page's four responses in an answer, at any depth; a rejection where there is not exactly one."""
    found: set[str] = set()
    values: list[tuple[Any, int]] = [(answer, 0)]
    while values:
        value, depth = values.pop()
        if isinstance(value, str) and value in RESPONSES:
            found.add(value)
        elif isinstance(value, dict) and depth < MAX_DEPTH:
            values += [(each, depth + 1) for each in value.values()]
    return found.pop() if len(found) == 1 else REJECT


def _description(call: Json) -> str:
    """The title of the call and its content, separated by a newline."""
    lines = [call.get("title")]
    for item in call.get("content") or []:
        if item.get("type") == "diff":
            lines.append(f"[diff {item.get('path')}]")
        else:
            lines.append((item.get("content") or {}).get("text"))
    return "\n".join(line for line in lines if line)
