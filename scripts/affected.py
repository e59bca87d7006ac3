"""Prints the test files that a change can reach: those that import what differs from a commit, by the import graph.

Started programs count as imports: a test that names a module behind `-m`, or the file of a program, depends on it.
Files that are no modules (pages, examples, golden files) reach the tests that name them or their folder. Sources are
read as text: to parse all of them takes longer than most of the tests.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src/accord", "tests", "scripts", "examples", "benchmarks")
# What every test depends on.
ALL_TESTS = {
    "pyproject.toml", "constraints.txt", "scripts/env", "scripts/peers", "scripts/peers.json",
    "tests/conftest.py", "src/accord/testing/plugin.py",
}  # fmt: skip
# What is found by an entry point: the text by which a test uses it.
BY_ENTRY_POINT = {"simse": "accord.simse", ".asgi(": "accord.serve"}

_ONLY_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:(?: +.*)?\n)+", re.MULTILINE)
_FROM = re.compile(r"^ *from ([\w.]+) import (?:\(([^)]*)\)|(.+))$", re.MULTILINE)
_IMPORT = re.compile(r"^ *import (.+)$", re.MULTILINE)
# Attributes, and strings that are handed to `import_module`; `accord.cli.verbs.{` stands for all that is below it.
_DOTTED = re.compile(r"(?<![\w.`])accord(?:\.\w+)+(?:\.(?=\{))?")
_BEHIND_M = re.compile(r'"-m", "(accord[\w.]*)"')
_PROGRAM = re.compile(r'["/](\w[\w/]*\.py)\b')


def changed(commit: str | None) -> list[str]:
    """The files that differ from a commit, those included that are not in the index."""
    commit = commit or _git("merge-base", "HEAD", "@{upstream}") or "HEAD"
    if not _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        raise SystemExit(f"scripts/test: there is no commit {commit}")
    listed = (
        _git("diff", "--name-only", "--no-renames", commit, "--"),
        _git("ls-files", "--others", "--exclude-standard"),
    )
    return sorted({name for each in listed for name in each.splitlines()})


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", *words],  # noqa: S607 - as everybody calls it
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def module_of(path: str) -> str | None:
    """The name of the module in a file."""
    if not path.endswith(".py"):
        return None
    return path.removeprefix("src/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")


@cache
def modules() -> dict[str, Path]:
    """All modules of the project."""
    found = {}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            name = module_of(path.relative_to(ROOT).as_posix())
            if name is not None:
                found[name] = path
    return found


@cache
def _text(name: str) -> str:
    return _ONLY_TYPES.sub("if False:\n    pass\n", modules()[name].read_text(encoding="utf-8"))


@cache
def _lazy_names(package: str) -> dict[str, str]:
    """The names that a package imports at their first use, and the modules that have them."""
    if package not in modules() or "lazy_exports(" not in _text(package):
        return {}
    for node in ast.walk(ast.parse(_text(package))):
        match node:
            case ast.Call(func=ast.Name(id="lazy_exports"), args=[_, ast.Dict(keys=homes, values=lists)]):
                return {
                    name: ast.literal_eval(home)
                    for home, names in zip(homes, lists, strict=True)
                    if home is not None
                    for name in ast.literal_eval(names).split()
                }
            case _:
                pass
    return {}


@cache
def _namespaces() -> set[str]:
    """The folders without an `__init__`."""
    folders = {name.rpartition(".")[0] for name in modules()}
    above = {
        ".".join(parts[:count]) for parts in (each.split(".") for each in folders) for count in range(1, len(parts) + 1)
    }
    return above - set(modules())


def _resolved(dotted: str) -> Iterator[str]:
    """The modules that a dotted name imports: its packages, and the module that has its last name."""
    if dotted.endswith("."):
        yield from (name for name in modules() if name.startswith(dotted))
        return
    name = ""
    for part in dotted.split("."):
        longer = f"{name}.{part}" if name else part
        if longer in _namespaces():
            name = longer
            continue
        if name and longer not in modules():
            home = _lazy_names(name).get(part)
            if home is not None:
                yield from _resolved(home)
            elif name not in modules():
                # A module that was deleted.
                yield longer
            return
        name = longer
        yield name


def _names(name: str) -> Iterator[str]:
    """What a module imports or names, as dotted names."""
    text, path = _text(name), modules()[name]
    for origin, listed, line in _FROM.findall(text):
        for each in re.sub(r"#.*", "", listed or line).split(","):
            if each.strip():
                yield f"{origin}.{each.split()[0]}"
    for line in _IMPORT.findall(text):
        yield from (each.split()[0] for each in line.partition("#")[0].split(",") if each.strip())
    if not _lazy_names(name):
        yield from _DOTTED.findall(text)
    yield from (f"{program}.__main__" for program in _BEHIND_M.findall(text))
    yield from _programs(text, path)


def _programs(text: str, path: Path) -> Iterator[str]:
    """The programs whose files a module names, from its own folder or the root."""
    for program in _PROGRAM.findall(text):
        for file in (path.parent / program, ROOT / program, *path.parent.glob(f"*/{Path(program).name}")):
            if file in _files():
                yield _files()[file]


@cache
def _files() -> dict[Path, str]:
    return {path: name for name, path in modules().items()}


@cache
def importers() -> dict[str, set[str]]:
    """The modules that import each module."""
    graph: defaultdict[str, set[str]] = defaultdict(set)
    for name, path in modules().items():
        imported = {module for dotted in _names(name) for module in _resolved(dotted)}
        if name.startswith("tests."):
            imported |= {module for word, module in BY_ENTRY_POINT.items() if word in _text(name)}
            folders = [parent for parent in path.parents if parent.is_relative_to(ROOT / "tests")]
            imported |= {_files()[each / "conftest.py"] for each in folders if each / "conftest.py" in _files()}
        for module in imported:
            graph[module].add(name)
    return graph


def reached(names: Iterable[str]) -> set[str]:
    """The modules that import any of these, by way of others too; with these."""
    graph, found, left = importers(), set(names), list(names)
    while left:
        for importer in graph[left.pop()] - found:
            found.add(importer)
            left.append(importer)
    return found


def affected(paths: Iterable[str]) -> list[str]:
    """The test files that a change of these files can reach."""
    tests = {
        name: path for name, path in modules().items() if path.name.startswith("test_") and name.startswith("tests.")
    }
    names: set[str] = set()
    for path in paths:
        if path in ALL_TESTS:
            return sorted(each.relative_to(ROOT).as_posix() for each in tests.values())
        module = module_of(path)
        names |= {module} if module is not None else set()
        names |= set(_that_name(path))
    found = reached(names)
    return sorted(path.relative_to(ROOT).as_posix() for name, path in tests.items() if name in found)


def _that_name(path: str) -> Iterator[str]:
    """The modules of the tests that name a file or its folder; of a golden file, the tests beside it."""
    folder, _, rest = path.partition("/")
    wanted = [f'"{Path(path).name}"', f"/{Path(path).name}"]
    if rest and folder != "tests":
        wanted += [f'"{folder}"', f'"{folder}/']
    for name, file in modules().items():
        if not name.startswith("tests."):
            continue
        beside = folder == "tests" and not path.endswith(".py") and file.parts[-2] in Path(path).parts
        if beside or any(word in _text(name) for word in wanted):
            yield name


if __name__ == "__main__":
    sys.stdout.write(" ".join(affected(changed(sys.argv[1] if len(sys.argv) > 1 else None))))
