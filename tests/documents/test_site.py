"""The site of the documentation: its pages, its navigation, what is wrong with a built one, and one that is built."""

import re
from pathlib import Path

import pytest

from scripts import website
from tests.documents.console import ProjectFolder
from tests.needs import needs_package

ROOT = Path(__file__).parents[2]
PAGES = {"index.md", "docs/index.md", "docs/a.md", "docs/a/one.md", "examples/index.md", "examples/agents/echo.md"}
LANDING = (ROOT / "site" / "landing.md").read_text(encoding="utf-8")


def page(*, links: str = "", head: str = "") -> str:
    return f"<!doctype html><html><head>{head}</head><body><h1 id='top'>x</h1>{links}</body></html>"


def site_of(folder: Path, **pages: str) -> Path:
    """A built site with these pages, each with its Markdown; the first one leads to all of them."""
    leads = "".join(f'<a href="{name}.html">x</a>' for name in pages)
    for name, text in {"index": page(links=leads), **pages}.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
        (folder / f"{name}.md").write_text("# x\n", encoding="utf-8")
    return folder


# --- the pages


def test_a_link_to_a_page_is_kept_with_its_heading() -> None:
    assert website.linked("docs/a.md", "see [one](a/one.md#top)", PAGES) == "see [one](a/one.md#top)"


def test_a_link_to_the_first_page_of_a_folder_leads_to_its_index() -> None:
    assert website.linked("docs/a.md", "[x](../examples/README.md)", PAGES) == "[x](../examples/index.md)"


def test_a_link_to_the_readme_leads_to_the_landing_page() -> None:
    assert website.linked("docs/a.md", "[x](../README.md)", PAGES) == "[x](../index.md)"


def test_a_link_to_an_example_leads_to_its_page() -> None:
    assert website.linked("docs/a.md", "[x](../examples/agents/echo.py)", PAGES) == "[x](../examples/agents/echo.md)"


def test_of_a_link_to_a_source_the_words_are_left() -> None:
    assert website.linked("docs/a.md", "[`x`](../src/accord/wire/lines.py), then", PAGES) == "`x`, then"


def test_addresses_of_the_web_and_links_in_code_stay_as_they_are() -> None:
    text = "[x](https://example.org)\n\n```md\n[y](../src/y.py)\n```\n"
    assert website.linked("docs/a.md", text, PAGES) == text


# --- navigation, and what language models read


def index() -> dict[str, list[website.Listed]]:
    return website.index_of(website.sources()[website.INDEX].read_text(encoding="utf-8"))


def test_the_navigation_has_each_page_of_the_index_once_in_the_section_of_its_task() -> None:
    pages = {*website.sources(), *website.examples()}
    nav = website.navigation(index(), pages, dict.fromkeys(pages, "x"))
    assert [title for entry in nav for title in entry][2:] == list(index())
    named = re.findall(r'"([^"]+\.md)"', website.toml_of(nav))
    assert len(named) == len(set(named))
    assert {listed.path for entries in index().values() for listed in entries} & pages <= set(named)


def test_the_text_for_language_models_has_every_page_of_the_index_with_its_markdown() -> None:
    text = website.llms(index(), {*website.sources()})
    assert text.startswith("# Accord\n\n> ")
    for listed in index()["Write"]:
        assert f"- [{listed.title}]({listed.path}): {listed.about}\n" in text


def test_the_full_text_has_the_guides_in_order_and_no_pages_that_only_contributors_read() -> None:
    texts = {
        "index.md": "---\ntitle: x\n---\n\nfirst",
        "docs/a.md": "second",
        "docs/a/one.md": "third",
        "docs/decisions/1.md": "no",
    }
    sections = {
        "Write": [website.Listed("a", "docs/a.md", "")],
        "For contributors": [website.Listed("1", "docs/decisions/1.md", "")],
    }
    full = website.in_full(texts, sections)
    assert re.findall("first|second|third|title|no", full) == ["first", "second", "third"]


# --- what is wrong with a built site


def test_a_site_that_asks_nobody_and_leads_everywhere_has_no_fault(tmp_path: Path) -> None:
    site = site_of(tmp_path, a=page(links='<a href="index.html#top">x</a> <a href="https://example.org">y</a>'))
    assert website.faults_of(site) == []


@pytest.mark.parametrize(
    "head",
    [
        '<script src="https://example.org/x.js"></script>',
        "<script src='//example.org/x.js'></script>",
        '<link rel="stylesheet" href="https://fonts.example.org/css?family=X">',
        '<link rel="preconnect" href="https://fonts.example.org" crossorigin>',
        '<img alt="x" srcset="a.png 1x, https://example.org/a.png 2x">',
        '<div style="background: url(https://example.org/a.png)"></div>',
    ],
)
def test_what_a_page_loads_from_another_host_is_a_fault(tmp_path: Path, head: str) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    assert len(website.faults_of(site_of(tmp_path, a=page(head=head)))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.css", '@import "https://example.org/x.css";'),
        ("x.css", "@font-face{src:url(//example.org/x.woff2)}"),
        ("x.js", 'fetch("https://cdn.example.org/x")'),
        ("x.svg", '<svg xmlns="http://www.w3.org/2000/svg"><image href="https://example.org/x.png"/></svg>'),
    ],
)
def test_what_a_style_a_script_or_a_picture_names_on_another_host_is_a_fault(
    tmp_path: Path, name: str, text: str
) -> None:
    site = site_of(tmp_path)
    (site / name).write_text(text, encoding="utf-8")
    assert len(website.faults_of(site)) == 1


def test_dead_links_and_links_to_missing_headings_are_faults(tmp_path: Path) -> None:
    site = site_of(
        tmp_path, a=page(links='<a href="b.html">x</a> <a href="index.html#nowhere">y</a> <img src="c.png">')
    )
    assert len(website.faults_of(site)) == 3


def test_a_page_that_is_more_than_three_clicks_away_is_a_fault(tmp_path: Path) -> None:
    site = site_of(tmp_path, a=page(links='<a href="b.html">x</a>'))
    for name, following in (("b", "c"), ("c", "d"), ("d", "a")):
        (site / f"{name}.html").write_text(page(links=f'<a href="{following}.html">x</a>'), encoding="utf-8")
        (site / f"{name}.md").write_text("# x\n", encoding="utf-8")
    assert [fault.partition(" ")[0] for fault in website.faults_of(site)] == ["d.html"]


def test_a_page_without_its_markdown_is_a_fault(tmp_path: Path) -> None:
    site = site_of(tmp_path, a=page())
    (site / "a.md").unlink()
    assert len(website.faults_of(site)) == 1


# --- the landing page


def test_the_agent_and_the_client_of_the_landing_page_talk(tmp_path: Path) -> None:
    agent, client = re.findall(r"```python\n(.*?)```", LANDING, re.DOTALL)
    assert max(sum(1 for line in text.splitlines() if line) for text in (agent, client)) <= 10
    project = ProjectFolder(tmp_path)
    (project.folder / "shout.py").write_text(agent, encoding="utf-8")
    (project.folder / "ask.py").write_text(client, encoding="utf-8")
    [(_, printed)] = project.type("$ python ask.py")
    assert printed == ["HELLO", "end_turn"]


def test_the_figures_of_the_landing_page_are_rounded_from_the_recorded_run() -> None:
    recorded = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8").split("\n## One real run\n")[1]
    measured = [float(figure.replace(",", "")) for figure in re.findall(r"\b[\d,]+\.\d\b", recorded)]
    cells = [
        cell for row in re.findall(r"^\| [a-z].*$", LANDING, re.MULTILINE) for cell in row.strip("| ").split(" | ")[1:]
    ]
    figures = [float(figure.replace(",", "")) for cell in cells for figure in re.findall(r"^[\d,]+", cell)]
    assert len(figures) == 7
    for figure in figures:
        assert any(abs(figure - each) <= 0.5 for each in measured), figure


def test_the_moving_picture_is_one_file_without_a_script_that_stands_still_on_request() -> None:
    text = (ROOT / "site" / "assets" / "first-minute.svg").read_text(encoding="utf-8")
    assert website.read_page(text).loads == []
    assert "<script" not in text
    assert "prefers-reduced-motion:reduce" in text
    assert "accord run demo" in text


# --- built


@needs_package("zensical", "zensical is missing: with Python 3.11.5 or later . scripts/env installs it")
def test_the_site_is_built_without_a_warning_and_without_a_fault(tmp_path: Path) -> None:
    website.build(tmp_path / "site")
    site = tmp_path / "site"
    assert (site / "index.html").is_file()
    assert {path.relative_to(site).with_suffix(".md").as_posix() for path in site.rglob("*.html")} - {"404.md"} == {
        *website.sources(),
        *website.examples(),
    }
    assert (site / "search.js").is_file()
    assert "# Quickstart" in (site / "llms-full.txt").read_text(encoding="utf-8")
    assert "docs/quickstart.md" in (site / "llms.txt").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
