"""Content blocks as text."""

from __future__ import annotations

from accord.session.content import Audio, Block, Image, Link, Resource, Text, block_text
from tests.tables import rows


@rows(
    ("block", "text"),
    [
        (Text("hello"), "hello"),
        (Resource("file:///a", text="inside"), "inside"),
        (Resource("file:///a", blob="AAAA"), ""),
        (Link("file:///a", "a"), "[a](file:///a)"),
        (Image("AAAA", "image/png"), ""),
        (Audio("AAAA", "audio/wav"), ""),
    ],
)
def test_a_block_as_text(block: Block, text: str) -> None:
    assert block_text(block) == text
