"""The required answer to a text, judged by the letter of JSON-RPC and the standard library's `json` alone.

Written without a look at `accord.jsonrpc`: two readings of the same rules that must agree.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections import Counter
from typing import Any, Literal, NamedTuple

NULL = "null"

# Beyond this, how deep a reader can go decides whether a text is JSON.
_DEEP = 150
_IDS = re.compile(rb'"id"\s*:\s*(-?\d{1,30}|"(?:[^"\\]|\\.)*")')
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)


class Due(NamedTuple):
    """One answer that is owed, under one of these ids (as JSON); `sure` is False where none is fine as well."""

    ids: tuple[str, ...]
    sure: bool = True


def owed(text: bytes, side: Literal["agent", "client"], *, batches: bool) -> list[Due]:
    """The answers that a text calls for; `batches` says whether the edition has them."""
    # What its agent printed by mistake is not answered by a client.
    stray = side == "client" and text.lstrip()[:1] not in (b"{", b"[")
    try:
        value = _loads(text)
    except (ValueError, RecursionError):
        return [] if stray else _owed_for_no_json(text)
    if batches and isinstance(value, list) and value:
        dues = [due for entry in value for due in _owed_for_value(entry)]
        # Too deep for a reader, the whole batch is one text that is no JSON.
        return [Due(due.ids, sure=False) for due in [*dues, Due((NULL,))]] if _depth(text) > _DEEP else dues
    dues = [due for due in _owed_for_value(value) if not stray or due.ids != (NULL,)]
    return [Due((*due.ids, NULL), due.sure) for due in dues] if _depth(text) > _DEEP else dues


def _loads(text: bytes) -> Any:
    return json.loads(text.decode("utf-8-sig"), parse_constant=_refuse, parse_int=_read_int)


def _refuse(name: str) -> Any:
    message = f"{name} is not JSON"
    raise ValueError(message)


def _read_int(digits: str) -> float:
    return int(digits) if len(digits) < 4000 else math.inf


def _owed_for_no_json(text: bytes) -> list[Due]:
    if _depth(text) <= _DEEP:
        return [Due((NULL,))]
    return [Due((id_,), sure=False) for id_ in (NULL, *_ids_in(text))]


def _ids_in(text: bytes) -> list[str]:
    """What looks like an id in a text that cannot be read as a whole; `01` looks like one and is none."""
    ids = []
    for match in _IDS.findall(text):
        with contextlib.suppress(ValueError):
            ids.append(_key(json.loads(match.decode(errors="replace"), strict=False)))
    return ids


def _owed_for_value(value: Any) -> list[Due]:
    if not isinstance(value, dict):
        return [Due((NULL,))]
    if "method" not in value:
        return [] if {"id", "result", "error"} & value.keys() else [Due((NULL,))]
    if "id" not in value:
        is_whole = value.get("jsonrpc") == "2.0" and isinstance(value["method"], str)
        return [] if is_whole and not {"result", "error"} & value.keys() else [Due((NULL,))]
    id_ = value["id"]
    is_id = isinstance(id_, str) or (type(id_) is int and -(2**63) <= id_ < 2**63)
    return [Due((_key(id_) if is_id else NULL,))]


def _depth(text: bytes) -> int:
    deepest = depth = 0
    for byte in _STRINGS.sub(b"", text) if text.count(b"[") + text.count(b"{") > _DEEP else b"":
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _key(id_: Any) -> str:
    return json.dumps(id_)


def key_of(answer: dict[str, Any]) -> str:
    """The id of an answer as dues have it."""
    return _key(answer.get("id"))


def differences(dues: list[Due], received: Counter[str]) -> list[str]:
    """Where the answers that came are not those that were owed; empty where all is well."""
    left = Counter(received)
    found: list[str] = []
    # Those without a choice first, those that may go without last.
    for due in sorted(dues, key=lambda due: (not due.sure, len(due.ids) > 1)):
        id_ = next((each for each in due.ids if left[each] > 0), None)
        if id_ is not None:
            left[id_] -= 1
        elif due.sure:
            found.append(f"no answer under {' or '.join(due.ids)}")
    return found + [f"{count} answers too many under {id_}" for id_, count in left.items() if count > 0]
