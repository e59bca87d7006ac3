"""Whether what an agent says has the shape that its edition demands.

The judge is our own codec in strict mode, which also sees every key that no type names, and beside it the official
schemas where `ACCORD_SCHEMAS` has them.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from accord.protocol.codec import Codec, Misfit, encode
from accord.protocol.edition import V1, V2, V2_JUNE, Edition
from tests.requirements.stage import Take

__all__ = ["misfits", "strange_keys"]

EDITIONS: dict[str, Edition] = {edition.name: edition for edition in (V1, V2, V2_JUNE)}
FOLDERS = {"v1": "v1", "v2": "v2", "v2_june": "v2-june"}


class _Piece:
    """Params or a result, with the method they belong to."""

    def __init__(self, method: str, value: Any, *, is_result: bool) -> None:
        self.method = method
        self.value = value
        self.is_result = is_result


def _pieces(take: Take) -> Iterator[_Piece]:
    asked = {
        _key(entry.message): entry.message["method"]
        for entry in take.record.entries
        if entry.sent and isinstance(entry.message, dict) and "method" in entry.message and "id" in entry.message
    }
    for message in take.messages():
        if not isinstance(message, dict):
            continue
        if "method" in message:
            yield _Piece(message["method"], message.get("params", {}), is_result=False)
        elif "result" in message and _key(message) in asked:
            yield _Piece(asked[_key(message)], message["result"], is_result=True)


def _key(message: dict[str, Any]) -> tuple[type, Any]:
    return type(message["id"]), message["id"]


def _type_of(edition: Edition, piece: _Piece) -> Any:
    if piece.is_result:
        served = edition.request("agent", piece.method)
        return None if served is None else served.result
    asked = edition.request("client", piece.method) or edition.notification("client", piece.method)
    return None if asked is None else asked.params


@functools.cache
def _definitions(edition: str) -> dict[str, Any] | None:
    folder = os.environ.get("ACCORD_SCHEMAS")
    if not folder:
        return None
    text = (Path(folder) / FOLDERS[edition] / "schema.json").read_text(encoding="utf-8")
    definitions: dict[str, Any] = json.loads(text)["$defs"]
    return definitions


@functools.cache
def _definition(edition: str, method: str, *, is_result: bool) -> str | None:
    """The name of the definition for an agent's params or results."""
    sides = {"agent"} if is_result else {"client", "protocol"}
    for name, definition in (_definitions(edition) or {}).items():
        fits = definition.get("x-method") == method and definition.get("x-side") in sides
        if fits and name.endswith("Response") == is_result:
            return name
    return None


@functools.cache
def _validator(edition: str, name: str) -> Any:
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": _definitions(edition)})


def misfits(take: Take) -> list[str]:
    """What does not fit; methods beside the protocol have no shape."""
    edition = EDITIONS[take.edition]
    found = []
    for piece in _pieces(take):
        if piece.method.startswith("_"):
            continue
        kind = _type_of(edition, piece)
        if kind is None:
            found.append(f"{piece.method}: unknown")
            continue
        try:
            Codec(strict=True).convert(kind, piece.value)
        except Misfit as misfit:
            found.append(f"{piece.method}: {misfit!r}")
        found += _schema_misfits(take.edition, piece)
    return found


def _schema_misfits(edition: str, piece: _Piece) -> list[str]:
    if _definitions(edition) is None:
        return []
    name = _definition(edition, piece.method, is_result=piece.is_result)
    if name is None:
        return [f"{piece.method}: not in the schema"]
    errors = _validator(edition, name).iter_errors(piece.value)
    return [f"{name}.{'.'.join(str(part) for part in error.absolute_path)}: {error.message}" for error in errors]


def strange_keys(take: Take) -> list[str]:
    """The keys that have no place in the edition: at any depth by our types, at the root by the schemas."""
    edition = EDITIONS[take.edition]
    found = []
    for piece in _pieces(take):
        kind = _type_of(edition, piece)
        if kind is None:
            continue
        kept = json.loads(encode(Codec().convert(kind, piece.value)))
        found += [f"{piece.method}{path}" for path in _lost(piece.value, kept)]
        name = _definition(take.edition, piece.method, is_result=piece.is_result)
        if name is not None:
            known = _keys(_definitions(take.edition) or {}, {"$ref": f"#/$defs/{name}"})
            found += [f"{piece.method}.{key}" for key in piece.value if key not in known]
    return found


def _lost(value: Any, kept: Any, path: str = "") -> list[str]:
    """Where something was said that the types did not keep; a default that was said and left out is no loss."""
    if isinstance(value, dict) and isinstance(kept, dict):
        lost = [f"{path}.{key}" for key, each in value.items() if key not in kept and not _is_default(each)]
        return lost + [part for key in value if key in kept for part in _lost(value[key], kept[key], f"{path}.{key}")]
    if isinstance(value, list) and isinstance(kept, list) and len(value) == len(kept):
        return [
            part for place, pair in enumerate(zip(value, kept, strict=True)) for part in _lost(*pair, f"{path}.{place}")
        ]
    return [] if value == kept else [path]


def _is_default(value: Any) -> bool:
    return value is None or value is False or value in ({}, [])


def _keys(definitions: dict[str, Any], schema: dict[str, Any]) -> set[str]:
    """Every key that a definition names, in whichever of its branches."""
    found = set(schema.get("properties", {}))
    if "$ref" in schema:
        found |= _keys(definitions, definitions[schema["$ref"].removeprefix("#/$defs/")])
    for branch in (*schema.get("allOf", ()), *schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= _keys(definitions, branch)
    return found
