"""Reads an official schema file into the facts of an inventory; refuses what it does not understand.

Only the subset of JSON Schema that these files use is known. A keyword that is new here is an error, so that no part of
a later schema is passed over in silence.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.protocol.inventory.facts import Definition, Field, Fields, Inventory, MethodRow

MARKS = {
    "x-deserialize-default-on-error": "lenient",
    "x-deserialize-skip-invalid-items": "sieved",
    "x-deserialize-default-on-null": "null-is-empty",
}
SILENT = {"description", "title", "x-docs-ignore", "discriminator", "unevaluatedProperties", "x-side", "x-method"}
KNOWN = SILENT | set(MARKS)
KNOWN |= {"$ref", "type", "properties", "required", "default", "items", "enum", "const", "format", "contentEncoding"}
KNOWN |= {"anyOf", "oneOf", "allOf", "not", "additionalProperties", "minimum", "maximum", "minLength", "minItems"}
BOUNDS = {"uint16": (0, 65535), "uint32": (0, None), "uint64": (0, None)}
MESSAGES = {
    f"{side}{sort}" for side in ("Agent", "Client", "Proxy") for sort in ("Request", "Response", "Notification")
}


def read_schema(path: Path) -> Inventory:
    """The facts of one schema file."""
    definitions = json.loads(path.read_text(encoding="utf-8"))["$defs"]
    inventory = Inventory()
    for name, schema in definitions.items():
        inventory.definitions[name] = _definition(name, schema)
    inventory.methods = _methods(definitions)
    return inventory


def _methods(definitions: dict[str, Any]) -> list[MethodRow]:
    rows = []
    results = {
        (schema["x-side"], schema["x-method"]): name
        for name, schema in definitions.items()
        if "x-method" in schema and name.endswith("Response")
    }
    for name, schema in definitions.items():
        if "x-method" not in schema or name.endswith("Response"):
            continue
        place = schema["x-side"], schema["x-method"]
        side = "both" if place[0] == "protocol" else place[0]
        rows.append(MethodRow(place[1], side, name, results[place] if name.endswith("Request") else ""))
    return sorted(rows, key=lambda row: (row.side, row.name, row.params))


def _check(schema: dict[str, Any]) -> None:
    if not schema.keys() <= KNOWN:
        unknown = sorted(schema.keys() - KNOWN)
        message = f"keywords that no inventory knows: {unknown}"
        raise ValueError(message)


def _definition(name: str, schema: Any) -> Definition:
    _check(schema)
    if name in MESSAGES:
        return Definition("message", words=" | ".join(_carried(schema)))
    members = schema.get("anyOf") or schema.get("oneOf")
    if "enum" in schema:
        return Definition("enum", values=tuple(schema["enum"]))
    if members is None:
        if schema.get("type") == "object" and ("properties" in schema or "additionalProperties" not in schema):
            return Definition("struct", fields=_fields(schema))
        return Definition("alias", words=_words(schema))
    if all(_values(member) or member.get("type") in ("string", "integer") for member in members) and any(
        map(_values, members)
    ):
        return _enum(members)
    if all("$ref" in _bare(member) for member in members) and "properties" in schema:
        scopes = tuple(_name(_bare(member)) for member in members)
        return Definition("struct", fields=_fields(schema), scopes=scopes, exactly_one="oneOf" in schema)
    if all(map(_is_object, members)):
        return _union(schema, members)
    return Definition("alias", words=_words(schema))


def _carried(schema: dict[str, Any]) -> list[str]:
    """What a message may hold as its params or its result."""
    members = schema.get("anyOf") or [schema]
    names: list[str] = []
    for member in members:
        for key in ("params", "result"):
            names += _alternatives(member.get("properties", {}).get(key, {}))
        names += _alternatives(member) if "properties" not in member else []
    return list(dict.fromkeys(names))


def _alternatives(schema: dict[str, Any]) -> list[str]:
    if "$ref" in _bare(schema):
        return [_name(_bare(schema))]
    return [name for member in schema.get("anyOf", []) for name in _alternatives(member)]


def _values(schema: dict[str, Any]) -> list[Any]:
    return [schema["const"]] if "const" in schema else schema.get("enum", [])


def _enum(members: list[dict[str, Any]]) -> Definition:
    values = [str(value) for member in members for value in _values(member)]
    return Definition("enum", values=tuple(values), open=not all(map(_values, members)))


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the wrapping that only carries a description."""
    inner = schema.get("allOf", [])
    if len(inner) == 1 and "properties" not in schema:
        return {**{key: value for key, value in schema.items() if key in MARKS}, **inner[0]}
    return schema


def _name(schema: dict[str, Any]) -> str:
    return str(schema["$ref"].removeprefix("#/$defs/"))


def _is_object(schema: dict[str, Any]) -> bool:
    return "properties" in schema or "$ref" in _bare(schema)


def _union(schema: dict[str, Any], members: list[dict[str, Any]]) -> Definition:
    definition = Definition("union", fields=_fields(schema))
    for member in members:
        _check(member)
        if not member.get("properties"):
            definition.plain.append(_name(_bare(member)))
        else:
            _variant(definition, member)
    definition.fields.pop(definition.tag, None)
    return definition


def _variant(definition: Definition, member: dict[str, Any]) -> None:
    tags = {key: value["const"] for key, value in member["properties"].items() if "const" in value}
    rest = _fields(member)
    if tags:
        ((definition.tag, tag),) = tags.items()
        del rest[definition.tag]
        references = [_name(inner) for inner in member.get("allOf", [])]
        definition.variants[tag] = references[0] if references else rest or ""
    elif member.get("title") == "other":
        definition.open = True
        definition.tag = definition.tag or next(iter(rest))
        del rest[definition.tag]
        definition.further = rest
    elif member.get("title") == "none":
        definition.tag_required = False
    else:
        definition.plain.append(rest)


def _fields(schema: dict[str, Any]) -> Fields:
    required = schema.get("required", [])
    return {key: _field(value, required=key in required) for key, value in schema.get("properties", {}).items()}


def _field(schema: Any, *, required: bool) -> Field:
    if schema is True:
        return Field("any", required)
    marks = tuple(word for keyword, word in MARKS.items() if schema.get(keyword))
    default = json.dumps(schema["default"], sort_keys=True) if "default" in schema else ""
    return Field(_words(schema), required, default, marks)


def _words(schema: Any) -> str:
    if schema is True:
        return "any"
    _check(schema)
    schema = _bare(schema)
    if "$ref" in schema:
        return _name(schema)
    members = schema.get("anyOf") or schema.get("oneOf")
    if members:
        return " | ".join(map(_words, members))
    kinds = schema.get("type", "any")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return " | ".join(_simple(kind, schema) for kind in kinds)


def _simple(kind: str, schema: dict[str, Any]) -> str:
    if kind == "string":
        refinement = schema.get("format") or schema.get("contentEncoding")
        return "string" + (f"({refinement})" if refinement else "") + ("+" if schema.get("minLength") else "")
    if kind in ("integer", "number"):
        return _number(schema)
    if kind == "array":
        return f"[{_words(schema['items'])}]" + ("+" if schema.get("minItems") else "")
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"{{{_words(schema['additionalProperties'])}}}"
    return kind


def _number(schema: dict[str, Any]) -> str:
    name = str(schema["format"])
    usual = BOUNDS.get(name, (None, None))
    bounds = schema.get("minimum"), schema.get("maximum")
    if bounds == usual or (name == "uint16" and bounds == (0, None)):
        return name
    low, high = (bound if bound != other else None for bound, other in zip(bounds, usual, strict=True))
    return f"{name}[{'' if low is None else f'{low:g}'}..{'' if high is None else f'{high:g}'}]"
