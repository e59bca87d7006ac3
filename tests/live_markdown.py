"""What is live in a Markdown document: markup that a foreign text must not bring into it."""

from __future__ import annotations

from collections import Counter

__all__ = ["HOSTILE_MARKDOWN", "live_markup"]

HOSTILE_MARKDOWN = (
    "<script>alert(1)</script>",
    "<!-- hidden",
    "# forged",
    "forged\n======",
    "![](http://tracker.invalid/x.png)",
    "[click](http://evil.invalid) <http://evil.invalid>",
    "```\n# forged\n<b>x</b>\n````\n~~~",
    "`a` ``b`` `<img src=x>`",
    "\\`<img src=x>\\`",
    "a | <b>c</b> | d",
    "*x* **y** ~~z~~ $q$",
    "- item\n> quote\n1. one\n***\n    code",
    "[ref]: http://evil.invalid\n[ref]",
    "</details>\r\n\u2028# forged",
)
_LIVE = {"html_inline", "html_block", "image", "link_open", "heading_open", "em_open", "hr", "ordered_list_open"}


def live_markup(document: str) -> Counter[str]:
    """The live tokens of a document, by their kind."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - large

    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(document)
    every = [inner for token in tokens for inner in (token, *(token.children or []))]
    return Counter(token.type for token in every if token.type in _LIVE)
