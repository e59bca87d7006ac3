"""docs/errors.md names every public exception, every JSON-RPC code and every exit code."""

from __future__ import annotations

import importlib
import inspect
import io
import itertools
import pkgutil
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import accord
from accord.cli.fault import _LATE
from accord.cli.status import Status
from accord.errors import AccordError, RequestError, StoreError
from accord.workspace.errors import WorkspaceError

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "accord"
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
# The checker sends wrong codes on purpose; a test of the page would prove nothing there.
NOT_OURS = {"check"}


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(accord.__path__, "accord."):
        if found.name.endswith("__main__"):
            continue
        try:
            yield importlib.import_module(found.name)
        except ModuleNotFoundError as missing:
            # The frameworks of adapters are their users' own.
            if not found.name.startswith("accord.adapters.") or str(missing.name).startswith("accord"):
                raise


def public_exceptions() -> set[type[Exception]]:
    """Every `AccordError`, and every other exception that a module exports by `__all__`."""
    return {
        value
        for module in modules()
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Exception) and value.__module__.startswith("accord.")
        if issubclass(value, AccordError) or name in getattr(module, "__all__", ())
    }


def codes_in_source() -> set[int]:
    """Every number of the range of JSON-RPC errors in the code, comments and docstrings left out."""
    found: set[int] = set()
    for path in SOURCES.rglob("*.py"):
        if path.relative_to(SOURCES).parts[0] in NOT_OURS:
            continue
        text = path.read_text(encoding="utf-8")
        if not re.search(r"-\s*32[0-9]{3}", text):
            continue
        words = list(tokenize.generate_tokens(io.StringIO(text).readline))
        for sign, number in itertools.pairwise(words):
            if sign.string == "-" and re.fullmatch(r"32[0-9]{3}", number.string):
                found.add(-int(number.string))
    return found


def section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def rows(heading: str) -> dict[str, str]:
    """The rows of the tables below a heading, by the word in their first cell."""
    found = re.findall(r"^\| `([^`]+)`[^|]*\| (.+) \|$", section(heading), re.MULTILINE)
    assert found, heading
    return dict(found)


def test_every_public_exception_has_a_row_with_its_meaning_and_what_to_do() -> None:
    described = {**rows("Exceptions of every program"), **rows("Exceptions of one package")}
    missing = sorted(kind.__name__ for kind in public_exceptions() if kind.__name__ not in described)
    assert missing == []
    known = {kind.__name__ for kind in public_exceptions()}
    assert sorted(described.keys() - known) == []
    assert [name for name, cells in described.items() if len(cells.split(" | ")) != 2] == []


def test_each_exception_is_where_the_page_says() -> None:
    places = re.findall(r"^\| `(\w+)` \(([^)]+)\)", section("Exceptions of one package"), re.MULTILINE)
    assert len(places) == len(rows("Exceptions of one package"))
    for name, packages in places:
        for package in re.findall(r"`([^`]+)`", packages):
            assert hasattr(importlib.import_module(package), name), (name, package)
    for name in rows("Exceptions of every program"):
        assert getattr(accord, name) is getattr(accord.errors, name)


def test_every_code_that_the_source_has_is_on_the_page() -> None:
    listed = {int(code) for code in rows("JSON-RPC codes")}
    assert codes_in_source() - listed == set()


@pytest.mark.parametrize("kind", [*RequestError.__subclasses__(), *WorkspaceError.__subclasses__()])
def test_the_code_of_an_exception_stands_beside_its_name(kind: type[RequestError | WorkspaceError]) -> None:
    assert kind.__name__ in rows("JSON-RPC codes")[str(kind.code)]


def test_the_codes_of_the_published_schemas_are_on_the_page() -> None:
    listed = set(rows("JSON-RPC codes"))
    for table in (ROOT / "tests" / "protocol" / "inventory").glob("*.txt"):
        for codes in re.findall(r"^enum ErrorCode.*\n((?: +.*\n)+)", table.read_text(encoding="utf-8"), re.MULTILINE):
            assert set(codes.split()) - listed == set(), table.name


def test_every_exit_code_is_on_the_page() -> None:
    assert set(rows("Exit codes")) >= {str(int(status)) for status in Status}


def test_every_reason_of_a_store_and_every_phase_of_a_deadline_is_on_the_page() -> None:
    reasons = re.findall(r"`(\w+)`", (inspect.getdoc(StoreError) or "").partition("one of")[2].partition("`path`")[0])
    assert len(reasons) > 10
    assert [reason for reason in reasons if f"`{reason}`" not in section("Reasons of a `StoreError`")] == []
    assert [phase for phase in _LATE if f"`{phase}`" not in section("Phases of a deadline")] == []


def test_the_block_of_the_page_handles_what_an_agent_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    space: dict[str, object] = {"__name__": "page"}
    exec(compile(block, "docs/errors.md", "exec"), space)  # noqa: S102 - our own page
    ask = space["ask"]
    agent = accord.Agent("failing", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        if turn.text == "busy":
            raise accord.RateLimited(7)
        if turn.text == "login":
            raise accord.AuthRequired
        if turn.text == "wrong":
            raise accord.InvalidParams("no such model")
        await turn.say("fine")

    answers = [ask(agent, text) for text in ("hello", "busy", "login", "wrong")]  # type: ignore[operator]
    assert answers[0] == "fine"
    assert "7" in answers[1]
    assert "log in" in answers[2]
    assert "-32602" in answers[3]
