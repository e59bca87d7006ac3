"""One name means one thing, no name is a private metaphor, and prose begins with its subject (docs/glossary.md)."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.architecture.sources import ROOT, Source, sources
from tests.tables import rows

GLOSSARY = ROOT / "docs" / "glossary.md"

# The two sides have a namespace each, and the short names in both (`accord.agent.Session`, `accord.client.Session`).
ONE_PER_SIDE = {"BlockingSession", "Session", "Turn"}

# Metaphors that stood for what the specification or the field has a word for.
RETIRED = frozenset(
    """
    abilities ability asker board book burst clue clues company complaint desk dial dialled door ear favour
    foreground guise hear heard hearing nearest outlet played presence reach repertoire ruling seat sight spoken
    stage talk told turnstile voice wish
    """.split()  # noqa: SIM905 - a list of words reads best as one
)

# A heading begins with what the module is, a docstring with what the object is or does: with a noun or a verb.
WEAK_HEADINGS = re.compile(r"(How|Knows|What|Whatever|Where|Which|Who|Whoever|Whose)\b")
WEAK_DOCSTRINGS = re.compile(r"(Knows|What|Whatever|Who|Whoever)\b")

# Words that hide who acts: the peer, the caller, the user, another process; and "is told", which is sent or notified.
VAGUE = re.compile(r"\b(anybody|everybody|nobody|somebody|told|whoever)\b", re.IGNORECASE)
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


def is_edition(source: Source) -> bool:
    """Whether a module holds the types of one edition, which have the specification's names in each of them."""
    parts = source.parts
    return parts[0] == "protocol" and (len(parts) > 2 or parts[1] == "draft_types")


def names_in(source: Source) -> Iterator[str]:
    """The module's own name, and those of its classes, functions, parameters and attributes."""
    yield from source.parts
    for node in source.nodes:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.arg(arg=name):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case _:
                pass


def docstrings_in(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """The docstrings of a module below its heading, with their lines: also those behind an attribute."""
    for node in nodes:
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))) if node.lineno > 1:
                yield node.lineno, text.strip()
            case _:
                pass


def weak_prose_in(tree: ast.Module, nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """The weak words of a module's prose, with the line of their docstring."""
    heading = ast.get_docstring(tree) or ""
    prose = [(1, heading, WEAK_HEADINGS), *((line, text, WEAK_DOCSTRINGS) for line, text in docstrings_in(nodes))]
    for line, text, weak in prose:
        if opening := weak.match(text):
            yield line, opening[0]
        for found in VAGUE.finditer(CODE.sub("", text)):
            yield line, found[0]


def words_of(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def test_two_public_classes_never_share_a_name() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for source in sources():
        if not is_edition(source):
            for node in source.tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes[node.name].append(source.name)
    shared = {name: where for name, where in homes.items() if len(where) > 1 and name not in ONE_PER_SIDE}
    assert shared == {}


def test_the_names_that_both_sides_have_stand_once_on_each_side() -> None:
    for name in ONE_PER_SIDE:
        homes = [
            source.parts[0]
            for source in sources()
            for node in source.tree.body
            if isinstance(node, ast.ClassDef) and node.name == name
        ]
        assert sorted(homes) == ["agent", "client"], name


def test_no_name_is_a_retired_word() -> None:
    homes = {name: source.name for source in sources() for name in names_in(source)}
    assert {name: home for name, home in homes.items() if words_of(name) & RETIRED} == {}


def test_headings_and_docstrings_begin_with_their_subject_and_name_who_acts() -> None:
    weak = [(source.name, *found) for source in sources() for found in weak_prose_in(source.tree, source.nodes)]
    assert weak == []


@rows(
    ("source", "found"),
    [
        ('"""What arrives."""\n', [(1, "What")]),
        ('"""How texts leave."""\n', [(1, "How")]),
        ('"""The receiver."""\n', []),
        ('"""The receiver: nobody waits."""\n', [(1, "nobody")]),
        ('"""A."""\n\ndef f():\n    """What it holds."""\n', [(4, "What")]),
        ('"""A."""\n\ndef f():\n    """How many wait."""\n', []),
        (
            '"""A."""\n\ndef f():\n    """Whoever asks\n\n    is told."""\n',
            [(4, "Whoever"), (4, "Whoever"), (4, "told")],
        ),
        ('"""A."""\n\nx = 1\n"""Somebody has it."""\n', [(4, "Somebody")]),
        ('"""A."""\n\ndef f():\n    """The value `nobody`, in ``` told ```."""\n', []),
    ],
)
def test_weak_prose_is_found_in_every_docstring_and_not_in_code(source: str, found: list[tuple[int, str]]) -> None:
    tree = ast.parse(source)
    assert list(weak_prose_in(tree, list(ast.walk(tree)))) == found


@rows(
    ("name", "words"),
    [("SessionDesk", {"session", "desk"}), ("_on_told", {"on", "told"}), ("HTTPVoice", {"http", "voice"})],
)
def test_the_words_of_a_name_are_found_however_it_is_written(name: str, words: set[str]) -> None:
    assert words_of(name) == words


def test_every_word_of_the_glossary_is_in_use() -> None:
    words = re.findall(r"^\| \*\*(.+?)\*\* \|", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(words) > 10
    names = {name for source in sources() for name in names_in(source)}
    used = {word for name in names for word in words_of(name)}
    plural = used | {f"{word}s" for word in used}
    assert [word for word in words if not set(re.findall("[a-z]+", word.lower())) <= plural] == []
