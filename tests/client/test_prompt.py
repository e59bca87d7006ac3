"""The content of a prompt: the caller's values as blocks."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.client.prompt import EMBED_BYTES, MEDIA_BYTES, prompt_blocks
from accord.session.content import Audio, Block, Image, Link, Resource, Text
from tests.tables import rows

ALL = frozenset({"image", "audio", "resource"})
NONE: frozenset[str] = frozenset()
PIXEL = b"\x89PNG\r\n\x1a\n and so on"


def block(item: Any, cwd: Path, kinds: frozenset[str] = ALL) -> Block:
    (made,) = prompt_blocks([item], str(cwd), kinds)
    return made


def test_a_string_is_a_text_and_never_a_path(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    assert block("notes.txt", tmp_path) == Text("notes.txt")


def test_items_keep_their_order(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    made = prompt_blocks(["look at", Path("notes.txt"), "please"], str(tmp_path), NONE)
    assert [type(each) for each in made] == [Text, Link, Text]


def test_a_text_file_is_embedded_where_the_agent_takes_that(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# hëllo", encoding="utf-8")
    made = block(path, tmp_path)
    assert isinstance(made, Resource)
    assert (made.uri, made.text, made.mime_type) == (path.as_uri(), "# hëllo", "text/markdown")


def test_a_binary_file_is_embedded_as_such(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(b"\xff\x00")
    made = block(path, tmp_path)
    assert isinstance(made, Resource)
    assert made.blob == base64.b64encode(b"\xff\x00").decode()


@rows("name", ["notes.md", "picture.png", "sound.wav", "noending"])
def test_what_the_agent_does_not_take_is_linked(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"some bytes")
    made = block(path, tmp_path, NONE)
    assert isinstance(made, Link)
    assert (made.uri, made.name, made.size) == (path.as_uri(), name, 10)


def test_an_image_is_an_image_where_the_agent_takes_that(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(PIXEL)
    made = block(path, tmp_path, frozenset({"image"}))
    assert made == Image(base64.b64encode(PIXEL).decode(), "image/png", path.as_uri())


def test_a_sound_is_audio_where_the_agent_takes_that(tmp_path: Path) -> None:
    path = tmp_path / "sound.mp3"
    path.write_bytes(b"la la")
    made = block(path, tmp_path, frozenset({"audio"}))
    assert isinstance(made, Audio)
    assert (base64.b64decode(made.data), made.mime_type) == (b"la la", "audio/mpeg")


def test_an_image_is_embedded_where_only_resources_are_taken(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(PIXEL)
    made = block(Path("picture.png"), tmp_path, frozenset({"resource"}))
    assert isinstance(made, Resource)
    assert (made.blob, made.mime_type) == (base64.b64encode(PIXEL).decode(), "image/png")


@rows(("name", "size"), [("large.txt", EMBED_BYTES + 1), ("large.png", MEDIA_BYTES + 1)])
def test_what_is_too_large_is_linked(tmp_path: Path, name: str, size: int) -> None:
    with (tmp_path / name).open("wb") as file:
        file.truncate(size)
    made = block(Path(name), tmp_path)
    assert isinstance(made, Link)
    assert made.size == size


def test_a_path_is_below_the_sessions_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    (tmp_path / "a b.txt").write_text("hello", encoding="utf-8")
    made = block(Path("a b.txt"), tmp_path)
    assert isinstance(made, Resource)
    assert made.uri == f"file://{tmp_path}/a%20b.txt"


@rows("kinds", [ALL, NONE])
def test_a_directory_is_linked(tmp_path: Path, kinds: frozenset[str]) -> None:
    (tmp_path / "folder").mkdir()
    made = block(Path("folder"), tmp_path, kinds)
    assert made == Link((tmp_path / "folder").as_uri(), "folder")


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        block(Path("missing"), tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no FIFOs")
@rows("kinds", [ALL, NONE])
def test_a_fifo_is_not_waited_for(tmp_path: Path, kinds: frozenset[str]) -> None:
    os.mkfifo(tmp_path / "fifo.txt")
    with pytest.raises(ValueError, match="fifo"):
        block(Path("fifo.txt"), tmp_path, kinds)


def test_blocks_are_sent_as_they_are(tmp_path: Path) -> None:
    blocks: list[Block] = [
        Text("a"),
        Link("https://example.org", "b"),
        Image("YQ==", "image/png"),
        Resource("x:y", text="c"),
    ]
    assert prompt_blocks(blocks, str(tmp_path), ALL) == blocks


def test_a_prompt_must_not_be_empty(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="empty"):
        prompt_blocks([], str(tmp_path), ALL)


@rows(
    "item",
    [
        Image("YQ==", "image/png"),
        Audio("YQ==", "audio/wav"),
        Resource("x:y", text="c"),
        accord.Unknown("hologram", {"type": "hologram"}),
    ],
)
def test_a_block_that_the_agent_does_not_take_is_not_sent(tmp_path: Path, item: Block) -> None:
    with pytest.raises(accord.LocalProtocolError) as caught:
        block(item, tmp_path, NONE)
    assert caught.value.field == "prompt"


@rows("item", [None, 7, b"bytes", ["a list"], {"type": "text", "text": "hello"}])
def test_what_is_no_text_path_or_block_is_not_sent(tmp_path: Path, item: Any) -> None:
    with pytest.raises(TypeError, match="prompt"):
        block(item, tmp_path)


@pytest.mark.parametrize("edition", ["1", "2", "2-june"])
async def test_every_kind_of_block_reaches_the_agent_in_every_edition(tmp_path: Path, edition: Any) -> None:
    agent = accord.Agent("reader", store=None)
    read: list[list[Block]] = []

    @agent.prompt(accepts=["image", "audio", "resource"])
    async def reply(turn: accord.agent.Turn) -> None:
        read.append(list(turn.prompt))

    names = ("notes.md", "data.bin", "picture.png", "sound.mp3")
    for name in names:
        (tmp_path / name).write_bytes(b"\xffdata" if name == "data.bin" else b"data")
    (tmp_path / "folder").mkdir()
    async with accord.connect(agent, edition=edition) as remote:
        session = await remote.new_session(tmp_path)
        turn = session.prompt("look", *(Path(name) for name in names), Path("folder"))
        await turn
    (received,) = read
    assert received == turn.prompt
    assert [type(each) for each in received] == [Text, Resource, Resource, Image, Audio, Link]


async def test_an_agent_that_takes_little_gets_links(tmp_path: Path) -> None:
    agent = accord.Agent("reader", store=None)
    read: list[list[Block]] = []

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        read.append(list(turn.prompt))

    (tmp_path / "picture.png").write_bytes(PIXEL)
    async with accord.connect(agent) as remote:
        session = await remote.new_session(tmp_path)
        await session.prompt(Path("picture.png"))
        with pytest.raises(accord.LocalProtocolError):
            session.prompt(Image("YQ==", "image/png"))
        with pytest.raises(ValueError, match="empty"):
            session.prompt()
    assert [[type(each) for each in blocks] for blocks in read] == [[Link]]
