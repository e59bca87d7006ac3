"""The page about security: each promise has its test, and no page says what the page warns of."""

import re

from tests.documents.test_links import PAGES, ROOT, target_of

PAGE = ROOT / "docs" / "security.md"
_ROW = re.compile(r"^\| (?!promise |---)(.+) \| (.+) \|$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
# A module of Accord, started so that a file of the current directory runs in its place.
_UNSAFE = re.compile(r"""python[\d.]* -m accord\b|(?<!-P", )"-m", "accord\b""")


def test_each_promise_leads_to_a_file_of_tests() -> None:
    promises = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len(promises) > 20
    for promise, links in promises:
        files = [target_of(PAGE, link) for link in _LINK.findall(links)]
        assert files, promise
        for file in files:
            assert (ROOT / "tests" in file.parents, file.name[:5], file.is_file()) == (True, "test_", True), promise


def test_nothing_says_to_start_accord_so_that_the_folder_runs() -> None:
    sources = (ROOT / "src").rglob("*.py")
    scripts = [each for each in (ROOT / "scripts").iterdir() if each.is_file()]
    texts = [each for each in (*PAGES, *sources, *scripts, *(ROOT / "examples").rglob("*.py")) if each != PAGE]
    assert [str(each.relative_to(ROOT)) for each in texts if _UNSAFE.search(each.read_text(encoding="utf-8"))] == []


def test_such_a_line_is_seen() -> None:
    for line in ("python -m accord run", "python3 -m accord.coder", '[sys.executable, "-m", "accord", "agent"]'):
        assert _UNSAFE.search(line)
    for line in ("python -P -m accord run", '[sys.executable, "-P", "-m", "accord"]', "python -m accordion"):
        assert not _UNSAFE.search(line)
