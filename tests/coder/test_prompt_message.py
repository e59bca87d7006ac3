"""What a prompt is to a model."""

from __future__ import annotations

from pathlib import Path

from accord.coder.memory import message_of
from accord.coder.model import Picture, UserMessage
from accord.session.content import Audio, Image, Link, Resource, Text
from tests.coder.rig import agent_with, say, talk
from tests.tables import rows


def test_links_are_named_in_their_place_and_files_come_behind() -> None:
    message = message_of(
        [
            Text("compare "),
            Link("file:///work/a%20b.py", "a b.py"),
            Text("with"),
            Resource("file:///other/c.py", text="import os"),
            Link("https://example.org/x", "x"),
            Image("AAEC", "image/png"),
            Audio("AAEC", "audio/wav"),
            Resource("file:///work/blob", blob="AAEC"),
        ],
        "/work",
    )

    assert message == UserMessage(
        "compare a b.py with /other/c.py https://example.org/x",
        [Picture("AAEC", "image/png")],
        "/other/c.py:\nimport os",
    )
    assert message.whole == f"{message.text}\n\n{message.attached}"


async def test_the_first_prompt_names_the_session(tmp_path: Path) -> None:
    agent, _ = agent_with(say("One."), say("Two."))
    async with talk(agent, tmp_path) as talked:
        await talked.ask("a  long\ntitle " + "x" * 100)
        await talked.ask("another")

        assert talked.session.title == f"a long title {'x' * 46}…"


@rows("uri", ["file://", "file://host", "http://[::1", "http://[no address]", ""])
def test_an_address_that_names_no_file_stays_as_it_is(uri: str) -> None:
    assert message_of([Link(uri, "a"), Resource(uri, "b")], "/work").text.split() == f"{uri} {uri}".split()
