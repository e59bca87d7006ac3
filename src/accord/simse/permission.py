"""Permission inside an update: v1's question, and the one word that the page has for an answer."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from accord.dialects import Json
from accord.session.meta_original import ToolOriginal, keep
from accord.simse.update import METHOD, notification, shown

__all__ = ["REJECT", "RESPONSES", "PagePermissionRequest", "question_in", "response_of"]

REJECT = "reject_once"
"""What everything is that does not approve: the page has no word for a question that was dismissed."""

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
    """One question: it is about an `action`, which is what "always" holds for."""

    def __init__(self, session_id: str, request_id: str | int, action: str, description: str) -> None:
        self.session_id = session_id
        self.request_id = request_id
        self.action = action
        self._description = description

    @property
    def _call_id(self) -> str:
        return f"permission-{self.request_id}"

    def request(self, id_: str) -> Json:
        """The request for the client, about a tool call that stands for the action."""
        call = {
            "toolCallId": self._call_id,
            "title": self._description or self.action or "Permission required",
            "kind": "other",
            # A kind of its own for our ears, so that the user's rules, too, tell one action from another.
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
        """For the client: the tool call that stood for the action does not stay open."""
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
    """What the client answered, as one of the page's four words."""
    outcome: Any = answer.get("result")
    for name in ("outcome", "optionId"):
        outcome = outcome.get(name) if isinstance(outcome, dict) else None
    return outcome if isinstance(outcome, str) and outcome in NAMES else REJECT


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _kind(action: str) -> str:
    if _PLAIN.fullmatch(action):
        return f"_{action}"
    # Rules are lines of words: an action that is none gets a name that no other has.
    digest = hashlib.sha256(action.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARACTERS]
    return f"_{_STRANGE.sub('_', action)[:40]}-{digest}"
