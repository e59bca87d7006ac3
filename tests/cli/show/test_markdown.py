"""The document of a session: what others wrote is neither HTML nor a picture, and outside of messages no markup."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from accord.cli.show.text_layout import markdown
from accord.session.custom import Custom
from accord.session.entry import Plan, ToolCall
from accord.session.event import PlanEntry
from tests.live_markdown import HOSTILE_MARKDOWN, live_markup
from tests.session.test_notebook import everywhere, terminals
from tests.tables import rows


def document(evil: str, timeline: Any) -> str:
    transcript: Any = SimpleNamespace(title=evil, timeline=timeline, terminals=terminals(evil))
    return markdown(transcript, evil, evil)


@rows("evil", HOSTILE_MARKDOWN)
def test_a_document_has_no_html_and_no_pictures_of_others(evil: str) -> None:
    assert not {"html_inline", "html_block", "image"} & set(live_markup(document(evil, everywhere(evil))))


@rows("evil", HOSTILE_MARKDOWN)
def test_titles_steps_and_calls_bring_no_markup(evil: str) -> None:
    parts = [
        Plan("p", [PlanEntry(evil, Custom(evil), Custom(evil))]),
        ToolCall("1", title=evil, kind=evil, status=evil),
    ]
    assert set(live_markup(document(evil, parts))) == {"heading_open"}
