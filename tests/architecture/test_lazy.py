"""Packages that import their names late: the table is what type checkers see, and nothing points upward by a string."""

import ast
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import accord
from tests.architecture.sources import PACKAGE, ROOT, Source, sources, strings_in
from tests.tables import rows

LAZY = [module for module in sorted(PACKAGE.rglob("__init__.py")) if "lazy_exports(" in module.read_text("utf-8")]

# Started as a process of its own (`python -m`), never imported.
PROGRAMS = {"accord.coder"}


def dotted(module: Path) -> str:
    parts = module.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_for_type_checkers(tree: ast.Module) -> dict[str, str]:
    """The names that are imported for type checkers alone, and from where."""
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    for node in imports:
        # `name as name` is what type checkers take for an export.
        assert all(alias.asname == alias.name for alias in node.names)
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def table_in(tree: ast.Module) -> tuple[dict[str, str], dict[str, Any]]:
    """What the interpreter imports late, and the other arguments."""
    (call,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "lazy_exports"
    )
    homes: dict[str, str] = ast.literal_eval(call.args[1])
    others = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    return {name: home for home, names in homes.items() for name in names.split()}, others


@rows("module", LAZY)
def test_a_lazy_table_is_what_type_checkers_see(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    table, others = table_in(tree)
    submodules = dict.fromkeys(others.get("submodules", ()), dotted(module))
    assert imports_for_type_checkers(tree) == {**table, **submodules}


@rows("module", LAZY)
def test_every_name_of_a_lazy_package_is_there(module: Path) -> None:
    package = import_module(dotted(module))
    table, others = table_in(ast.parse(module.read_text(encoding="utf-8")))
    assert package.__all__ == sorted({*table, *others.get("eager", ()), *others.get("submodules", ())})
    for name in package.__all__:
        assert hasattr(package, name), name
        assert name in dir(package)
    for name, home in table.items():
        assert getattr(package, name) is getattr(import_module(home), name)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = package.no_such_name


def layers() -> dict[str, int]:
    """The packages by height, as the contracts have them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (each for each in settings["tool"]["importlinter"]["contracts"] if each["type"] == "layers")
    rows = [row.replace("(", "").replace(")", "").split(" | ") for row in contract["layers"]]
    return {name: len(rows) - height for height, row in enumerate(rows) for name in row}


def strings_that_name_modules(source: Source) -> set[str]:
    strings = (text for text in strings_in(source) if text.startswith("accord."))
    return {text for text in strings if text.replace(".", "").replace("_", "").isalnum()} - PROGRAMS


def test_no_string_that_names_a_module_points_upward() -> None:
    height = layers()
    upward = [
        (source.name, text)
        for source in sources()
        if len(source.parts) > 1
        for text in strings_that_name_modules(source)
        if height.get(text.split(".")[1], 0) > height[source.parts[0]]
    ]
    assert upward == []


@pytest.mark.parametrize("is_on", [True, False])
def test_an_import_leaves_the_garbage_collector_as_it_was(is_on: bool) -> None:  # noqa: FBT001
    code = (
        f"import gc; {'gc.enable' if is_on else 'gc.disable'}(); import accord; accord.Connection\n"
        "try: accord.lazy.import_uncollected('accord.nothing')\n"
        "except ImportError: print(gc.isenabled())"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == str(is_on)


@rows(
    ("name", "places"),
    [
        ("PermissionQuestion", ["accord.client.PermissionQuestion"]),
        ("Turn", ["accord.agent.Turn", "accord.client.Turn"]),
        ("join", ["accord.testing.join"]),
        ("nothing_like_it", []),
        ("_private", []),
    ],
)
def test_a_name_that_another_public_module_has_is_named_in_the_error(name: str, places: list[str]) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(accord, name)
    assert [place for place in places if place in str(caught.value)] == places
    assert ("; it is" in str(caught.value)) == bool(places)
    assert (caught.value.name, caught.value.obj) == (name, accord)
