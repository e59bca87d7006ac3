"""JSON Patch (RFC 6902), by which AG-UI agents report changes of their state."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from accord.json_values import JsonValue

__all__ = ["patched"]


class PatchFailed(ValueError):
    """The patch does not fit the document; nothing was changed."""


def patched(document: JsonValue, patch: Sequence[Mapping[str, Any]]) -> JsonValue:
    """A copy of the document with all operations of the patch applied in order.

    Raises:
        PatchFailed: An operation does not fit.
    """
    holder = {"": copy.deepcopy(document)}
    try:
        for operation in patch:
            _apply(holder, operation)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise PatchFailed("the patch does not fit the document") from error
    return holder[""]


def _apply(holder: dict[str, Any], operation: Mapping[str, Any]) -> None:
    path = _parts(operation["path"])
    match operation["op"]:
        case "add":
            _add(holder, path, copy.deepcopy(operation["value"]))
        case "replace":
            _remove(holder, path)
            _add(holder, path, copy.deepcopy(operation["value"]))
        case "remove":
            _remove(holder, path)
        case "move":
            _add(holder, path, _remove(holder, _parts(operation["from"])))
        case "copy":
            _add(holder, path, copy.deepcopy(_get(holder, _parts(operation["from"]))))
        case "test":
            if _get(holder, path) != operation["value"]:
                raise ValueError("a test failed")
        case unknown:
            raise ValueError(f"there is no operation {unknown!r}")


def _parts(pointer: str) -> list[str]:
    """The steps of a JSON pointer; the first leads from the holder to the document."""
    if pointer and not pointer.startswith("/"):
        raise ValueError("a pointer begins with a slash")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")]


def _get(value: Any, path: Sequence[str]) -> Any:
    for part in path:
        value = value[_index(value, part)] if isinstance(value, list) else value[part]
    return value


def _index(items: list[Any], part: str) -> int:
    if not part.isdigit() or (part != "0" and part.startswith("0")) or int(part) >= len(items):
        raise IndexError(part)
    return int(part)


def _add(holder: Any, path: Sequence[str], value: Any) -> None:
    place, last = _get(holder, path[:-1]), path[-1]
    if isinstance(place, list):
        place.insert(len(place) if last in {"-", str(len(place))} else _index(place, last), value)
    else:
        place[last] = value


def _remove(holder: Any, path: Sequence[str]) -> Any:
    place, last = _get(holder, path[:-1]), path[-1]
    return place.pop(_index(place, last) if isinstance(place, list) else last)
