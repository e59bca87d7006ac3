"""The spelling of the names that a host judges: an agent must not find another value under a name of another case.

Some JSON readers take `CWD` for `cwd` (Go's does), and the last one counts. Such a program behind a host would work in
a directory, or on a session, that the host did not see.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from accord.errors import InvalidParams

__all__ = ["check_names", "check_spelling"]

_JUDGED = {
    name.casefold(): name
    for name in (
        "id", "method", "params", "sessionId", "cwd", "additionalDirectories", "mcpServers", "type", "command",
    )
}  # fmt: skip

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def check_names(text: bytes) -> None:
    """Check the names of a message and those of its params.

    Raises:
        InvalidParams: One differs from a name that is judged by its case only.
    """
    try:
        message = _members(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Half of a surrogate pair: other readers take it.
        message = json.loads(text)
    check_spelling(message)
    check_spelling(_names_of(message.get("params")), "params.")


def _names_of(params: Any) -> Iterable[str]:
    if not isinstance(params, msgspec.Raw):
        return params if isinstance(params, dict) else ()
    try:
        return _members(params)
    except msgspec.ValidationError:
        return ()  # the agent says what is wrong with them


def check_spelling(names: Iterable[str], where: str = "") -> None:
    """Check the names of one object; `where` goes before them in the error.

    Raises:
        InvalidParams: One differs from a name that is judged by its case only.
    """
    for name in names:
        expected = _JUDGED.get(name.casefold())
        if expected is not None and expected != name:
            raise InvalidParams(
                "A name has another case than in the protocol", {"field": where + name, "expected": expected}
            )
