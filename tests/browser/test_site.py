"""The site as a reader sees it: opened from disk in a headless Chromium, in two widths and two modes, and searched.

With `ACCORD_PICTURES=FOLDER` the pictures of the pages are kept there, for people to look at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import website
from tests.browser.chromium import HOW, Tab, browser, program
from tests.needs import needs_package

pytestmark = [
    pytest.mark.browser,
    pytest.mark.needs(program() is not None, HOW),
    needs_package("zensical", "zensical is missing: with Python 3.11.5 or later . scripts/env installs it"),
]
ROOT = Path(__file__).parents[2]
PAGES = (
    "index.html",
    "docs/index.html",
    "docs/cli.html",
    "docs/reference/accord.agent.html",
    "examples/agents/echo.html",
)
LOOKS = [(page, width, mode) for page in PAGES for width in (1280, 400) for mode in ("light", "dark")]
SEARCHED = ("session/update", "requestPermission", "back-pressure", "--allow")
# The search is in a shadow root that the theme makes when it is opened first.
OPEN_SEARCH = """
document.querySelector(".md-search__button").click();
window.box = [...document.querySelectorAll("*")].find(each => each.shadowRoot).shadowRoot; 0
"""
RESULTS = "[...box.querySelectorAll('a')].map(each => each.href.replace(/[?].*/, ''))"


def search(tab: Tab, words: str) -> list[Path]:
    """The pages that the search shows, the best first."""
    tab.run(OPEN_SEARCH)
    tab.until("!!box.querySelector('input')")
    tab.run("box.querySelector('input').focus()")
    tab.write(words)
    addresses: list[str] = tab.until(f"{RESULTS}.length && {RESULTS}")
    return [Path(address.removeprefix("file://")) for address in addresses]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    website.build(folder)
    return folder


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize(("page", "width", "mode"), LOOKS)
def test_a_page_asks_no_other_host_and_fits_its_width_in_its_mode(
    site: Path, tab: Tab, page: str, width: int, mode: str
) -> None:
    tab.requests.clear()
    tab.errors.clear()
    tab.open(site / page, width=width, dark=mode == "dark")
    if folder := os.environ.get("ACCORD_PICTURES"):
        name = page.removesuffix(".html").replace("/", "-")
        tab.picture(Path(folder) / f"{name}-{width}-{mode}.png", whole=page == "index.html")
    assert tab.requests
    assert [address for address in tab.requests if not address.startswith(("file://", "data:", "blob:"))] == []
    assert tab.errors == []
    assert tab.run("document.documentElement.scrollWidth") <= width
    red, green, blue = tab.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)")
    assert (red + green + blue < 200) == (mode == "dark")


def test_the_moving_picture_moves_and_stands_still_where_less_motion_is_wanted(tab: Tab) -> None:
    rows = "[...document.querySelectorAll('g g')].map(each => getComputedStyle(each))"
    for motion, moves in (("no-preference", True), ("reduce", False)):
        tab.open(ROOT / "site" / "assets" / "first-minute.svg")
        tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": motion}])
        assert tab.run(f"{rows}.every(each => (each.animationName !== 'none') === {str(moves).lower()})")
    assert tab.run("[...document.querySelectorAll('.last')].every(e => getComputedStyle(e).visibility === 'visible')")
    assert tab.run(f"{rows}.some(each => each.visibility === 'hidden')")


@pytest.mark.parametrize("words", SEARCHED)
def test_the_search_finds_what_readers_look_for_without_a_server(site: Path, tab: Tab, words: str) -> None:
    tab.requests.clear()
    tab.open(site / "docs" / "cli.html")
    best = [path.read_text(encoding="utf-8") for path in search(tab, words)[:3]]
    assert any(words.lower() in text.lower() for text in best)
    assert [address for address in tab.requests if not address.startswith(("file://", "data:", "blob:"))] == []


def test_a_result_that_is_chosen_opens_its_page(site: Path, tab: Tab) -> None:
    tab.open(site / "index.html")
    search(tab, "session/update")
    # In one step: the list may still change.
    chosen = tab.follow("(() => { const it = box.querySelector('a'); it.click(); return it.pathname })()")
    assert tab.run("location.pathname") == chosen
