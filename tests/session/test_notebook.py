"""A conversation in a notebook: everything of others is text, and nothing is longer than its limit."""

from __future__ import annotations

import html.parser

import pytest

from accord.session.content import Audio, Block, Image, Link, Resource, Text
from accord.session.custom import Custom
from accord.session.entry import Entry, Message, Passage, Plan, TerminalEntry, ToolCall, changes_of
from accord.session.event import PlanEntry
from accord.session.notebook import (
    MAX_CHARACTERS,
    MAX_COMPARED_CHARACTERS,
    MAX_ENTRIES,
    MAX_LINES,
    conversation_html,
    conversation_markdown,
)
from accord.session.tool import Diff, FileChange, Shown, TerminalView
from tests.live_markdown import HOSTILE_MARKDOWN, live_markup
from tests.tables import rows

EVIL = '<script>alert(1)</script><img src=x onerror="alert(2)">\x1b[31m & "quoted" \u202e'


def message(text: str, speaker: str = "agent") -> Message:
    return Message(speaker, None, Passage([Text(text)]))  # type: ignore[arg-type]


def everywhere(text: str) -> list[Entry]:
    """Entries that hold a text in every place where an agent may put one."""
    blocks: list[Block] = [
        Text(text),
        Image("", text),
        Audio("", text),
        Link(text, text),
        Resource(uri=text, text=text),
    ]
    content = [Shown(block) for block in blocks]
    change = FileChange(text, old=text, new=f"{text}\nmore", operation=Custom(text))
    call = ToolCall("1", title=text, kind=text, status=text, content=[*content, Diff([change]), TerminalView("t")])
    bare = ToolCall("2", name=text, raw_input={text: text})
    plan = Plan("p", [PlanEntry(text, Custom(text), Custom(text))])
    return [Message(who, None, Passage(blocks)) for who in ("user", "agent", "thought")] + [call, bare, plan]  # type: ignore[return-value]


def terminals(text: str) -> dict[str, TerminalEntry]:
    terminal = TerminalEntry("t")
    terminal._output += text.encode()
    return {"t": terminal}


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words += data


def parsed(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    tags.close()
    return tags


def test_nothing_of_others_becomes_markup() -> None:
    page = parsed(conversation_html(EVIL, everywhere(EVIL), terminals(EVIL), EVIL))
    assert page.seen <= {"div", "b", "details", "summary", "ul", "li", "code"}
    assert page.attributes == {"style"}
    assert page.words.count("<script>alert(1)</script>") >= 15
    assert not {"\x1b", "\u202e"} & set(page.words)


def test_markdown_has_neither_html_nor_pictures_nor_a_way_out_of_its_fences() -> None:
    text = "```\n![](http://tracker/x.png) <img src=y>\n````\n# heading"
    page = conversation_markdown(text, everywhere(text), terminals(text), text)
    outside = page.split("`````text")[0]
    for part in page.split("`````text")[1:]:
        outside += part.split("`````", 1)[1]
    assert "<img" not in outside.replace("\\<img", "")
    assert "![](" not in outside


@rows("evil", HOSTILE_MARKDOWN)
def test_markdown_shows_html_and_pictures_as_text(evil: str) -> None:
    page = conversation_markdown(evil, everywhere(evil), terminals(evil), evil)
    assert not {"html_inline", "html_block", "image"} & set(live_markup(page))


@pytest.mark.parametrize("show", [conversation_html, conversation_markdown])
def test_what_is_shown_is_bounded(show: object) -> None:
    long = "x" * (MAX_CHARACTERS * 10) + "\n" * 1000
    many = [entry for _ in range(MAX_ENTRIES) for entry in everywhere(long)]
    page = show("title", many, terminals(long))  # type: ignore[operator]
    assert len(page) < MAX_ENTRIES * (MAX_CHARACTERS + 1_000) * 12
    assert f"{len(many) - MAX_ENTRIES} earlier entries" in page


def test_a_long_diff_is_cut_and_a_huge_one_is_not_compared() -> None:
    new = "\n".join(str(number) for number in range(1000))
    call = ToolCall("1", content=[Diff([FileChange("a.py", old="", new=new)])])
    assert f"{1000 + 1 - MAX_LINES} more lines" in conversation_html("t", [call], {})
    call.content = [Diff([FileChange("a.py", old="", new="y\n" * MAX_COMPARED_CHARACTERS)])]
    assert "too long" in conversation_html("t", [call], {})


def test_a_conversation_shows_who_spoke_the_work_and_its_end() -> None:
    change = FileChange("a.py", old="one\n", new="two\n")
    call = ToolCall("1", title="Edit a.py", kind="edit", status="completed", content=[Diff([change])])
    plan = Plan("p", [PlanEntry("Read", "completed")])
    entries: list[Entry] = [message("Fix it", "user"), message("Hmm", "thought"), plan, call, message("Done.")]
    words = parsed(conversation_html("session 1", entries, {}, "end_turn")).words
    places = [words.index(word) for word in ("session 1", "You", "Fix it", "Hmm", "✓ Read", "✓ Edit a.py", "-one")]
    assert places == sorted(places)
    assert words.endswith("AgentDone.end_turn")
    page = conversation_markdown("session 1", entries, {}, "end_turn")
    assert "**Agent:** Done." in page
    assert "\n-one\n+two\n" in page
    assert "> Hmm" in page


def test_changes_are_those_of_calls_that_did_not_fail() -> None:
    calls = [
        ToolCall("1", status="completed", content=[Diff([FileChange("a"), FileChange("b")])]),
        ToolCall("2", status="failed", content=[Diff([FileChange("c")])]),
        ToolCall("3", status="cancelled", content=[Diff([FileChange("d")])]),
        ToolCall("4", status="in_progress", content=[Shown(Text("x")), Diff([FileChange("e")])]),
    ]
    assert [change.path for change in changes_of(calls)] == ["a", "b", "e"]
    assert [change.path for call in calls for change in call.diffs] == ["a", "b", "c", "d", "e"]
