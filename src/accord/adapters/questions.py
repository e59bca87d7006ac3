"""Questions of an agent's code as texts that hide nothing, and the answers that are yes or no.

Frameworks let authors ask with any value; a person can only consent to what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from accord.adapters.tool_calls import json_text
from accord.json_values import JsonValue

__all__ = ["CONSENT", "is_yes", "question_text", "wants_consent"]

# The keys that authors use for the question itself, which comes first.
QUESTION_KEYS = ("question", "message", "prompt", "text", "instruction", "hint", "reason", "title")
CONSENT = {"type": "boolean"}
YES = frozenset(
    {"y", "yes", "yes please", "true", "1", "ok", "okay", "sure", "allow", "approve", "approved", "accept", "confirm"}
    | {"continue", "go ahead", "proceed"}
)
_CONSENT = re.compile(
    r"\b(accept|allow|approv\w*|authori[sz]e|confirm|continue|go ahead|ok|okay|permit|proceed|sure|yes/no|y/n"
    r"|(shall|should|may|can) (i|we))\b"
)
_OPEN_QUESTION = re.compile(r"\b(what|when|where|which|who|whom|whose|why|how)\b")


def question_text(value: object) -> str:
    """A question with everything that belongs to it: the sentence, and then each other key in a line of its own."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        return f"The agent asks: {json_text(value)}"
    sentence = _sentence_key(value)
    rest = [
        f"{key}: {inner if isinstance(inner, str) else json_text(inner)}"
        for key, inner in value.items()
        if key != sentence
    ]
    return "\n".join([value[sentence] if sentence else "The agent asks:", *rest])


def wants_consent(value: object) -> bool:
    """Whether a question without a schema is answered by yes or no: LangGraph's own examples resume with a boolean.

    "Approve this action?" is one, and so is every question with `details`; "Which table?" and "What may I drop?" are
    none.
    """
    has_details = isinstance(value, Mapping) and {"question", "details"} <= value.keys()
    sentence = value.get(_sentence_key(value)) if isinstance(value, Mapping) else value
    if not isinstance(sentence, str) or _OPEN_QUESTION.search(sentence.lower()):
        return False
    return has_details or ("?" in sentence and _CONSENT.search(sentence.lower()) is not None)


def is_yes(answer: JsonValue) -> bool:
    """Whether an answer consents: everything but a plain yes does not."""
    return answer is True or (isinstance(answer, str) and answer.strip(" \t\n.!").lower() in YES)


def _sentence_key(value: Mapping[str, Any]) -> str:
    return next((key for key in QUESTION_KEYS if isinstance(value.get(key), str) and value[key]), "")
