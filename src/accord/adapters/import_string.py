"""`module:attribute`: the place of an agent, and the facts about it that the source of its module shows.

Nothing is imported to find them: an editor waits for the answer to `initialize` while a framework takes seconds.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import re
import sys
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["ImportString", "is_import_string"]

_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_STRING = re.compile(rf"(?P<module>{_NAME}|.+\.py):(?P<attribute>{_NAME})")
_LANGGRAPH = re.compile(r"(?P<file>(?:.*[/\\])?langgraph\.json)(?::(?P<graph>[\w-]+))?")
# How many modules an attribute is followed through.
MAX_DEPTH = 8


def is_import_string(text: str) -> bool:
    """Whether a text is `module:attribute`, `path/to/file.py:attribute`, or a `langgraph.json`."""
    return _STRING.fullmatch(text) is not None or _LANGGRAPH.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class ImportString:
    """An attribute of a module, or of a file whose name ends with `.py`."""

    module: str
    attribute: str
    root: str | None = None
    """The directory of a `langgraph.json`, where the modules of its graphs are."""

    @classmethod
    def parse(cls, text: str) -> ImportString:
        """Take a text apart.

        Raises:
            ValueError: It is none.
        """
        config = _LANGGRAPH.fullmatch(text)
        if config is not None:
            place = Path(config["file"]).absolute()
            module, _, attribute = _graph_of(place, config["graph"]).rpartition(":")
            return cls(str(place.parent / module) if module.endswith(".py") else module, attribute, str(place.parent))
        match = _STRING.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no agent in a module: one is named module:attribute, or file.py:attribute")
        return cls(match["module"], match["attribute"])

    def __str__(self) -> str:
        return f"{self.module}:{self.attribute}"

    @property
    def file(self) -> Path | None:
        """The file that is named, where a file is named."""
        return Path(self.module).absolute() if self.module.endswith(".py") else None

    @property
    def name(self) -> str:
        """A name for the agent."""
        module = self.file.stem if self.file is not None else self.module
        return module if self.attribute in {"agent", "app", "graph"} else f"{module}.{self.attribute}"

    def extend_path(self) -> None:
        """Let modules beside the file, or in the working directory, be found: behind all that is installed.

        At the end: a file of a project must not replace a module that something else imports.
        """
        folder = str(Path.cwd() if self.file is None else self.file.parent)
        for each in (self.root, folder):
            if each is not None and each not in sys.path:
                sys.path.append(each)

    @property
    def in_package(self) -> str | None:
        """The text that names the module of a file that is part of a package."""
        if self.file is None:
            return None
        names = [self.file.stem]
        folder = self.file.parent
        while (folder / "__init__.py").exists() or len(names) == 1:
            names, folder = [folder.name, *names], folder.parent
        return f"{'.'.join(names)}:{self.attribute}"

    def load(self) -> Any:
        """Import the module and return the attribute.

        Raises:
            AttributeError: The module has none of this name.
            Exception: The module raised it.
        """
        self.extend_path()
        return reduce(getattr, self.attribute.split("."), self._import())

    def _import(self) -> Any:
        if self.file is None:
            return importlib.import_module(self.module)
        known = sys.modules.get(self.file.stem)
        if known is not None and _file_of(known) == self.file:
            return known
        spec = importlib.util.spec_from_file_location(self.file.stem, self.file)
        if spec is None or spec.loader is None or not self.file.is_file():
            raise ModuleNotFoundError(f"there is no file {self.file}", name=self.module)
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(self.file.stem, module)
        spec.loader.exec_module(module)
        return module

    def is_missing(self) -> bool:
        """Whether there is no such file, or no module or package of the first name; nothing is imported."""
        if self.file is not None:
            return not self.file.is_file()
        self.extend_path()
        root = self.module.partition(".")[0]
        return root not in sys.modules and importlib.util.find_spec(root) is None

    def is_made_by_accord(self) -> bool:
        """Whether the source says that the attribute is an `accord.Agent`; false where it does not show that."""
        self.extend_path()
        path = self.file or _source_of(self.module)
        origin = None if path is None else _origin(path, self.attribute.partition(".")[0], MAX_DEPTH)
        return origin is not None and origin.split(".")[0] == "accord"


def _graph_of(path: Path, name: str | None) -> str:
    """The place of a graph in a `langgraph.json`; without a name that of the only one.

    Raises:
        ValueError: There is none.
    """
    try:
        known = json.loads(path.read_bytes())["graphs"]
        graphs = {key: each if isinstance(each, str) else each["path"] for key, each in known.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} has no graphs that can be read: {type(error).__name__}") from error
    names = [name] if name else list(graphs)
    if len(names) != 1 or names[0] not in graphs:
        raise ValueError(f"{path} has the graphs {', '.join(graphs)}: name one of them, as langgraph.json:NAME")
    return str(graphs[names[0]])


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).absolute() if isinstance(file, str) else None


def _source_of(module: str) -> Path | None:
    """The file of a module, by its name alone: to ask the import system would import the packages around it."""
    parts = module.split(".")
    for folder in sys.path:
        place = Path(folder or ".").joinpath(*parts)
        for candidate in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
            if candidate.is_file():
                return candidate.absolute()
    return None


def _origin(path: Path, name: str, depth: int) -> str | None:
    """The dotted name of the function or class that makes a module's attribute."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    return _Scope(path, tree).origin(ast.Name(name), depth)


class _Scope:
    """The names of a module, by its source."""

    def __init__(self, path: Path, tree: ast.Module) -> None:
        self._path = path
        self._imports: dict[str, str] = {}
        self._values: dict[str, ast.expr | None] = {}
        self._collect(tree.body)

    def _collect(self, body: list[ast.stmt]) -> None:
        for statement in body:
            match statement:
                case ast.Import(names=names):
                    for alias in names:
                        root = alias.name.partition(".")[0]
                        self._imports[alias.asname or root] = alias.name if alias.asname else root
                case ast.ImportFrom(module=module, names=names, level=level):
                    for alias in names:
                        self._imports[alias.asname or alias.name] = f"{'.' * level}{module or ''}:{alias.name}"
                case ast.If(body=inner) | ast.Try(body=inner) | ast.With(body=inner):
                    self._collect(inner)
                case _:
                    self._bind(statement)

    def _bind(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=targets, value=value):
                self._values.update({target.id: value for target in targets if isinstance(target, ast.Name)})
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                self._values[name] = value or annotation
            case ast.FunctionDef(name=name, returns=returns) | ast.AsyncFunctionDef(name=name, returns=returns):
                self._values[name] = returns or _returned(statement)
            case _:
                pass

    def origin(self, value: ast.expr | None, depth: int) -> str | None:
        """The dotted name behind an expression, followed through calls, names and other modules."""
        if depth == 0:
            return None
        match value:
            case ast.Call(func=inner) | ast.Await(value=inner):
                return self.origin(inner, depth - 1)
            case ast.Attribute(value=inner, attr=attribute):
                owner = self.origin(inner, depth - 1)
                return None if owner is None else f"{owner}.{attribute}"
            case ast.Name(id=name) if name in self._values:
                return self.origin(self._values[name], depth - 1)
            case ast.Name(id=name) if name in self._imports:
                return self._imported(self._imports[name], depth - 1)
            case _:
                return None

    def _imported(self, where: str, depth: int) -> str | None:
        module, _, name = where.partition(":")
        if not name or module.split(".")[0] == "accord":
            return where.replace(":", ".")
        if module.startswith("."):
            level = len(module) - len(module.lstrip("."))
            folder = self._path.parents[level - 1]
            place = folder.joinpath(*module.lstrip(".").split(".")) if module.strip(".") else folder
            found = next((each for each in (place.with_suffix(".py"), place / "__init__.py") if each.is_file()), None)
        else:
            found = _source_of(module)
            found = found if found is not None and self._is_near(found) else None
        followed = None if found is None else _origin(found, name, depth)
        return followed or f"{module}.{name}"

    def _is_near(self, other: Path) -> bool:
        """Whether a module may be of the same author: modules of frameworks are large, and make no `accord.Agent`."""
        installed = {"site-packages", "dist-packages"} & set(other.parts)
        return not installed or other.is_relative_to(self._path.parent)


def _returned(function: ast.stmt) -> ast.expr | None:
    return next((node.value for node in ast.walk(function) if isinstance(node, ast.Return)), None)
