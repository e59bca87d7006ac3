"""Builds the site of the documentation into `build/site`; `scripts/docs site` runs it.

    python scripts/website.py [FOLDER]

The pages are the Markdown files of the repository, in the same folders. One is added, `site/landing.md`, and each
example gets a page. A link to a source becomes text, because the site has no repository to show it. Zensical makes HTML
of the pages; their Markdown stays beside it, and `llms.txt` and `llms-full.txt` come from the index that the navigation
comes from. `faults_of` then reads what was built: addresses of other hosts, dead links, pages that are far away.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "site"
TARGET = ROOT / "build" / "site"
INDEX = "docs/index.md"
# Folders that a page may name, and the page that lists what is in them.
FOLDERS = {
    "docs/decisions": f"{INDEX}#for-contributors",
    "examples/agents": "examples/index.md",
    "examples/clients": "examples/index.md",
}
# Folders with one page.
READMES = ("examples", "benchmarks")
# Pages for contributors that are long and that nobody reads from start to end.
NOT_IN_FULL = ("docs/decisions/", "docs/changes/", "docs/reference/modules.md", "CHANGELOG.md", "benchmarks/")
MOST_CLICKS = 3
SUMMARY = (
    "Accord implements the Agent Client Protocol (ACP) for Python: a library for agents and for clients, a command, a"
    " conformance checker, a recorder and a server."
)

_FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^## +(.+)$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n+", re.DOTALL)


class SiteError(Exception):
    """The site cannot be built, or what was built is not right; one sentence per fault."""


@dataclass(frozen=True)
class Listed:
    """One page of the index: its title, its path in the repository, and what its line says of it."""

    title: str
    path: str
    about: str


# --- the pages


def name_of(path: str) -> str:
    """What the site calls a page of the repository: the first one of a folder is its index."""
    return re.sub(r"(^|/)README\.md$", r"\1index.md", path)


def sources() -> dict[str, Path]:
    """The Markdown files of the site, by their path on it; those of the examples are made (`example_page`)."""
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / folder / "README.md" for folder in READMES)]
    found = {name_of(path.relative_to(ROOT).as_posix()): path for path in sorted(paths)}
    return found | {"index.md": SOURCE / "landing.md"}


def examples() -> dict[str, Path]:
    """The programs of examples/, by the path of the page that each of them gets."""
    return {
        f"{path.relative_to(ROOT).with_suffix('').as_posix()}.md": path
        for path in sorted((ROOT / "examples").rglob("*.py"))
    }


def example_page(path: Path) -> str:
    """A page with one program: what its docstring says first, and all of it."""
    text = path.read_text(encoding="utf-8")
    return f"# {path.relative_to(ROOT).as_posix()}\n\n```python\n{text}```\n"


def place_of(page: str, link: str, pages: set[str]) -> str | None:
    """Where a link of a page leads on the site, relative to the page; None if it leads to no page."""
    path, hash_sign, anchor = link.partition("#")
    if not path or "://" in link or link.startswith("mailto:"):
        return link
    target = os.path.normpath(os.path.join(os.path.dirname(page), path))  # noqa: PTH118, PTH120 - paths of the site
    if target in FOLDERS:
        target, hash_sign, anchor = FOLDERS[target].partition("#")
    for candidate in (name_of(target), f"{target}/index.md", target.removesuffix(".py") + ".md"):
        if candidate in pages:
            return os.path.relpath(candidate, os.path.dirname(page) or ".") + hash_sign + anchor  # noqa: PTH120
    return None


def without_fences(text: str) -> Iterator[tuple[bool, str]]:
    """The parts of a page, each with whether it is a block of code."""
    end = 0
    for block in _FENCED.finditer(text):
        yield False, text[end : block.start()]
        yield True, block.group()
        end = block.end()
    yield False, text[end:]


def linked(page: str, text: str, pages: set[str]) -> str:
    """The text of a page with the links that lead somewhere on the site; of the others the words are left."""

    def one(match: re.Match[str]) -> str:
        words, link = match.groups()
        place = place_of(page, link, pages)
        return words if place is None else f"[{words}]({place})"

    return "".join(part if is_code else _LINK.sub(one, part) for is_code, part in without_fences(text))


# --- the index


def index_of(text: str) -> dict[str, list[Listed]]:
    """The sections of docs/index.md with their pages, in order; a page is in the first section that names it."""
    sections: dict[str, list[Listed]] = {}
    seen: set[str] = set()
    parts = _HEADING.split(text)[1:]
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        listed = sections.setdefault(title, [])
        for line in body.splitlines():
            about = _about(line)
            for words, link in _LINK.findall(line):
                path = name_of(os.path.normpath(f"docs/{link.partition('#')[0]}"))
                if "://" not in link and path not in seen:
                    seen.add(path)
                    listed.append(Listed(words.replace("`", ""), path, about))
    return sections


def _about(line: str) -> str:
    """What a line of the index says of its page: the first cell of a row, or what follows the colon of a list."""
    if line.startswith("|"):
        first = line.strip("| ").split("|")[0].strip()
        return "" if first.isdigit() else first
    return _LINK.sub(r"\1", line.partition(": ")[2]) if line.startswith("- ") else ""


def below(path: str, pages: set[str]) -> list[str]:
    """The pages that belong to a page of the index: those of its folder."""
    folder = path.removesuffix("index.md") if path.endswith("/index.md") else f"{path.removesuffix('.md')}/"
    return sorted(
        (name for name in pages if name.startswith(folder) and name != path), key=lambda name: name.removesuffix(".md")
    )


def navigation(sections: dict[str, list[Listed]], pages: set[str], titles: dict[str, str]) -> list[dict[str, object]]:
    """What `nav` is: the landing page, and the tasks with their pages."""
    in_index = {listed.path for entries in sections.values() for listed in entries}
    nav: list[dict[str, object]] = [{"Accord": "index.md"}, {"All pages": INDEX}]
    for section, entries in sections.items():
        rows: list[object] = []
        decisions: list[object] = []
        for listed in entries:
            if listed.path not in pages:
                continue
            inner = [{titles[name]: name} for name in below(listed.path, pages) if name not in in_index]
            row = {listed.title: [listed.path, *inner] if inner else listed.path}
            (decisions if listed.path.startswith("docs/decisions/") else rows).append(row)
        nav.append({section: [*rows, {"Decisions": decisions}] if decisions else rows})
    return nav


def toml_of(value: object) -> str:
    """A value of lists, texts and tables, inline."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return "[" + ", ".join(toml_of(item) for item in value) + "]"
        case dict():
            return "{ " + ", ".join(f"{toml_of(key)} = {toml_of(item)}" for key, item in value.items()) + " }"
        case _:
            raise TypeError(type(value))


def title_of(text: str) -> str:
    """The heading of a page, in plain words."""
    heading = re.search(r"^# +(.+)$", text, re.MULTILINE)
    return re.sub(r"[`*]|\{.*\}", "", heading.group(1)).strip() if heading else ""


# --- for language models


def llms(sections: dict[str, list[Listed]], pages: set[str]) -> str:
    """The text of `llms.txt`: every page of the index, with its Markdown and what it is for."""
    lines = [
        "# Accord",
        "",
        f"> {SUMMARY}",
        "",
        "Every page is Markdown beside its HTML; `llms-full.txt` has those that users read, in one file.",
    ]
    for section, entries in sections.items():
        lines += ["", f"## {'Optional' if section == 'For contributors' else section}", ""]
        lines += [
            f"- [{listed.title}]({listed.path})" + (f": {listed.about}" if listed.about else "")
            for listed in entries
            if listed.path in pages
        ]
    return "\n".join(lines) + "\n"


def in_full(texts: dict[str, str], sections: dict[str, list[Listed]]) -> str:
    """The text of `llms-full.txt`: what users read, in the order of the index; below each page those of its folder."""
    order = ["index.md"]
    for entries in sections.values():
        for listed in entries:
            order += [listed.path, *below(listed.path, set(texts))]
    names = [name for name in dict.fromkeys(order) if name in texts and not name.startswith(NOT_IN_FULL)]
    return "\n\n".join(f"<!-- {name} -->\n\n{_FRONT_MATTER.sub('', texts[name]).strip()}" for name in names) + "\n"


# --- building


def build(target: Path) -> None:
    """Make the site in a folder, which is emptied before.

    Raises:
        SiteError: Zensical is missing or warns, or what was built has a fault.
    """
    zensical = Path(sys.executable).with_name("zensical")
    if not zensical.exists():
        raise SiteError("Zensical is missing: with Python 3.11.5 or later . scripts/env installs it")
    work = target.with_name(f"{target.name}.work")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    texts = stage(work)
    done = subprocess.run(
        [str(zensical), "build", "--clean", "--strict", "-f", "zensical.toml"],
        cwd=work,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    if done.returncode != 0 or "warning" in said.lower():
        raise SiteError(said.strip())
    made = work / "site"
    for name, text in texts.items():
        (made / name).write_text(_FRONT_MATTER.sub("", text), encoding="utf-8")
    sections = index_of(texts[INDEX])
    (made / "llms.txt").write_text(llms(sections, set(texts)), encoding="utf-8")
    (made / "llms-full.txt").write_text(in_full(texts, sections), encoding="utf-8")
    faults = faults_of(made)
    if faults:
        raise SiteError("\n".join(faults))
    shutil.rmtree(target, ignore_errors=True)
    made.rename(target)
    shutil.rmtree(work)


def stage(work: Path) -> dict[str, str]:
    """Write what Zensical builds from: its configuration, the theme's changes, the pages. Returns the pages."""
    texts = {name: path.read_text(encoding="utf-8") for name, path in sources().items()}
    texts |= {name: example_page(path) for name, path in examples().items()}
    pages = set(texts)
    texts = {name: linked(name, text, pages) for name, text in texts.items()}
    for name, text in texts.items():
        place = work / "pages" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "pictures", work / "pages" / "docs" / "pictures")
    shutil.copytree(SOURCE / "assets", work / "pages" / "assets")
    shutil.copytree(SOURCE / "overrides", work / "overrides")
    titles = {name: title_of(text) for name, text in texts.items()}
    nav = toml_of(navigation(index_of(texts[INDEX]), pages, titles))
    settings = (SOURCE / "zensical.toml").read_text(encoding="utf-8")
    (work / "zensical.toml").write_text(settings.replace("\nnav = []\n", f"\nnav = {nav}\n"), encoding="utf-8")
    return texts


# --- what was built

_TAG = re.compile(r"<(\w+)((?:\s+[^\s=<>\"']+(?:=(?:\"[^\"]*\"|'[^']*'|[^\s>]*))?)*)\s*/?>")
_ATTRIBUTE = re.compile(r"([^\s=<>\"']+)=(?:\"([^\"]*)\"|'([^']*)'|([^\s>]*))")
_CSS_ADDRESS = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])([^'\")]+)")
_SCRIPT_ADDRESS = re.compile(r"['\"`](?:https?:)?//([\w.-]+\.[a-z]{2,})[/'\"`]")
# What a browser asks for before anything is clicked on; `href` of `a` is for people.
_LOADED = {
    "script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src",
    "object": "data", "embed": "src", "use": "href", "image": "href",
}  # fmt: skip
# The theme's script names hosts for what no page has: diagrams, a gallery, an editor, Python in the browser, the stars
# of a repository, a polyfill for old browsers; and XML's namespaces. The tests in a browser see that none is asked.
_NAMED_BY_THE_THEME = {"unpkg.com", "cdn.jsdelivr.net", "api.github.com", "www.w3.org"}


@dataclass(frozen=True)
class Built:
    """One page as it was built: where it leads, what it loads, and its anchors."""

    links: list[str]
    loads: list[str]
    anchors: set[str]


def read_page(text: str) -> Built:
    """What a browser finds in a page."""
    links, loads, anchors = [], [], set()
    for tag, rest in _TAG.findall(text):
        values = {name.lower(): html.unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(rest)}
        if "id" in values:
            anchors.add(values["id"])
        if tag == "a" and "href" in values:
            links.append(values["href"])
        if "srcset" in values:
            loads += [part.split()[0] for part in values["srcset"].split(",")]
        name = _LOADED.get(tag)
        if name in values and not (tag == "link" and values.get("rel") in {"next", "prev", "alternate", "canonical"}):
            loads.append(values[name])
        if "style" in values:
            loads += _CSS_ADDRESS.findall(values["style"])
    return Built(links, loads, anchors)


def is_elsewhere(address: str) -> bool:
    """Whether an address is on another host."""
    return bool(urlsplit(address).netloc)


def faults_of(site: Path) -> list[str]:
    """What is wrong with a built site: a sentence for each fault."""
    found = sorted(site.rglob("*.html"))
    pages = {path.relative_to(site).as_posix(): read_page(path.read_text(encoding="utf-8")) for path in found}
    # The theme writes the page for a missing address with addresses of a server.
    pages.pop("404.html", None)
    faults = [fault for name, page in pages.items() for fault in _faults_of_page(site, pages, name, page)]
    faults += _faults_of_files(site)
    leads = {
        name: {_target(name, link) for link in page.links if not is_elsewhere(link)} for name, page in pages.items()
    }
    faults += [f"{name} is more than {MOST_CLICKS} clicks away" for name in sorted(set(pages) - near(leads))]
    return list(dict.fromkeys(faults))


def _faults_of_page(site: Path, pages: dict[str, Built], name: str, page: Built) -> Iterator[str]:
    if not (site / name).with_suffix(".md").is_file():
        yield f"{name} has no Markdown beside it"
    for address in page.loads:
        if is_elsewhere(address):
            yield f"{name} loads {address}"
        elif not address.startswith("data:") and not (site / _target(name, address)).is_file():
            yield f"{name} loads {address}, which is not there"
    yield from _dead_links(site, pages, name)


def _dead_links(site: Path, pages: dict[str, Built], name: str) -> Iterator[str]:
    for link in pages[name].links:
        if is_elsewhere(link) or link.startswith(("mailto:", "javascript:")):
            continue
        target, anchor = _target(name, link), unquote(urlsplit(link).fragment)
        if not (site / target).is_file():
            yield f"{name} has a dead link: {link}"
        elif anchor and target in pages and anchor not in pages[target].anchors:
            yield f"{name} has a link to a heading that is not there: {link}"


def _faults_of_files(site: Path) -> Iterator[str]:
    """Styles, scripts and pictures."""
    for path in sorted(site.rglob("*.css")):
        for address in _CSS_ADDRESS.findall(path.read_text(encoding="utf-8")):
            if is_elsewhere(address):
                yield f"{path.name} loads {address}"
    for path in sorted(site.rglob("*.js")):
        # The search's index has the texts of the pages.
        hosts = set() if path.name == "search.js" else set(_SCRIPT_ADDRESS.findall(path.read_text(encoding="utf-8")))
        yield from (f"{path.name} names the host {host}" for host in sorted(hosts - _NAMED_BY_THE_THEME))
    for path in sorted(site.rglob("*.svg")):
        loads = read_page(path.read_text(encoding="utf-8")).loads
        yield from (f"{path.name} loads {address}" for address in loads if is_elsewhere(address))


def near(leads: dict[str, set[str]]) -> set[str]:
    """The pages that so many clicks reach from the first one."""
    reached = {"index.html"}
    for _ in range(MOST_CLICKS):
        reached |= {target for name in reached for target in leads.get(name, ())}
    return reached


def _target(page: str, link: str) -> str:
    path = unquote(urlsplit(link).path)
    if not path:
        return page
    target = os.path.normpath((PurePosixPath(page).parent / path).as_posix())
    return f"{target}/index.html" if path.endswith("/") else target


def main() -> None:
    """Build the site into the folder that is named, or into `build/site`."""
    target = Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else TARGET
    try:
        build(target)
    except SiteError as error:
        raise SystemExit(f"scripts/docs site: {error}") from error
    pages = sum(1 for _ in target.rglob("*.html"))
    print(f"{pages} pages: open {target / 'index.html'}")


if __name__ == "__main__":
    main()
