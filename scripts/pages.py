"""Writes the programs of the pages as modules, which type checkers read: README, guides, examples and templates.

    python scripts/pages.py .venv/pages       # and mypy reads them; pyright does in `scripts/test --long`

A page is a folder, a block is a module. Lines that a page shows alone stand in the function that the page describes: a
handler of an agent, or a client's coroutine with an agent and a session. Nothing else of them is changed.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import json
import os
import re
import shutil
import subprocess
import symtable
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from accord.cli.new_project.templates import FRAMEWORKS, files_of

ROOT = Path(__file__).resolve().parents[1]
PYRIGHT = ROOT / ".peers/ts/node_modules/.bin/pyright"
_BLOCK = re.compile(r"^( *)```python\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"# (?:\S+/)?(\w+)\.py\n")
_IMPORT = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)


def pages() -> list[Path]:
    """All pages that may have programs; the history and the generated reference have none of their own."""
    docs = (ROOT / "docs").rglob("*.md")
    return [ROOT / "README.md", *sorted(page for page in docs if page.parent.name not in {"decisions", "reference"})]


def blocks(page: Path) -> list[str]:
    """The Python blocks of a page."""
    return [textwrap.dedent(code) for _, code in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def modules() -> dict[str, str]:
    """Every module by its path below the folder."""
    found: dict[str, str] = {}
    for page in pages():
        folder = page.relative_to(ROOT).with_suffix("").as_posix().replace("/", "_").replace("-", "_").lower()
        for name, code in _named(blocks(page)):
            found[f"{folder}/{name}.py"] = code
    for example in sorted((ROOT / "examples").rglob("*.py")):
        found[example.relative_to(ROOT).as_posix()] = example.read_text(encoding="utf-8")
    for framework in FRAMEWORKS:
        name = f"new-{framework}"
        for path, text in files_of(name, framework).items():
            if path.endswith(".py"):
                found[f"{name.replace('-', '_')}_project/{path}"] = text
    return found


def _named(codes: list[str]) -> Iterator[tuple[str, str]]:
    """Blocks under the names that they give themselves; a further one of a name, and one without, has a number."""
    made: dict[str, str] = {}
    siblings = {named[1] for code in codes if (named := _NAMED.match(code))}
    seen: set[str] = set()
    for number, code in enumerate(codes, 1):
        named = _NAMED.match(code)
        name = named[1] if named is not None and named[1] not in seen else f"block_{number}"
        seen.add(name)
        for sibling in siblings:
            # The folder of a page is not on the path of modules.
            code = re.sub(rf"^from {sibling} import", f"from .{sibling} import", code, flags=re.MULTILINE)  # noqa: PLW2901
        lines = _completed(code, made)
        made.update(dict.fromkeys(_names(code)[0], name))
        yield name, lines


def _completed(code: str, made: Mapping[str, str]) -> str:
    """A block as a module: with the names that it takes as given, and lines that wait in a coroutine.

    Names come from an earlier block of the page (`made`: by name, its module), or are what the page is about.
    """
    body = ast.parse(code).body
    # Definitions stay where they are; a handler is where the first line waits, or speaks of a turn.
    inside = next((each.lineno for each in body if _waits(each) or _speaks_of_a_turn(each)), None)
    lines = code.splitlines()
    outer, inner = (lines, []) if inside is None else (lines[: inside - 1], lines[inside - 1 :])
    _, lacks = _names(code)
    has_turn = "turn" in lacks
    if "agent" in lacks or has_turn or "session" in lacks:
        lacks.add("accord")
    head = [line for name, line in _GIVEN.items() if name in lacks]
    head += [f"from .{made[name]} import {name}" for name in sorted((lacks - _GIVEN.keys() - {"turn"}) & made.keys())]
    if not inner:
        return "\n".join([*head, *outer]) + "\n"
    is_async = any(_waits(each) for each in body)
    given = [f"turn: accord.agent.{'Turn' if is_async else 'BlockingTurn'}"] if has_turn else []
    given += ["session: accord.client.Session"] if "session" in lacks - made.keys() else []
    start = f"{'async ' if is_async else ''}def lines({', '.join(given)}) -> None:"
    return "\n".join([*head, *outer, start, *(f"    {line}" if line else "" for line in inner)]) + "\n"


_GIVEN = {
    "accord": "import accord",
    "asyncio": "import asyncio",
    "Path": "from pathlib import Path",
    "agent": 'agent = accord.Agent("guide", version="1.0")',
}
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """A statement and what is in it, without the bodies of definitions."""
    yield node
    if not isinstance(node, (*_DEFINITIONS, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _own(child)


def _waits(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Await | ast.AsyncWith | ast.AsyncFor) for node in _own(statement))


def _speaks_of_a_turn(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "turn" for node in _own(statement))


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _names(code: str) -> tuple[set[str], set[str]]:
    """The names that a block gives a value to for the whole module, and those that it takes from elsewhere."""
    module = symtable.symtable(code, "block", "exec")
    defined = {each.get_name() for each in module.get_symbols() if each.is_assigned() or each.is_imported()}
    used = {
        each.get_name()
        for table in _tables(module)
        for each in table.get_symbols()
        if each.is_referenced() and (table is module or each.is_global())
    }
    return defined, used - defined - {*dir(builtins), "__name__", "__file__"}


def missing(code: str) -> set[str]:
    """The packages that a module needs and that are not installed."""
    names = {name for name in _IMPORT.findall(code) if not name.startswith("new_")}
    return {name for name in names if importlib.util.find_spec(name) is None}


def write(folder: Path) -> set[str]:
    """Write the modules, those that need what is not installed into a folder of their own; returns what that is."""
    shutil.rmtree(folder, ignore_errors=True)
    lacks: dict[str, set[str]] = {}
    found = modules()
    for path, code in found.items():
        lacks.setdefault(path.partition("/")[0], set()).update(missing(code))
    for path, code in found.items():
        place = folder / ("foreign" if lacks[path.partition("/")[0]] else "") / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(code, encoding="utf-8")
    return set().union(*lacks.values())


def check(folder: Path, checker: str) -> subprocess.CompletedProcess[str]:
    """Run mypy, strict as for ourselves, or pyright with its own settings, over what was written."""
    sources = sorted(str(each) for each in folder.glob("**/new_*_project/src"))
    if checker == "mypy":
        path = os.pathsep.join([*sources, str(ROOT / "src"), str(folder.parent)])
        command = [sys.executable, "-m", "mypy", str(folder)]
        return subprocess.run(command, cwd=ROOT, env={**os.environ, "MYPYPATH": path}, text=True, check=False)
    settings = {"include": ["."], "exclude": ["foreign"], "extraPaths": sources}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [str(PYRIGHT), "--pythonpath", sys.executable, "-p", str(folder), "--outputjson"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)


def main(arguments: list[str]) -> int:
    """Write the modules and have mypy read them."""
    folder = Path(*arguments).resolve()
    if lacks := write(folder):
        print(f"not installed, and taken as untyped: {', '.join(sorted(lacks))}")
    return check(folder, "mypy").returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
