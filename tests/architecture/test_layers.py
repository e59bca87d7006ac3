"""The map of docs/architecture.md holds: layers, names, sizes, and what `import accord` may cost."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import accord
from tests.architecture.sources import ROOT, Source, sources, strings_in
from tests.limits import limit

CUPBOARDS = {"utils", "util", "helpers", "helper", "common", "core", "base", "misc", "manager"}
# A public class with its documentation is the longest thing there is.
MAX_LINES = 480
HEAVY = ("accord.protocol.v2", "subprocess", "http", "ssl", "logging.config")


def test_imports_point_one_way(tmp_path: Path) -> None:
    # In a process of its own: it switches the loggers of this one off.
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", program, "--no-logo", "--config", "pyproject.toml", "--cache-dir", str(tmp_path)]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit(100), check=False)
    assert finished.returncode == 0, finished.stdout


def test_no_import_by_name_reaches_a_dialect_plug_in() -> None:
    # The contracts see import statements; this sees `import_module("accord.simse")`.
    others = [source for source in sources() if not source.is_below("simse")]
    named = [(each.name, text) for each in others for text in strings_in(each) if text.startswith("accord.simse")]
    assert named == []


def test_no_plug_in_is_loaded_before_it_is_chosen() -> None:
    loaded = loaded_by(
        "import accord.cli.main; from accord import Agent, connect; from accord.config import connect_to"
    )
    assert "accord.config.connect" in loaded
    assert [name for name in loaded if name.startswith("accord.simse")] == []


def test_there_is_a_package_to_look_at() -> None:
    assert "errors.py" in [source.name for source in sources()]


def test_no_module_is_a_cupboard() -> None:
    words = {word: source.name for source in sources() for part in source.parts for word in part.strip("_").split("_")}
    assert {word: name for word, name in words.items() if word in CUPBOARDS} == {}


def test_a_module_says_what_it_knows() -> None:
    assert [source.name for source in sources() if not ast.get_docstring(source.tree)] == []


def test_a_module_is_small_enough_to_be_one_room() -> None:
    long = [source for source in sources() if len(source.text.splitlines()) > MAX_LINES]
    # The `__init__` of an edition, or of all, names everything behind it, one name a line.
    lists = [source.name for source in long if source.path.name == "__init__.py" and has_only_lists(source)]
    assert [source.name for source in long if source.name not in lists] == []


def has_only_lists(source: Source) -> bool:
    parts = [part for part in source.tree.body if getattr(part, "name", "") not in {"__getattr__", "__dir__"}]
    return all(isinstance(part, ast.Expr | ast.ImportFrom | ast.Assign | ast.If) for part in parts)


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter has after `statement` and had not before."""
    program = (
        "import json, sys; before = set(sys.modules); "
        f"exec({statement!r}); print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    # The package that is tested here, which a mutant has elsewhere.
    environment = {**os.environ, "PYTHONPATH": str(Path(accord.__file__).parents[1])}
    finished = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=limit(60),
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return set(json.loads(finished.stdout))


def test_importing_accord_loads_nothing_heavy() -> None:
    loaded = loaded_by("import accord")
    assert "accord" in loaded
    assert {name for name in loaded for heavy in HEAVY if f"{name}.".startswith(f"{heavy}.")} == set()


def test_importing_accord_loads_no_dependency_but_msgspec() -> None:
    roots = {name.partition(".")[0] for name in loaded_by("import accord")}
    assert roots - set(sys.stdlib_module_names) <= {"accord", "msgspec"}


def test_an_agent_of_a_framework_starts_without_what_only_others_need() -> None:
    """Importing these would cost an editor a tenth of the wait for `initialize`, or all of a framework's seconds."""
    loaded = loaded_by("import accord.cli.verbs.agent, accord.adapters.import_string, accord.adapters.late_agent")
    needless = {"importlib.metadata", "email", "zipfile", "tempfile", "accord.adapters.serving", "accord.coder"}
    assert loaded & needless == set()
