"""The package that a line belongs to: CONTRIBUTING's table, as far as a machine can check it."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.sources import PACKAGE, Source, sources
from tests.tables import rows

# What a line does, and the packages or modules in which it may stand.
ALLOWED = {
    "reads sys.argv": {"cli", "check/client/relay.py", "workspace/controlling_terminal.py"},
    "reads the environment": {
        "cli",
        "config",
        "coder/__main__.py",
        "client/launch.py",
        "client/login.py",
        "compat/acp/process.py",
        "stores/folder.py",
        "time_scale.py",
        "trace/tap.py",
        "transport/process.py",
        "workspace/launch.py",
    },
    # Our own interpreter is started safe against the current directory, or not at all.
    "names the interpreter": {"transport/interpreter.py"},
    # Where the user names a module of their own.
    "uses the import path": {"adapters/import_string.py", "testing/program.py"},
    "names a method": {
        "protocol",
        "check",
        "simse",
        "testing",
        "client/services.py",
        "connection/update_batches.py",
        "serve/session_rules.py",
        "session/editions/v2/updates.py",
        "trace",
        "transport/routing.py",
    },
    "compares editions": {"protocol", "check"},
    "splits bytes at line feeds": {"wire", "check", "compat/acp/process.py", "config", "stores", "trace", "transport"},
    "prints": {"cli", "check"},
}
_NAMES = {
    ("sys", "argv"): "reads sys.argv",
    ("sys", "executable"): "names the interpreter",
    ("sys", "path"): "uses the import path",
    ("os", "environ"): "reads the environment",
    ("os", "getenv"): "reads the environment",
}
_METHOD = re.compile(r"(session|fs|terminal|elicitation)/[a-z_]+")


def deeds(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Attribute(value=ast.Name(id=module), attr=name) if (module, name) in _NAMES:
            yield _NAMES[module, name]
        case ast.ImportFrom(module=str(module), names=names):
            yield from (_NAMES[module, each.name] for each in names if (module, each.name) in _NAMES)
        case ast.Constant(value=str(text)) if _METHOD.fullmatch(text):
            yield "names a method"
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot()], comparators=[right]):
            if any(isinstance(each, ast.Name) and each.id in {"V1", "V2", "V2_JUNE"} for each in (left, right)) or any(
                isinstance(each, ast.Constant) and each.value in ("v1", "v2", "v2_june") for each in (left, right)
            ):
                yield "compares editions"
        case ast.Call(func=ast.Attribute(attr="split" | "find"), args=[ast.Constant(value=b"\n"), *_]):
            yield "splits bytes at line feeds"
        case ast.Call(func=ast.Name(id="print")):
            yield "prints"
        case _:
            pass


def is_allowed(source: Source, deed: str) -> bool:
    return bool({source.name.partition("/")[0], source.name} & ALLOWED[deed])


def test_a_line_stands_where_it_belongs() -> None:
    found = [
        (source.name, deed, getattr(node, "lineno", 0))
        for source in sources()
        for node in source.nodes
        for deed in deeds(node)
        if not is_allowed(source, deed)
    ]
    assert found == []


@rows(
    ("line", "deed"),
    [
        ("sys.argv[1]", "reads sys.argv"),
        ("os.environ.get('A')", "reads the environment"),
        ("[sys.executable, '-c', '']", "names the interpreter"),
        ("from sys import executable", "names the interpreter"),
        ("sys.path.insert(0, '')", "uses the import path"),
        ("from sys import path", "uses the import path"),
        ("call('session/load')", "names a method"),
        ("edition == V2", "compares editions"),
        ("name != 'v2_june'", "compares editions"),
        ("data.split(b'\\n')", "splits bytes at line feeds"),
        ("print(1)", "prints"),
    ],
)
def test_such_a_line_is_seen(line: str, deed: str) -> None:
    assert deed in [each for node in ast.walk(ast.parse(line)) for each in deeds(node)]


def test_every_exception_is_still_needed() -> None:
    """A module of the table that does it no more is taken out of the table."""
    for deed, places in ALLOWED.items():
        for place in places:
            if place.endswith(".py"):
                tree = ast.parse((PACKAGE / place).read_text(encoding="utf-8"))
                assert deed in [each for node in ast.walk(tree) for each in deeds(node)], place
