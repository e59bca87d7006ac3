"""How Accord is installed: what every page, template and message says, as long as no index has it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from packaging.specifiers import SpecifierSet

from accord.cli.new_project.templates import FRAMEWORKS, files_of
from accord.version import NOT_PUBLISHED, VERSION, install_line, own_requirement
from scripts import pages
from tests.limits import limit

ROOT = Path(__file__).parents[1]
# A line that would look for `accord` on an index, where somebody else's package may have that name.
FROM_AN_INDEX = re.compile(r"\b(pip|pipx|uv) [^\n`#@]*(?<=[ '\"])accord(\[[\w,]+\])?(?=['\"\s`]|$)(?! @)", re.MULTILINE)


def test_the_version_is_that_of_the_package() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION


def test_no_page_and_no_source_installs_a_package_that_is_not_there() -> None:
    sources = [*pages.pages(), *(ROOT / "src").rglob("*.py"), *(ROOT / "examples").rglob("*.*")]
    found = [(path.name, match[0]) for path in sources for match in FROM_AN_INDEX.finditer(path.read_text("utf-8"))]
    assert found == []


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_the_pages_on_which_one_installs_it_say_why_from_a_clone(page: str) -> None:
    assert NOT_PUBLISHED in (ROOT / page).read_text(encoding="utf-8")


def test_a_copy_from_a_wheel_file_names_that_file_for_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = "accord[http] @ file:///home/you/accord-0.1.0-py3-none-any.whl"
    monkeypatch.setattr("accord.version.own_requirement", lambda _: wheel)
    assert install_line("http") == f"pip install '{wheel}'"


def test_a_copy_that_was_never_installed_names_an_extra_all_the_same(tmp_path: Path) -> None:
    # Without site-packages, and so without the metadata of an installation.
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from accord.version import install_line; install_line('http')"
    )
    words = [sys.executable, "-I", "-S", "-c", program, str(ROOT / "src")]
    subprocess.run(words, cwd=tmp_path, check=True, timeout=limit(20))


def test_a_message_about_a_missing_extra_names_it() -> None:
    assert "'.[http]'" in install_line("http")
    assert NOT_PUBLISHED in install_line("http")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_new_project_installs_the_copy_that_wrote_it(framework: str) -> None:
    files = files_of("word-counter", framework)
    (lines,) = re.findall(r"```sh\n(.*?)```", files["README.md"], re.DOTALL)
    wanted = own_requirement("cli")
    steps = lines.splitlines()
    assert steps.index(f"pip install '{wanted}'") < steps.index("pip install -e '.[test]'")
    assert f"pip install '{wanted}'" in files[".github/workflows/test.yml"]
    assert all(NOT_PUBLISHED in files[path] for path in ("README.md", ".github/workflows/test.yml"))
    # Here it is installed from this checkout, in other places perhaps by its name.
    if " @ " in wanted:
        assert (Path(unquote(urlsplit(wanted.partition(" @ ")[2]).path)) / "pyproject.toml").is_file()


def test_what_the_environment_installs_goes_with_the_earliest_python_that_is_named() -> None:
    refusing = {
        each.name
        for each in distributions()
        if not SpecifierSet(each.metadata["Requires-Python"] or "").contains("3.11.0")
    }
    # What the site needs: its requirement leaves earlier ones out.
    assert refusing <= {"zensical", "pymdown-extensions"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (site,) = [each for each in project["optional-dependencies"]["dev"] if each.startswith("zensical")]
    assert "python_full_version >=" in site
