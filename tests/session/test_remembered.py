"""Remembered answers as documents: read whole or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accord.session.remembered import (
    CommandTarget,
    DocumentError,
    InputTarget,
    PathTarget,
    RememberedAnswer,
    decode_answers,
    encode_answers,
)
from tests.tables import rows

ANSWERS = (
    RememberedAnswer("allow", targets=(PathTarget("edit", "/a\nallow all"), CommandTarget("/w", ("rm", "*"), None))),
    RememberedAnswer(
        "deny", targets=(InputTarget("other", "0" * 64), CommandTarget("/w", None, "a\u2028b", (("A", "b"),)))
    ),
    RememberedAnswer("allow", "folder", kind="edit", folder="/w"),
    RememberedAnswer("allow", "kind", kind="edit"),
    RememberedAnswer("deny", "program", program="git"),
)
DOCUMENT = encode_answers("key", "/w", ("/bin/agent", "--acp"), ANSWERS)


def changed(**fields: Any) -> bytes:
    return json.dumps({**json.loads(DOCUMENT), **fields}).encode()


def test_a_document_is_read_as_it_was_written() -> None:
    document = decode_answers(DOCUMENT)

    assert document.answers == ANSWERS
    assert (document.session, document.directory, document.agent) == ("key", "/w", ("/bin/agent", "--acp"))


@rows(
    "data",
    [
        b"", b"[]", b"null", b"{}", b"{", b"\xff", b"[" * 100_000, changed(version=0), changed(version="1"),
        changed(format="x"), changed(more=1),
        changed(answers=[{"effect": "ask"}]), changed(answers=[{"effect": "allow"}]),
        changed(answers=[{"effect": "allow", "scope": "kind", "kind": "edit", "folder": "/"}]),
        changed(answers=[{"effect": "allow", "scope": "folder", "kind": "edit"}]),
        changed(answers=[{"effect": "allow", "targets": [{"type": "path", "kind": "edit", "path": "/a", "x": 1}]}]),
        changed(answers=[{"effect": "allow", "targets": [{"type": "glob", "path": "/**"}]}]),
    ],
)  # fmt: skip
def test_a_document_with_anything_unknown_in_it_is_refused_whole(data: bytes) -> None:
    with pytest.raises(DocumentError) as caught:
        decode_answers(data)
    assert not caught.value.is_newer


def test_a_later_version_is_refused_and_named() -> None:
    with pytest.raises(DocumentError, match="later") as caught:
        decode_answers(changed(version=2))
    assert caught.value.is_newer


def test_half_a_character_is_not_written_down() -> None:
    with pytest.raises(DocumentError):
        encode_answers("key", "/w", ("a",), (RememberedAnswer("allow", targets=(PathTarget("edit", "/\ud800"),)),))
