"""Every line of our tables has its Python type, and every Python type its line."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import typing
from collections.abc import Iterator
from types import GenericAlias, ModuleType
from typing import Any, Literal

import msgspec
import pytest
from msgspec import UNSET

from accord.errors import RequestError, request_error
from accord.protocol.method import Method, RequestMethod
from accord.protocol.model import Int32, Mark, Untagged, UntaggedLists, Wire
from tests.protocol.inventory.facts import Definition, Field, Fields, Inventory
from tests.protocol.inventory.lookup import EXTENSIONS, METHODS, MODULES, annotation, find, python_type
from tests.protocol.inventory.table import NAMES, load
from tests.tables import rows

TABLES: dict[str, Inventory] = {name: load(name) for name in NAMES}
TODAY = [name for name in NAMES if name != "v1_2025"]
# The enum that stays closed on reading, too: a form of another type would be another thing.
SHUT = {"ElicitationSchemaType"}
# The text of 2025 has a slip of the pen here: `meta` for `_meta`.
SLIPS = {("SetSessionModeResponse", "meta")}
# v1 goes on serving what only the text of 2025 had.
SINCE_GONE = {"session/set_model"}
# Tags that other editions give to what this one leaves untagged.
TOLERATED_TAGS = {"stdio", "agent", "_nowhere"}


def of_kind(*kinds: str, names: list[str] | tuple[str, ...] = NAMES) -> list[tuple[str, str]]:
    return [
        (edition, name)
        for edition in names
        for name, definition in TABLES[edition].definitions.items()
        if definition.kind in kinds
    ]


def shared_fields(edition: str, name: str) -> Fields:
    """What a struct gets from the unions of which it is a variant."""
    fields: Fields = {}
    for definition in TABLES[edition].definitions.values():
        if definition.tag_required and name in [*definition.variants.values(), *definition.plain]:
            fields |= definition.fields
    return fields


def whole_fields(edition: str, name: str) -> Fields:
    """All fields of the Python class of a struct, also those that the table mixes in."""
    definition = TABLES[edition].definitions[name]
    if definition.kind == "union":
        return flat_fields(edition, definition)
    fields = definition.fields | shared_fields(edition, name)
    return fields | merged([whole_fields(edition, scope) for scope in definition.scopes])


def merged(alternatives: list[Fields]) -> Fields:
    """One object that can be each of the alternatives: required is only what all of them require."""
    fields: Fields = {}
    for key in dict.fromkeys(key for alternative in alternatives for key in alternative):
        found = [alternative[key] for alternative in alternatives if key in alternative]
        words = " | ".join(dict.fromkeys(field.words for field in found))
        everywhere = len(found) == len(alternatives) and all(field.required for field in found)
        fields[key] = Field(words, everywhere, found[0].default, found[0].marks)
    return fields


def flat_fields(edition: str, definition: Definition) -> Fields:
    """The fields of a union that Python has as one struct, the tag left out."""
    alternatives = [
        fields_behind(edition, behind) for behind in (*definition.variants.values(), *definition.plain) if behind != ""
    ]
    bare = "" in definition.variants.values() or not definition.tag_required
    fields = merged([*alternatives, *([definition.further] if definition.further else []), *([{}] if bare else [])])
    return definition.fields | {key: field for key, field in fields.items() if key != definition.tag}


def fields_behind(edition: str, behind: str | Fields) -> Fields:
    if isinstance(behind, dict):
        return behind
    return whole_fields(edition, behind) if behind else {}


def differences(edition: str, kind: Any, expected: Fields) -> Iterator[str]:
    """In what the Python class differs from the expected fields."""
    if not (isinstance(kind, type) and issubclass(kind, Wire)):
        yield f"{kind} is no struct"
        return
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    hints = typing.get_type_hints(kind, include_extras=True)
    for key, wanted in expected.items():
        if key not in fields:
            if (kind.__name__, key) not in SLIPS:
                yield f"{kind.__name__}.{key} is missing"
        elif edition == "v1_2025":
            if fields[key].required and not wanted.required:
                yield f"{kind.__name__}.{key} was optional in 2025"
        else:
            yield from differing(edition, kind, fields[key], wanted, hints[fields[key].name])
    if edition != "v1_2025":
        yield from (f"{kind.__name__}.{key} is in no table" for key in fields if not known(edition, key, expected))


def known(edition: str, key: str, expected: Fields) -> bool:
    # The class of a session's answer also holds the models that only the text of 2025 had.
    return key in expected or (edition.startswith("v1") and key == "models")


def differing(edition: str, kind: type, field: Any, wanted: Field, hint: Any) -> Iterator[str]:
    where = f"{kind.__name__}.{field.encode_name}"
    if field.required != wanted.required:
        yield f"{where}: required is {field.required}, the table says {wanted.required}"
    if hint != annotation(edition, wanted):
        yield f"{where}: {hint} is not {annotation(edition, wanted)}"
    if not field.required and default_of(field) != wanted_default(hint, wanted):
        yield f"{where}: the default {default_of(field)!r} is not {wanted_default(hint, wanted)!r}"


def default_of(field: Any) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def wanted_default(hint: Any, wanted: Field) -> Any:
    if wanted.default:
        return msgspec.convert(json.loads(wanted.default), hint)
    if "null-is-empty" in wanted.marks:
        return {} if wanted.words.startswith("{") else []
    return UNSET


def bare(kind: Any) -> tuple[set[Any], Any]:
    """The marks on a type and the type below them."""
    if typing.get_origin(kind) is typing.Annotated:
        return set(kind.__metadata__), kind.__origin__
    return set(), kind


def literals(kind: Any) -> tuple[tuple[Any, ...], bool]:
    """The values of an enum, wherever it stands in the type, and whether it may also be another string."""
    _, kind = bare(kind)
    if typing.get_origin(kind) is Literal:
        return typing.get_args(kind), False
    for member in typing.get_args(kind):
        values, _ = literals(member)
        if values:
            return values, str in typing.get_args(kind)
    return (), False


@rows(("edition", "name"), of_kind("struct"))
def test_every_struct_has_its_class_with_all_fields(edition: str, name: str) -> None:
    found = list(differences(edition, find(edition, name), whole_fields(edition, name)))
    assert found == []


@rows(("edition", "name"), of_kind("enum"))
def test_every_enum_has_its_values_and_is_open_or_closed(edition: str, name: str) -> None:
    definition = TABLES[edition].definitions[name]
    kind = find(edition, name)
    if name == "ErrorCode":
        assert kind == Int32
        return
    marks, _ = bare(kind)
    assert literals(kind) == (definition.values, name not in SHUT)
    if name not in SHUT:
        assert (Mark.CLOSED in marks) == (not definition.open)


@rows("edition", TODAY)
def test_every_error_code_has_its_exception(edition: str) -> None:
    for code in map(int, TABLES[edition].definitions["ErrorCode"].values):
        error = request_error(code, "a message", None)
        assert error.code == code
        assert type(error) is not RequestError


@rows(("edition", "name"), [(edition, name) for edition, name in of_kind("alias") if name not in EXTENSIONS])
def test_every_alias_means_what_the_table_says(edition: str, name: str) -> None:
    kind = find(edition, name)
    words = TABLES[edition].definitions[name].words
    if isinstance(kind, type) and issubclass(kind, UntaggedLists):
        assert [GenericAlias(list, item) for item in kind.by_key.values()] == [
            python_type(edition, part.removesuffix("+")) for part in words.split(" | ")
        ]
    else:
        assert kind == python_type(edition, words)


# --- envelopes

# A schema wraps params and results in envelopes by sender (`AgentRequest`: any request that an agent sends). Python has
# no types for them: the method table says the same.
OTHER_SIDE = {"Agent": "client", "Client": "agent", "Proxy": "proxy"}


@rows(
    ("edition", "name"), [*of_kind("message"), *((edition, name) for edition in NAMES for name in sorted(EXTENSIONS))]
)
def test_an_envelope_has_no_type_of_its_own(edition: str, name: str) -> None:
    with pytest.raises(LookupError):
        find(edition, name)


@rows(("edition", "name"), of_kind("message", names=TODAY))
def test_what_an_envelope_carries_is_in_the_method_table(edition: str, name: str) -> None:
    sender, sort = re.findall("[A-Z][a-z]+", name)
    serving = OTHER_SIDE[sender] if sort != "Response" or sender == "Proxy" else sender.lower()
    words = set(TABLES[edition].definitions[name].words.split(" | ")) - EXTENSIONS
    methods = [method for method in METHODS[edition] if method.side == serving and method.name not in SINCE_GONE]
    if sort == "Notification":
        found = [method.params for method in methods if not isinstance(method, RequestMethod)]
    else:
        requests = [method for method in methods if isinstance(method, RequestMethod)]
        found = [method.params if sort == "Request" else method.result for method in requests]
    assert len(found) == len(words)
    assert set(found) == {find(edition, word) for word in words}


def members_of(kind: Any) -> tuple[dict[str, Any], list[Any]]:
    """The variants of a Python union by tag, and those without one."""
    if isinstance(kind, type) and issubclass(kind, Untagged):
        return dict(kind.tagged), list(kind.plain)
    _, kind = bare(kind)
    members = typing.get_args(kind) or (kind,)
    tagged = {member.__struct_config__.tag: member for member in members}
    return {tag: member for tag, member in tagged.items() if tag}, [tagged[None]] if None in tagged else []


def variant_differences(edition: str, definition: Definition, tag: str, kind: Any) -> Iterator[str]:
    behind = definition.variants[tag]
    if definition.tag != kind.__struct_config__.tag_field:
        yield f"{kind.__name__}: tagged by {kind.__struct_config__.tag_field}, not by {definition.tag}"
    inner = union_behind(edition, behind)
    if inner is not None:
        # A union inside a union: both tags stand in one flat object.
        yield from flat_differences(edition, kind, inner)
    else:
        yield from differences(edition, kind, fields_behind(edition, behind) | definition.fields)


def union_behind(edition: str, behind: str | Fields) -> Definition | None:
    definition = TABLES[edition].definitions.get(behind) if isinstance(behind, str) else None
    return definition if definition is not None and definition.kind == "union" else None


def flat_differences(edition: str, kind: Any, definition: Definition) -> Iterator[str]:
    """As `differences`, for a struct that holds the tags of a union as fields."""
    inner = [union_behind(edition, behind) for behind in definition.variants.values()]
    unions = [union for union in (definition, *inner) if union is not None and union.tag]
    for union in unions:
        yield from tag_differences(kind, union)
    tags = {f"{kind.__name__}.{union.tag} is in no table" for union in unions}
    yield from (line for line in differences(edition, kind, flat_fields(edition, definition)) if line not in tags)


def tag_differences(kind: Any, definition: Definition) -> Iterator[str]:
    field = {field.encode_name: field for field in msgspec.structs.fields(kind)}[definition.tag]
    hint = typing.get_type_hints(kind, include_extras=True)[field.name]
    if literals(hint)[0] != tuple(definition.variants):
        yield f"{kind.__name__}.{definition.tag}: {literals(hint)[0]}, the table says {list(definition.variants)}"
    if field.required != (definition.tag_required and not definition.plain):
        yield f"{kind.__name__}.{definition.tag}: required is {field.required}"


@rows(("edition", "name"), of_kind("union"))
def test_every_union_has_its_variants(edition: str, name: str) -> None:
    definition = TABLES[edition].definitions[name]
    kind = find(edition, name)
    if isinstance(kind, type) and issubclass(kind, Wire):
        assert list(flat_differences(edition, kind, definition)) == []
        return
    tagged, plain = members_of(kind)
    found = [
        difference
        for tag in definition.variants
        if tag in tagged
        for difference in variant_differences(edition, definition, tag, tagged[tag])
    ]
    for member, behind in zip(plain, definition.plain, strict=True):
        found += differences(edition, member, fields_behind(edition, behind))
    missing = definition.variants.keys() - tagged.keys()
    surplus = tagged.keys() - definition.variants.keys() - TOLERATED_TAGS
    assert (found, missing) == ([], set())
    assert edition == "v1_2025" or not surplus


@rows("edition", NAMES)
def test_every_method_is_in_the_method_table(edition: str) -> None:
    rows = {
        (row.name, row.side, bool(row.result)): (
            find(edition, row.params),
            find(edition, row.result) if row.result else None,
        )
        for row in TABLES[edition].methods
    }
    assert len(rows) == len(TABLES[edition].methods)
    methods: dict[tuple[str, str, bool], Method] = {
        (method.name, method.side, isinstance(method, RequestMethod)): method for method in METHODS[edition]
    }
    assert len(methods) == len(METHODS[edition])
    for key, (params_type, result_type) in rows.items():
        method = methods.pop(key)
        assert (method.params, getattr(method, "result", None)) == (params_type, result_type)
    allowed = SINCE_GONE if edition in ("v1", "v1_draft") else {row.name for row in TABLES["v1"].methods}
    assert {name for name, _, _ in methods} <= allowed
    assert edition.startswith("v1") or not methods


@rows("edition", TODAY)
def test_no_struct_is_without_a_line_in_a_table(edition: str) -> None:
    package = MODULES[edition][0]
    # Where a union names one struct for several tags, Python has one class for each tag.
    known_names = {name for table in TABLES for name in TABLES[table].definitions}
    strangers = {
        name
        for name, kind in vars(package).items()
        if isinstance(kind, type) and issubclass(kind, Wire) and kind.__module__.startswith(package.__name__)
        if name not in known_names
    }
    variants = {
        member.__name__
        for name, definition in TABLES[edition].definitions.items()
        if definition.kind == "union"
        for member in members_of(find(edition, name))[0].values()
    }
    assert strangers - variants == set()


@rows("edition", TODAY)
def test_every_name_that_a_module_defines_is_exported_by_its_edition(edition: str) -> None:
    package = MODULES[edition][0]
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if found.ispkg:
            continue
        module = importlib.import_module(found.name)
        for name in defined_in(module):
            # A module that imports a stable type of the same name must not hide this one.
            assert getattr(package, name) is getattr(module, name), (found.name, name)


def defined_in(module: ModuleType) -> set[str]:
    """The public classes and assignments at the top of a module."""
    names: set[str] = set()
    for node in ast.parse(inspect.getsource(module)).body:
        for inner in [*node.body, *node.orelse] if isinstance(node, ast.If) else [node]:
            if isinstance(inner, ast.ClassDef):
                names.add(inner.name)
            elif isinstance(inner, ast.AnnAssign | ast.Assign):
                targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}
