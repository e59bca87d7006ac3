"""The text of a web page: its paragraphs, headings, lists and links, without scripts and styles."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

_HIDDEN = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object"})
_BLOCKS = frozenset(
    """
    address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header
    hr li main nav ol p pre section table td th tr ul
    """.split()  # noqa: SIM905 - a list of words reads best as one
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLANKS = re.compile(r"[^\S\n]+")
_EMPTY_LINES = re.compile(r"\n\s*\n\s*")


def page_text(html: str, address: str) -> str:
    """The text of an HTML document as Markdown, roughly; links are made absolute against its address."""
    reader = _Reader(address)
    reader.feed(html)
    reader.close()
    text = _EMPTY_LINES.sub("\n\n", "".join(reader.parts)).strip()
    title = " ".join("".join(reader.title).split())
    return f"{title}\n\n{text}" if title and not text.startswith(f"# {title}") else text


class _Reader(HTMLParser):
    def __init__(self, address: str) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._address = address
        self._hidden: list[str] = []
        self._links: list[str] = []
        self._in_title = False
        self._in_pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title |= tag == "title"
        if tag in _HIDDEN:
            self._hidden.append(tag)
        if not self._hidden:
            self._begin(tag, dict(attrs))

    def _begin(self, tag: str, attributes: dict[str, str | None]) -> None:
        if tag in _BLOCKS:
            self.parts.append("\n" if tag in {"br", "li", "tr"} else "\n\n")
        if tag == "li":
            self.parts.append("- ")
        elif tag in _HEADINGS:
            self.parts.append(f"{_HEADINGS[tag]} ")
        elif tag == "pre":
            self._in_pre += 1
        elif tag == "a":
            self._begin_link(attributes.get("href"))

    def _begin_link(self, href: str | None) -> None:
        try:
            target = urljoin(self._address, href or "").partition("#")[0]
        except ValueError:
            target = ""
        is_elsewhere = target.startswith(("http://", "https://")) and target != self._address
        self._links.append(target if is_elsewhere and href else "")
        if self._links[-1]:
            self.parts.append("[")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if tag in self._hidden:
            # What was left open inside of it ends with it.
            del self._hidden[len(self._hidden) - 1 - self._hidden[::-1].index(tag) :]
            return
        if self._hidden:
            return
        if tag == "a" and self._links:
            target = self._links.pop()
            if target:
                self.parts.append(f"]({target})")
        elif tag == "pre":
            self._in_pre = max(self._in_pre - 1, 0)
        if tag in _BLOCKS - {"br", "hr"}:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._hidden:
            self.parts.append(data if self._in_pre else _BLANKS.sub(" ", data.replace("\n", " ")))
