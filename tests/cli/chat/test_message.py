from __future__ import annotations

from hypothesis import given, strategies as st

from accord.cli.chat.message import HARD_CHARS, SOFT_CHARS, Pages
from accord.display import prose


def pages_of(pieces: list[str]) -> list[str]:
    pages, found = Pages(), [""]
    for piece in pieces:
        for new, text in pages.feed(prose(piece)):
            if new:
                found.append("")
            found[-1] += text
    return found


@given(st.lists(st.text(alphabet="ab \n", max_size=400), max_size=40))
def test_all_text_is_on_some_page_in_order(pieces: list[str]) -> None:
    assert "".join(pages_of(pieces)) == "".join(pieces)


def test_a_page_ends_at_a_blank_line() -> None:
    paragraph = "word " * 100 + "\n\n"
    pages = pages_of([paragraph] * 20)
    assert len(pages) > 1
    assert all(page.endswith("\n\n") for page in pages)
    assert all(SOFT_CHARS <= len(page) < SOFT_CHARS + len(paragraph) for page in pages[:-1])


def test_a_text_without_lines_is_parted_all_the_same() -> None:
    pages = pages_of(["word " * 10] * 1_000)
    assert len(pages) > 5
    assert all(len(page) <= HARD_CHARS for page in pages)


def test_code_that_goes_on_is_fenced_on_both_pages() -> None:
    pages = pages_of(["```python\n", *("x = 1\n" for _ in range(2_000)), "```\n", "after\n"])
    assert len(pages) > 1
    assert all(page.startswith("```python\n") for page in pages)
    assert all(page.count("```") == 2 for page in pages)
    assert pages[-1].endswith("after\n")


def test_how_the_text_is_cut_makes_no_difference() -> None:
    text = ("some words here\n\n" + "```\ncode\n\n```\n") * 300
    assert pages_of([text]) == pages_of(list(text))
