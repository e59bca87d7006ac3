"""The public names: importable, documented, typed, and nothing else in `dir()`."""

from __future__ import annotations

import ast
import asyncio
import builtins
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import accord
from scripts import reference
from tests.limits import limit

# What a coroutine is sent and yields is the loop's; what the rows of a table of methods take and give differs by row.
FREE = frozenset({"Coroutine", "Generator", "RequestMethod", "NotificationMethod", "Arrival"})
# These hold a type, which is the row's.
TYPES_OF_A_ROW = frozenset(
    {"accord.RequestMethod.params", "accord.RequestMethod.result", "accord.NotificationMethod.params"}
)
# JSON that the checker has read.
READ_BY_THE_CHECKER = frozenset(
    {"accord.check.Entry.message", "accord.check.Report.info", "accord.check.Report.capabilities"}
)
OUTSIDE = frozenset(
    [
        "asyncio",
        "builtins",
        "collections",
        "concurrent",
        "contextlib",
        "msgspec",
        "os",
        "pathlib",
        "re",
        "ssl",
        "pydantic_ai",
        "types",
        "typing",
        "typing_extensions",
        "_typeshed",
    ]
)


class Place(NamedTuple):
    """An annotation: whose it is, in which module its names mean something, and the expression."""

    where: str
    module: str
    name: str
    annotation: ast.expr


@functools.cache
def entries() -> dict[str, reference.Entry]:
    found: dict[str, reference.Entry] = {}
    for page in reference.PAGES:
        for name in reference.exported(page):
            if reference.home_page(page, name) == page:
                found[f"{page}.{name}"] = reference.entry_of(page, name)
    return found


@functools.cache
def public_objects() -> dict[int, str]:
    return {
        id(getattr(import_module(page), name)): f"{page}.{name}"
        for page in reference.PAGES
        for name in reference.exported(page)
    }


def annotations_of(nodes: list[ast.AST], where: str, module: str) -> Iterator[Place]:
    for node in nodes:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if not _is_implementation(node, nodes):
                    yield from _of_function(node, where, module)
            case ast.AnnAssign(annotation=ast.Name("TypeAlias"), value=ast.expr() as value):
                yield Place(where, module, "", value)
            case ast.AnnAssign():
                yield Place(where, module, where.rpartition(".")[2], node.annotation)
            case _:
                yield Place(where, module, "", ast.Name("UNTYPED"))


def _of_function(node: ast.FunctionDef | ast.AsyncFunctionDef, where: str, module: str) -> Iterator[Place]:
    given = node.args
    for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        if argument is not None and argument.arg not in {"self", "cls"}:
            assert argument.annotation is not None, f"{where}({argument.arg}) has no type"
            yield Place(f"{where}({argument.arg})", module, argument.arg, argument.annotation)
    if node.returns is not None:
        yield Place(f"{where} ->", module, "result", node.returns)


def _is_implementation(node: ast.AST, nodes: list[ast.AST]) -> bool:
    return len(nodes) > 1 and "overload" not in {ast.unparse(each) for each in node.decorator_list}  # type: ignore[attr-defined]


def places() -> Iterator[Place]:
    for where, entry in entries().items():
        if entry.kind in {"function", "type"} and where != "accord.JsonValue":
            yield from annotations_of(entry.nodes, where, entry.module)
        for member in entry.members:
            yield from annotations_of(member.nodes, f"{where}.{member.name}", member.module)
        if entry.kind in {"class", "exception"} and len(entry.signatures) > 1:
            value = getattr(import_module(where.rpartition(".")[0]), entry.name)
            base = next(each for each in value.__mro__ if "__init__" in vars(each))
            made = [n for n in reference._class_node(base).body if getattr(n, "name", "") == "__init__"]
            yield from annotations_of([made[-1]], where, base.__module__)


def names_in(place: Place) -> Iterator[tuple[str, bool]]:
    """Each name in an annotation, dotted, and whether it stands inside a generic whose `Any` is not the reader's."""

    def walk(node: ast.AST, *, free: bool) -> Iterator[tuple[str, bool]]:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield from walk(ast.parse(node.value, mode="eval").body, free=free)
        elif isinstance(node, ast.Name | ast.Attribute):
            yield ast.unparse(node), free
        elif isinstance(node, ast.Subscript):
            outer = ast.unparse(node.value).rpartition(".")[2]
            yield from walk(node.value, free=free)
            if outer != "Literal" and not _is_json_object(node):
                yield from walk(node.slice, free=free or outer in FREE)
        else:
            for child in ast.iter_child_nodes(node):
                yield from walk(child, free=free)

    yield from walk(place.annotation, free=False)


def _is_json_object(node: ast.Subscript) -> bool:
    return re.sub(r"\s", "", ast.unparse(node)) in {"dict[str,Any]", "Mapping[str,Any]"}


def resolved(name: str, module: str) -> Any:
    first, *rest = name.split(".")
    value = _global(first, module)
    for each in rest:
        value = getattr(value, each)
    return value


@functools.cache
def _global(name: str, module: str) -> Any:
    loaded = import_module(module)
    if hasattr(loaded, name):
        return getattr(loaded, name)
    if hasattr(builtins, name):
        return getattr(builtins, name)
    for node in ast.walk(reference.tree_of(module)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    home = node.module if isinstance(node, ast.ImportFrom) else None
                    return import_module(name) if home is None else getattr(import_module(home), alias.name)
    raise NameError(f"{name} in {module}")


def problems(place: Place) -> Iterator[str]:
    for name, free in names_in(place):
        if name == "UNTYPED":
            yield f"{place.where} has no type"
            continue
        if name.rpartition(".")[2].startswith("_"):
            yield f"{place.where}: {name} is private"
            continue
        value = resolved(name, place.module)
        if value is Any:
            if not free and name != "JsonValue" and place.where not in TYPES_OF_A_ROW | READ_BY_THE_CHECKER:
                yield f"{place.where}: Any that is not said to be JSON"
        elif isinstance(value, TypeVar):
            continue
        elif id(value) not in public_objects() and not _is_outside(name, value, place.module):
            yield f"{place.where}: {name} ({_home(value)}) is importable from no public name"


def _is_outside(name: str, value: Any, module: str) -> bool:
    """Whether it is Python's, or of a library that users see; a union of ours is ours."""
    return _home(value).partition(".")[0].lstrip("_") in OUTSIDE and reference.definition(module, name) is None


def _home(value: Any) -> str:
    return str(getattr(value, "__module__", None) or type(value).__module__)


def test_every_type_of_a_public_signature_is_importable_from_a_public_name() -> None:
    found = sorted({problem for place in places() for problem in problems(place)})
    assert not found, "\n".join(found)


def test_every_public_name_is_documented() -> None:
    bare = [where for where, entry in entries().items() if not entry.text]
    bare += [
        f"{where}.{member.name}"
        for where, entry in entries().items()
        if entry.kind == "class" and not _is_data(where)
        for member in entry.members
        if not member.text
    ]
    assert not bare, "\n".join(bare)


def _is_data(where: str) -> bool:
    page, _, name = where.rpartition(".")
    return reference._is_struct(getattr(import_module(page), name))


def test_nothing_public_is_called_ask() -> None:
    names = [*entries(), *(f"{where}.{member.name}" for where, entry in entries().items() for member in entry.members)]
    assert not [name for name in names if name.endswith(".ask")]
    assert not [place.where for place in places() if place.name == "ask"]


def test_dir_of_a_public_class_is_what_its_page_shows() -> None:
    classes = [where for where, entry in entries().items() if entry.kind in {"class", "exception"}]
    assert len(classes) > 100
    assert {where: seen for where in classes if (seen := difference_of(where))} == {}


def difference_of(where: str) -> set[str]:
    """The members that only `dir` or only the page shows."""
    page, _, name = where.rpartition(".")
    value = getattr(import_module(page), name)
    here = {each for each in dir(value) if not each.startswith("_")} - outside_members(value)
    instance = {
        member.name for member in entries()[where].members if member.name not in here and not member.is_callable
    }
    return members_on_page(where) ^ (here | instance)


async def live_objects(folder: Path) -> dict[str, object]:
    """What users hold in their hands during a conversation, by the public name of its class."""
    found: list[object] = []
    agent = accord.Agent("live", store=accord.MemoryStore())

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        found.extend([turn, turn.session, turn.client, turn.files, turn.terminals, await turn.history()])
        async with turn.tool("Look", kind="read") as tool:
            found.extend([tool, await turn.request_permission(tool)])
            await tool.complete("seen")
        async with turn.compact() as compaction:
            found.append(compaction)
        async with await turn.terminals.start([sys.executable, "-c", ""]) as terminal:
            found.extend([terminal, await terminal.wait()])

    @agent.command("blocking", "in a thread")
    def block(turn: accord.agent.BlockingTurn, _: str) -> None:
        found.extend([turn, turn.session, turn.client, turn.files, turn.terminals])
        with turn.tool("Look", kind="read") as tool:
            found.append(tool)

    @agent.request("_live")
    async def extend(extension: accord.agent.Extension) -> None:
        found.append(extension)

    def permit(question: accord.client.PermissionQuestion) -> bool:
        found.append(question)
        return True

    async with accord.connect(agent, permission=permit) as remote:
        session = await remote.new_session(folder)
        turn = await session.prompt("hello")
        found.extend([agent, remote, remote.connection, remote.info, session, turn, session.transcript])
        found.extend([*session.transcript.timeline, *session.transcript.turns])
        await session.prompt("/blocking")
        await remote.request("_live")
    with await asyncio.to_thread(accord.open(agent, cwd=folder).open) as blocking:
        reply_ = await asyncio.to_thread(blocking.prompt, "/blocking")
        found.extend([blocking, reply_])
    names = public_objects()
    # Some are of a class of ours behind the public one: they are to have no more than that.
    return {next(names[id(base)] for base in type(each).__mro__ if id(base) in names): each for each in found}


LIVE = (
    "accord.Connection",
    "accord.Transcript",
    "accord.agent.Agent",
    "accord.agent.BlockingSession",
    "accord.agent.BlockingTurn",
    "accord.agent.Session",
    "accord.agent.Tool",
    "accord.agent.Turn",
    "accord.client.BlockingSession",
    "accord.client.ConnectedAgent",
    "accord.client.Reply",
    "accord.client.Session",
    "accord.client.Turn",
)


async def test_dir_of_a_live_object_is_what_its_page_shows(tmp_path: Path) -> None:
    found = await live_objects(tmp_path)
    assert set(LIVE) <= set(found)
    wrong = [
        f"{where}: {name}"
        for where, each in found.items()
        for name in {name for name in dir(each) if not name.startswith("_")} ^ members_on_page(where)
        if name not in outside_members(type(each))
    ]
    assert wrong == []


def members_on_page(where: str) -> set[str]:
    """What the page of a public class shows of it."""
    page, _, name = where.rpartition(".")
    text = (reference.FOLDER / f"{reference.home_page(page, name)}.md").read_text()
    return set(re.findall(rf"^#### {name}\.(\w+)$", text, re.MULTILINE))


def outside_members(value: type) -> set[str]:
    """What a class has from bases that are not ours."""
    return {each for base in value.__mro__ if not base.__module__.startswith("accord") for each in dir(base)}


def test_the_pages_are_up_to_date() -> None:
    assert reference.main(["--check"]) == 0, "run scripts/docs"


def test_the_lazy_tables_name_what_there_is() -> None:
    for page in reference.PAGES:
        module = import_module(page)
        assert len(module.__all__) == len(set(module.__all__))
        for name in module.__all__:
            assert getattr(module, name) is not None or name == "UNSET", f"{page}.{name}"


def test_importing_accord_loads_no_side_of_it() -> None:
    program = "import accord, sys; print(sorted(m for m in sys.modules if m.startswith('accord.')))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=limit(60)
    )
    assert done.stdout.strip() == "['accord.lazy', 'accord.version']"
