"""The modules of the package as the rules look at them: read, parsed and walked once for all rules."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["PACKAGE", "ROOT", "Source", "calls_in", "sources", "strings_in"]

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "accord"


@dataclass(frozen=True, eq=False)
class Source:
    """One module; `name` is its path below the package."""

    path: Path
    name: str
    text: str
    tree: ast.Module
    nodes: list[ast.AST]

    @property
    def parts(self) -> tuple[str, ...]:
        return Path(self.name).with_suffix("").parts

    def is_below(self, folder: str) -> bool:
        return self.name.startswith(f"{folder}/")


@cache
def sources() -> list[Source]:
    """All modules of the package."""
    # Parsing makes a million objects that stay: collections meanwhile take longer than parsing.
    gc.disable()
    try:
        return [_read(path) for path in sorted(PACKAGE.rglob("*.py"))]
    finally:
        gc.enable()


def _read(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    return Source(path, path.relative_to(PACKAGE).as_posix(), text, tree, list(ast.walk(tree)))


def strings_in(source: Source) -> set[str]:
    return {node.value for node in source.nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def calls_in(source: Source) -> Iterator[tuple[str, ast.Call]]:
    """The calls of a module, with the dotted names of what they call."""
    for node in source.nodes:
        if isinstance(node, ast.Call):
            yield _dotted(node.func), node


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{_dotted(value)}.{name}"
        case ast.Call(func=function):
            return f"{_dotted(function)}()"
        case _:
            return ""
