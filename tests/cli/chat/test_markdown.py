from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from textual.app import App
from textual.widget import Widget
from textual.widgets._markdown import MarkdownBlock, MarkdownFence

from accord.cli.chat.markdown import MAX_LOOKS, KnownPaths, Prose
from accord.cli.chat.message import PassageView
from accord.display import prose
from accord.session.content import Text
from accord.session.entry import Passage
from tests.cli.chat.rig import screen_text

DOCUMENT = """\
# Title

Some *text* with `code` in
two lines.

```python
def f(x):

    return "# no title"
```
| name | size |
| --- | ---: |
| a | 1 |
| b | 22 |

1. one
   - inner

   more of one
2. two

Setext
======
<div>

after [a link][there] and parser.py

> quoted
> - list

    indented code

---
[there]: https://example.com/x
"""

SHORT = [
    "a `b`\n\n```py\nx = 1\n```\nc",
    "|a|b|\n|-|-|\n|c|d|\n\ne",
    "1. x\n   - y\n\n   z\n2. w",
    "A\n==\n<div>\n\nb",
    "[r] x\n\n[r]: /u\n",
    "> q\n> - l\n\n    i\n",
    "- [ ] a\n- [x] b\n",
    'It says:\nTraceback (most recent call last):\n  File "a.py"\n    f()\nKeyError: 1\nb',
]
"""A fence, a table, a list, a heading that is known by its second line, a definition that changes what was before."""
TRACEBACK = """\
Traceback (most recent call last):
  File "a.py", line 3, in <module>
    main()
  File "a.py", line 1, in main
    raise ValueError("no")
ValueError: no"""

PARTS = ["# h\n", "text ", "\n", "\n\n", "```", "~~~\n", "|a|b|\n", "|-|-|\n", "- x\n", "  - y\n", "1. z\n", "> q\n"]
PARTS += ["    i\n", "===\n", "---\n", "<div>\n", "[r]: /u\n", "[r] ", "`c` ", "**b", "** ", "<!-- ", " -->\n", "\\\n"]


def described(widget: Widget) -> Any:
    """A block with everything in it, without what a screen adds."""
    text = widget.code if isinstance(widget, MarkdownFence) else ""
    if isinstance(widget, MarkdownBlock):
        text += widget._content.markup
    return type(widget).__name__, text, [described(child) for child in widget.children]


async def blocks_of(app: App[None], chunks: list[str]) -> Any:
    markdown = Prose(prose(chunks[0]))
    # What it is made of is the subject, not where it stands.
    markdown.display = False
    await app.mount(markdown)
    for chunk in chunks[1:]:
        await markdown.append(prose(chunk))
    assert markdown.source == "".join(chunks)
    found = [described(child) for child in markdown.children]
    await markdown.remove()
    return found


async def check_every_cut(text: str) -> None:
    app: App[None] = App()
    async with app.run_test():
        whole = await blocks_of(app, [text])
        for cut in range(len(text) + 1):
            assert await blocks_of(app, [text[:cut], text[cut:]]) == whole, text[:cut]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", SHORT)
async def test_a_text_in_two_pieces_has_the_blocks_of_the_whole_wherever_it_was_cut(text: str) -> None:
    await check_every_cut(text)


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_a_long_text_in_two_pieces_has_the_blocks_of_the_whole_wherever_it_was_cut() -> None:
    await check_every_cut(DOCUMENT)


@pytest.mark.parametrize("text", SHORT)
async def test_a_text_that_comes_character_by_character_has_the_blocks_of_the_whole(text: str) -> None:
    app: App[None] = App()
    async with app.run_test():
        assert await blocks_of(app, list(text)) == await blocks_of(app, [text])


@settings(max_examples=10)
@given(st.lists(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map("".join), min_size=2, max_size=8))
def test_any_text_in_any_pieces_has_the_blocks_of_the_whole(chunks: list[str]) -> None:
    async def compare() -> None:
        app: App[None] = App()
        async with app.run_test():
            assert await blocks_of(app, chunks) == await blocks_of(app, ["".join(chunks)])

    asyncio.run(compare())


async def test_a_message_that_grows_has_the_blocks_of_the_whole() -> None:
    app: App[None] = App()
    async with app.run_test():
        passage = Passage()
        grown = PassageView(passage)
        await app.mount(grown)
        for start in range(0, len(DOCUMENT), 29):
            passage.append(Text(DOCUMENT[start : start + 29]))
            await grown.follow(passage)
        whole = PassageView(Passage([Text(DOCUMENT)]))
        await app.mount(whole)
        await whole.follow(Passage([Text(DOCUMENT)]))
        assert [described(each) for each in grown.query(Prose)] == [described(each) for each in whole.query(Prose)]


async def test_what_stays_as_it_is_is_not_made_anew() -> None:
    app: App[None] = App()
    async with app.run_test():
        markdown = Prose(prose("# Title\n\nfirst\n\n```py\nx = 1\n"))
        await app.mount(markdown)
        before = list(markdown.children)
        await markdown.append(prose("y = 2\n```\n\nlast"))
        assert list(markdown.children)[:3] == before
        assert len(markdown.children) == 4


@pytest.mark.parametrize("name", ["parser.py", "main.rs", "README.md", "src/app.sh", "run.me", "me@parser.py"])
async def test_the_name_of_a_file_is_no_link(name: str) -> None:
    app: App[None] = App()
    async with app.run_test():
        (paragraph,) = await blocks_of(app, [f"See {name} and https://example.com/{name}."])
        assert paragraph[1].count("[@click") == 1
        assert f"See {name} and " in paragraph[1]


async def shown(app: App[None], text: str, cwd: str, chunks: int = 1) -> str:
    paths = KnownPaths(cwd)
    size = -(-len(text) // chunks)
    markdown = Prose(prose(text[:size]), paths)
    await app.mount(markdown)
    for start in range(size, len(text), size):
        await markdown.append(prose(text[start : start + size]))
    (paragraph,) = [described(child)[1] for child in markdown.children]
    await markdown.remove()
    return str(paragraph)


@pytest.mark.parametrize("chunks", [1, 3, 20])
async def test_a_path_that_exists_is_shown_as_a_path(tmp_path: Path, chunks: int) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "parser.py").write_text("x")
    (tmp_path / "README.md").write_text("x")
    app: App[None] = App()
    async with app.run_test():
        text = "See src/parser.py, ./README.md: main.rs is not there; src/ is. e.g. 3.5"
        found = await shown(app, text, str(tmp_path), chunks)
        for path in ("src/parser.py", "./README.md", "src/"):
            assert f"[.code_inline]{path}[/" in found
        for word in ("main.rs", "e.g", "3.5", "is."):
            assert f"[.code_inline]{word}" not in found
        assert "[@click" not in found


@pytest.mark.parametrize("word", ["/etc/passwd", "../secret.txt", "a/../../secret.txt", "//host/share/x.y", "~/x.y"])
async def test_nothing_outside_the_folder_is_looked_at(tmp_path: Path, word: str) -> None:
    (tmp_path / "secret.txt").write_text("x")
    (tmp_path / "work" / "a").mkdir(parents=True)
    assert word not in KnownPaths(str(tmp_path / "work"))
    app: App[None] = App()
    async with app.run_test():
        assert "code_inline" not in await shown(app, f"See {word} there", str(tmp_path / "work"))


async def test_a_path_inside_a_link_or_an_address_stays_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    app: App[None] = App()
    async with app.run_test():
        found = await shown(app, "[a.py](https://example.com/a.py) and https://example.com/a.py", str(tmp_path))
        assert "code_inline" not in found
        assert found.count("[@click") == 2


def test_the_disk_is_looked_at_a_bounded_number_of_times(tmp_path: Path) -> None:
    paths = KnownPaths(str(tmp_path))
    assert not any(f"{number}.py" in paths for number in range(10 * MAX_LOOKS))
    assert len(paths._known) == MAX_LOOKS


async def looks_like(text: str) -> list[str]:
    """The lines of the screen with this text alone."""
    app: App[None] = App()
    async with app.run_test(size=(70, 30)) as pilot:
        view = PassageView(Passage([Text(text)]))
        await app.mount(view)
        await view.follow(Passage([Text(text)]))
        await pilot.pause()
        return [line.rstrip() for line in screen_text(app).splitlines()]


@pytest.mark.parametrize("before", ["", "It failed:\n", "It failed:\n\n"])
async def test_a_traceback_keeps_its_lines_and_their_indentation(before: str) -> None:
    lines = [line.strip() for line in await looks_like(f"{before}{TRACEBACK}\nand on it goes")]
    wanted = TRACEBACK.splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith(wanted[0]))
    shown = (await looks_like(f"{before}{TRACEBACK}\nand on it goes"))[at : at + len(wanted)]
    left = len(shown[0]) - len(shown[0].lstrip())
    assert [line[left:] for line in shown] == wanted
    assert "and on it goes" in lines


async def test_task_lists_have_boxes() -> None:
    text = "\n".join(await looks_like("- [ ] write it\n- [x] read it\n- [link] stays\n\n[ ] no item"))
    assert "☐ write it" in text
    assert "☑ read it" in text
    assert "[link] stays" in text
    assert "[ ] no item" in text


async def test_columns_are_aligned_as_the_table_says() -> None:
    lines = await looks_like("| name | size | note |\n| :-- | --: | :-: |\n| a | 1 | x |\n| b | 22222 | yyy |")
    rows = [line for line in lines if "22222" in line or " 1 " in line or "size" in line]
    assert len({line.index(word) + len(word) for line, word in zip(rows, ("size", "1", "22222"), strict=True)}) == 1
    assert lines != await looks_like("| name | size | note |\n| --- | --- | --- |\n| a | 1 | x |\n| b | 22222 | yyy |")
