"""Writes `docs/reference/` from the docstrings of the public names; `scripts/docs` runs it.

    python scripts/reference.py            write the pages
    python scripts/reference.py --check    exit with 1 if a page is missing, out of date or too many

A public name is one in `__all__` of `accord` or of a side (`PAGES`). The text comes from the source and not from the
imported objects: annotations are as written there, and attributes have their docstrings. One page more, `modules.md`,
lists every module with its heading and the names that it exports, for readers of the source.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

PAGES = (
    "accord",
    "accord.agent",
    "accord.client",
    "accord.testing",
    "accord.check",
    "accord.adapters",
    "accord.evaluation",
    "accord.serve",
    "accord.trace",
)
SIDES = frozenset(page.partition(".")[2] for page in PAGES[1:])
FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
SOURCE = FOLDER.parent.parent / "src" / "accord"
MADE_BY = re.compile(r"\bMade (by|for)\b")


@dataclass
class Member:
    """An attribute, a property or a method of a class."""

    name: str
    signatures: list[str]
    text: str
    nodes: list[ast.AST] = field(default_factory=list)
    module: str = ""

    @property
    def is_callable(self) -> bool:
        """Whether it is a method."""
        return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in self.nodes)


@dataclass
class Entry:
    """One public name: where it is defined, its text, and the members of a class."""

    name: str
    kind: str
    module: str
    text: str
    signatures: list[str]
    nodes: list[ast.AST] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)


# --- the source


@functools.cache
def tree_of(module: str) -> ast.Module:
    """The parsed source of a module."""
    path = import_module(module).__file__
    assert path is not None, module  # noqa: S101 - a package of ours has a file
    return ast.parse(Path(path).read_text(encoding="utf-8"))


def definition(module: str, name: str, seen: frozenset[str] = frozenset()) -> tuple[str, list[ast.AST], str] | None:
    """Where a name is defined: the module, the statements, and the docstring behind an assignment."""
    body = list(_statements(tree_of(module).body))
    found: list[ast.AST] = []
    text = ""
    for place, node in enumerate(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
            found.append(node)
        elif name in _targets(node):
            found.append(node)
            text = _string(body[place + 1] if place + 1 < len(body) else None)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module not in seen:
            for alias in node.names:
                if (alias.asname or alias.name) == name and node.module.startswith("accord"):
                    return definition(node.module, alias.name, seen | {module})
    return (module, found, text) if found else None


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If):
            yield from _statements(node.body)
        else:
            yield node


def _targets(node: ast.AST) -> list[str]:
    if isinstance(node, ast.AnnAssign):
        return [node.target.id] if isinstance(node.target, ast.Name) else []
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def _string(node: ast.AST | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return inspect.cleandoc(node.value.value)
    return ""


# --- entries


@functools.cache
def exported(page: str) -> tuple[str, ...]:
    """The public names of a page, without the sides themselves."""
    module = import_module(page)
    return tuple(name for name in module.__all__ if not name.startswith("__") and name not in SIDES)


@functools.cache
def entry_of(page: str, name: str) -> Entry:
    """What is known of a public name.

    Raises:
        LookupError: Its definition was not found.
    """
    found = _lazy(page, name) or definition(page, name)
    value = getattr(import_module(page), name)
    if found is None:
        outside = getattr(value, "__module__", None) or type(value).__module__
        if outside.startswith("accord"):
            message = f"{page}.{name} is defined nowhere"
            raise LookupError(message)
        return Entry(name, "constant", outside, f"`{outside}.{name}`.", [name])
    module, nodes, text = found
    first = nodes[0]
    if isinstance(first, ast.ClassDef):
        return _class_entry(name, value, module, first)
    if isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef):
        said = next((doc for node in reversed(nodes) if (doc := ast.get_docstring(node))), "")  # type: ignore[arg-type]
        return Entry(name, "function", module, said, _signatures(nodes, name), nodes)
    return Entry(name, "type" if _is_alias(first) else "constant", module, text, [_assignment(first, name)], nodes)


def _lazy(page: str, name: str) -> tuple[str, list[ast.AST], str] | None:
    module: ModuleType = import_module(page)
    homes: dict[str, Any] = getattr(module, "_HOME_OF", None) or getattr(module, "_HOMES", {})
    home = homes.get(name)
    if not isinstance(home, str):
        return None
    return definition(home if home.startswith("accord") else f"{page}.{home}", name)


def _is_alias(node: ast.AST) -> bool:
    return isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"


def _assignment(node: ast.AST, name: str) -> str:
    if isinstance(node, ast.AnnAssign):
        if _is_alias(node) and node.value is not None:
            return f"{name} = {_laid_out(ast.unparse(node.value))}"
        return f"{name}: {ast.unparse(node.annotation)}"
    return name


def _laid_out(text: str) -> str:
    parts = text.split(" | ")
    return text if len(text) < 90 or len(parts) == 1 else "\n    " + "\n    | ".join(parts)


def _signatures(nodes: list[ast.AST], name: str) -> list[str]:
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    overloads = [node for node in functions if any(ast.unparse(d) == "overload" for d in node.decorator_list)]
    return [_signature(node, name) for node in (*overloads, *functions[-1:])]


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> str:
    head = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    pieces = _parameters(node.args)
    returns = "" if node.returns is None or name == "__init__" else f" -> {ast.unparse(node.returns)}"
    line = f"{head} {name}({', '.join(pieces)}){returns}"
    if len(line) < 100 or not pieces:
        return line
    return f"{head} {name}(\n" + "".join(f"    {piece},\n" for piece in pieces) + f"){returns}"


def _parameters(given: ast.arguments) -> list[str]:
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [*([None] * (len(plain) - len(given.defaults))), *given.defaults]
    pieces = []
    for place, (argument, default) in enumerate(zip(plain, defaults, strict=True), 1):
        if argument.arg not in {"self", "cls"} or place > 1:
            pieces.append(_parameter(argument, default))
        if place == len(given.posonlyargs) and pieces:
            pieces.append("/")
    if given.vararg is not None:
        pieces.append(f"*{_parameter(given.vararg, None)}")
    elif given.kwonlyargs:
        pieces.append("*")
    pieces += [_parameter(a, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg is not None:
        pieces.append(f"**{_parameter(given.kwarg, None)}")
    return pieces


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    said = argument.arg if argument.annotation is None else f"{argument.arg}: {ast.unparse(argument.annotation)}"
    if default is None:
        return said
    return f"{said} = {ast.unparse(default)}" if argument.annotation is not None else f"{said}={ast.unparse(default)}"


# --- classes


def _class_entry(name: str, value: type, module: str, node: ast.ClassDef) -> Entry:
    text = ast.get_docstring(node) or ""
    members = list(members_of(value, module, node))
    signatures = [] if MADE_BY.search(text) or _is_struct(value) else _constructor(name, value)
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    kind = "exception" if issubclass(value, BaseException) else "class"
    head = f"class {name}({bases})" if bases and bases not in {"Part", "ABC"} else f"class {name}"
    return Entry(name, kind, module, text, [head, *signatures], [node], members)


def _is_struct(value: type) -> bool:
    fields = ("__struct_fields__", "__dataclass_fields__", "_fields", "__required_keys__")
    return any(hasattr(value, name) for name in fields) or getattr(value, "_is_protocol", False)


def _constructor(name: str, value: type) -> list[str]:
    for base in value.__mro__:
        if "__init__" in vars(base) and base.__module__.startswith("accord"):
            node = _class_node(base)
            found = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
            return [_signature(found[-1], name).removeprefix("def ")] if found else []
    return []


@functools.cache
def _class_node(value: type) -> ast.ClassDef:
    for node in ast.walk(tree_of(value.__module__)):
        if isinstance(node, ast.ClassDef) and node.name == value.__name__:
            return node
    raise LookupError(value)


def members_of(value: type, module: str, node: ast.ClassDef) -> Iterator[Member]:
    """The public members of a class and of its bases in Accord, each once, attributes first."""
    found: dict[str, Member] = {}
    bases = [base for base in value.__mro__[1:] if base.__module__.startswith("accord")]
    pairs = [(value, module, node), *((base, base.__module__, _class_node(base)) for base in bases)]
    for _, home, each in pairs:
        for member in _own_members(each, home):
            found.setdefault(member.name, member)
    yield from sorted(found.values(), key=lambda member: member.is_callable)


def _own_members(node: ast.ClassDef, module: str) -> Iterator[Member]:
    functions: dict[str, list[ast.AST]] = {}
    yield from _attributes(node.body, module)
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            if each.name == "__init__":
                yield from _instance_attributes(each, module)
            elif not each.name.startswith("_"):
                functions.setdefault(each.name, []).append(each)
    for name, nodes in functions.items():
        text = next((doc for n in nodes if (doc := ast.get_docstring(n))), "")  # type: ignore[arg-type]
        if _is_property(nodes[0]):
            returns = nodes[0].returns  # type: ignore[attr-defined]
            kind: ast.AST = ast.AnnAssign(ast.Name(name), returns, None, 1)
            yield Member(name, [f"{name}: {ast.unparse(returns)}"], text, [kind], module)
        else:
            yield Member(name, _signatures(nodes, name), text, nodes, module)


def _is_property(node: ast.AST) -> bool:
    names = {ast.unparse(each) for each in getattr(node, "decorator_list", [])}
    return bool(names & {"property", "cached_property", "functools.cached_property"})


def _attributes(body: list[ast.stmt], module: str) -> Iterator[Member]:
    for place, node in enumerate(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            text = _string(body[place + 1] if place + 1 < len(body) else None)
            default = "" if node.value is None else f" = {ast.unparse(node.value)}"
            said = f"{node.target.id}: {ast.unparse(node.annotation)}{default}"
            yield Member(node.target.id, [said], text, [node], module)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            # A member of an enumeration.
            text = _string(body[place + 1] if place + 1 < len(body) else None)
            yield Member(node.targets[0].id, [ast.unparse(node)], text, [], module)


def _instance_attributes(function: ast.FunctionDef | ast.AsyncFunctionDef, module: str) -> Iterator[Member]:
    for place, node in enumerate(function.body):
        target = (
            node.target
            if isinstance(node, ast.AnnAssign)
            else node.targets[0]
            if isinstance(node, ast.Assign)
            else None
        )
        is_own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
        if not isinstance(target, ast.Attribute) or not is_own or target.attr.startswith("_"):
            continue
        text = _string(function.body[place + 1] if place + 1 < len(function.body) else None)
        kind = node.annotation if isinstance(node, ast.AnnAssign) else _type_of(node, function.args)
        said = target.attr if kind is None else f"{target.attr}: {ast.unparse(kind)}"
        shown = node if kind is None else ast.AnnAssign(ast.Name(target.attr), kind, None, 1)
        yield Member(target.attr, [said], text, [shown], module)


def _type_of(node: ast.stmt, given: ast.arguments) -> ast.expr | None:
    """The type of an attribute that is given a parameter as it is."""
    value = node.value if isinstance(node, ast.Assign) else None
    if not isinstance(value, ast.Name):
        return None
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return next((each.annotation for each in arguments if each.arg == value.id), None)


# --- pages


@functools.cache
def home_page(page: str, name: str) -> str:
    """The page that documents a name; the others link to it."""
    module = entry_of(page, name).module
    for side in PAGES[1:]:
        if (module == side or module.startswith(f"{side}.")) and name in exported(side):
            return side
    return next(each for each in PAGES if name in exported(each) and _is_same(each, page, name))


def _is_same(one: str, other: str, name: str) -> bool:
    return getattr(import_module(one), name) is getattr(import_module(other), name)


def page_text(page: str) -> str:
    """One page as Markdown."""
    module = import_module(page)
    own = [entry_of(page, name) for name in exported(page) if home_page(page, name) == page]
    parts = [f"# `{page}`", inspect.cleandoc(module.__doc__ or ""), "_Made by `scripts/docs` from the docstrings._"]
    for title, kind in (
        ("Functions", "function"),
        ("Classes", "class"),
        ("Exceptions", "exception"),
        ("Types", "type"),
        ("Constants", "constant"),
    ):
        entries = [entry for entry in own if entry.kind == kind]
        if entries:
            parts += [f"## {title}", *(_entry_text(entry) for entry in entries)]
    elsewhere = [name for name in exported(page) if home_page(page, name) != page]
    if elsewhere:
        links = [f"[`{name}`]({home_page(page, name)}.md#{name.lower()})" for name in elsewhere]
        parts += ["## Also here", textwrap.fill(", ".join(links) + ".", 10_000, break_long_words=False)]
    return "\n\n".join(parts) + "\n"


def _entry_text(entry: Entry) -> str:
    parts = [f"### {entry.name}", _code(entry.signatures)]
    if entry.text:
        parts.append(_prose(entry.text))
    for member in entry.members:
        parts += [f"#### {entry.name}.{member.name}", _code(member.signatures)]
        if member.text:
            parts.append(_prose(member.text))
    return "\n\n".join(parts)


def _code(lines: list[str]) -> str:
    return "```text\n" + "\n".join(lines) + "\n```"


def _prose(text: str) -> str:
    """A docstring in Markdown: the section of what it raises becomes a list."""
    lines: list[str] = []
    in_raises = False
    for line in text.splitlines():
        if line.strip() == "Raises:":
            in_raises = True
            lines.append("Raises:\n")
        elif in_raises and line.startswith("    ") and not line.startswith("     "):
            name, _, rest = line.strip().partition(": ")
            lines.append(f"- `{name}`: {rest}")
        elif in_raises and line.startswith("        "):
            lines.append(f"  {line.strip()}")
        else:
            lines.append(line.replace("```python", "```py"))
    return "\n".join(lines)


def index_text() -> str:
    """The page that lists the others."""
    rows = [f"| [`{page}`]({page}.md) | {(import_module(page).__doc__ or '').splitlines()[0]} |" for page in PAGES]
    return "\n".join(
        [
            "# Reference",
            "",
            "_Made by `scripts/docs` from the docstrings._",
            "",
            "| module | |",
            "| --- | --- |",
            *rows,
            "",
            "[Every module](modules.md) with its heading and the names that it exports: where a name is defined.",
            "",
        ]
    )


def modules_text() -> str:
    """The page that lists the modules, package by package."""
    packages: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py"), key=lambda each: (each.parent, each.name)):
        if path.name == "__init__.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        heading = (ast.get_docstring(tree) or "").partition("\n")[0]
        names = ", ".join(f"`{name}`" for name in _exported_names(tree))
        place = path.relative_to(SOURCE).as_posix()
        row = f"| [`{path.stem}`](../../src/accord/{place}) | {heading} | {names} |".replace("|  |", "| |")
        packages.setdefault(path.parent.relative_to(SOURCE).as_posix(), []).append(row)
    parts = [
        "# Every module",
        "_Made by `scripts/docs` from the headings of the modules and their `__all__`._ What the packages are"
        " responsible for is in [the architecture](../architecture.md); the files of typical changes are in"
        " [where do I change what](../changing.md).",
    ]
    for package, rows in packages.items():
        title = "`accord`" if package == "." else f"`{package}/`"
        parts += [f"## {title}", "\n".join(["| module | | names |", "| --- | --- | --- |", *rows])]
    return "\n\n".join(parts) + "\n"


def _exported_names(tree: ast.Module) -> list[str]:
    """The names in a module's `__all__`, where it is a list that is written out."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and [getattr(each, "id", "") for each in node.targets] == ["__all__"]:
            return list(ast.literal_eval(node.value)) if isinstance(node.value, ast.List) else []
    return []


def pages() -> dict[str, str]:
    """Every page by its file name."""
    own = {"README.md": index_text(), "modules.md": modules_text()}
    return own | {f"{page}.md": page_text(page) for page in PAGES}


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them with those that are there."""
    wanted = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    if "--check" in arguments:
        wrong = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
        for name in wrong:
            sys.stderr.write(f"docs/reference/{name} is out of date: run scripts/docs\n")
        return 1 if wrong else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in there.keys() - wanted.keys():
        (FOLDER / name).unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
