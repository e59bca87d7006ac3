"""One name means one thing, and no name is a private metaphor: docs/glossary.md has the words that are ours."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "accord"
MODULES = sorted(PACKAGE.rglob("*.py"))
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


def name_of(module: Path) -> str:
    return str(module.relative_to(ROOT))


def tree_of(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


def is_edition(module: Path) -> bool:
    """Whether a module holds the types of one edition, which have the specification's names in each of them."""
    parts = module.relative_to(PACKAGE).parts
    return parts[0] == "protocol" and (len(parts) > 2 or parts[1] == "draft_types.py")


def names_in(module: Path) -> Iterator[str]:
    """The module's own name, and those of its classes, functions, parameters and attributes."""
    yield from module.relative_to(PACKAGE).with_suffix("").parts
    for node in ast.walk(tree_of(module)):
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


def words_of(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def test_two_public_classes_never_share_a_name() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for module in MODULES:
        if not is_edition(module):
            for node in tree_of(module).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes[node.name].append(name_of(module))
    shared = {name: where for name, where in homes.items() if len(where) > 1 and name not in ONE_PER_SIDE}
    assert shared == {}


def test_the_names_that_both_sides_have_stand_once_on_each_side() -> None:
    for name in ONE_PER_SIDE:
        homes = [
            module.relative_to(PACKAGE).parts[0]
            for module in MODULES
            for node in tree_of(module).body
            if isinstance(node, ast.ClassDef) and node.name == name
        ]
        assert sorted(homes) == ["agent", "client"], name


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_no_name_is_a_retired_word(module: Path) -> None:
    retired = {name: found for name in names_in(module) if (found := words_of(name) & RETIRED)}
    assert retired == {}


@pytest.mark.parametrize(
    ("name", "words"),
    [("SessionDesk", {"session", "desk"}), ("_on_told", {"on", "told"}), ("HTTPVoice", {"http", "voice"})],
)
def test_the_words_of_a_name_are_found_however_it_is_written(name: str, words: set[str]) -> None:
    assert words_of(name) == words


def test_every_word_of_the_glossary_is_in_use() -> None:
    words = re.findall(r"^\| \*\*(.+?)\*\* \|", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(words) > 10
    used = {word for module in MODULES for name in names_in(module) for word in words_of(name)}
    plural = used | {f"{word}s" for word in used}
    assert [word for word in words if not set(re.findall("[a-z]+", word.lower())) <= plural] == []
