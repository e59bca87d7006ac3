"""Every page of the documentation is reached from its index, and every link in it leads somewhere."""

import re
from pathlib import Path

from tests.tables import rows

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "docs" / "index.md"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "benchmarks" / "README.md",
        ROOT / "examples" / "README.md",
    ]
)
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def links_in(page: Path) -> list[str]:
    """Where a page leads, addresses of the web left out."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    return [link for link in _LINK.findall(text) if "://" not in link]


def target_of(page: Path, link: str) -> Path:
    path = link.partition("#")[0]
    return (page.parent / path).resolve() if path else page


def anchors_of(page: Path) -> set[str]:
    """The headings as a link names them."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    titles = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in _HEADING.findall(text)]
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@rows("page", PAGES)
def test_every_link_of_a_page_leads_to_a_file_and_its_heading(page: Path) -> None:
    for link in links_in(page):
        target = target_of(page, link)
        assert target.exists(), link
        anchor = link.partition("#")[2]
        assert not anchor or anchor in anchors_of(target), link


def test_every_page_is_reached_from_the_index() -> None:
    reached: set[Path] = set()
    waiting = [INDEX]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        waiting += [target_of(page, link) for link in links_in(page)]
    assert [
        str(page.relative_to(ROOT)) for page in PAGES if (ROOT / "docs") in page.parents and page not in reached
    ] == []


def test_the_readme_leads_to_the_index_and_to_every_guide() -> None:
    readme = ROOT / "README.md"
    linked = {target_of(readme, link) for link in links_in(readme)}
    assert INDEX in linked
    guides = {target_of(INDEX, link) for link in links_in(INDEX) if "/" not in link}
    assert guides - linked == set()


def test_every_guide_names_methods_of_the_specification() -> None:
    tables = [part.split("\n\n")[0] for part in INDEX.read_text(encoding="utf-8").split("| read |")[1:]]
    guides = [INDEX.with_name(link) for table in tables for link in _LINK.findall(table)]
    assert len(guides) > 20
    method = re.compile(r"`(initialize|session/\w+|fs/\w+|terminal/\w+)`")
    assert [guide.name for guide in guides if not method.search(guide.read_text(encoding="utf-8"))] == []


def test_the_pages_for_the_community_are_there_and_linked() -> None:
    contributing = ROOT / "CONTRIBUTING.md"
    linked = {target_of(page, link) for page in (contributing, INDEX) for link in links_in(page)}
    assert {ROOT / "SECURITY.md", ROOT / "CODE_OF_CONDUCT.md"} <= linked
    assert ROOT / "SECURITY.md" in {target_of(ROOT / "README.md", link) for link in links_in(ROOT / "README.md")}
    assert (ROOT / ".github" / "pull_request_template.md").is_file()
    assert len(list((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[1-9]-*.yml"))) == 3
