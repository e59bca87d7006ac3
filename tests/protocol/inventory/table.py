"""Our tables as text: one file per schema file, written to be read by people.

_meta?: object | null ~lenient                 what a bare `_meta` stands for in this file

struct ToolCallLocation
    path: string                               required
    line?: uint32 | null ~lenient              may be absent; marks follow a tilde
    args?: [string] = []                       what absence means
    _meta
struct ElicitationUrlMode
    some of A | B                              or `one of`: structs that are mixed in
enum Role closed
    assistant user
union DiffChange open by operation             `by operation?`: the tag itself may be absent
    mimeType?: string                          shared by all variants
    add = DiffPathChange
    set = { value: boolean, name?: string }    fields written in place
    none =                                     no fields of its own
    - = McpServerStdio                         a member without a tag
    * = { planId: PlanId,
          name: string }                       what unknown variants carry; a comma or a bar goes on
alias SessionId = string
message AgentRequest
    = WriteTextFileRequest | ExtRequest

request agent session/load: LoadSessionRequest -> LoadSessionResponse
notification client session/update: SessionNotification
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.protocol.inventory.facts import Definition, Field, Fields, Inventory, Kind, MethodRow

FOLDER = Path(__file__).parent
NAMES = ("v1", "v1_draft", "v2", "v2_draft", "v2_june", "v1_2025")

_FIELD = re.compile(
    r"(?P<key>\w+)(?P<optional>\??): (?P<words>[^=~]+?)(?: = (?P<default>.+?))?(?P<marks>(?: ~[\w-]+)*)"
)
_METHOD = re.compile(r"(?:request|notification) (?P<side>\w+) (?P<name>\S+): (?P<params>\w+)(?: -> (?P<result>\w+))?")


def load(name: str) -> Inventory:
    """The table of that name."""
    return parse((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))


def parse(text: str) -> Inventory:
    """The facts that a table's text tells."""
    inventory = Inventory()
    meta = ""
    current = Definition("struct")
    # Long lines go on after a comma or a bar.
    for line in re.sub(r"([,|])\n +", r"\1 ", text).splitlines():
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        if line.startswith("_meta"):
            meta = words
        elif line.startswith(("request", "notification")):
            inventory.methods.append(_method(words))
        elif line.startswith(" "):
            _inside(current, meta if words == "_meta" else words)
        else:
            name, current = _head(words)
            inventory.definitions[name] = current
    return inventory


def _method(line: str) -> MethodRow:
    found = _METHOD.fullmatch(line)
    if found is None:
        raise ValueError(line)
    return MethodRow(*(found[part] or "" for part in ("name", "side", "params", "result")))


def _head(line: str) -> tuple[str, Definition]:
    kind, name, *rest = line.split(" ", 2)
    definition = Definition(_kind(kind))
    words = rest[0] if rest else ""
    if kind == "alias":
        definition.words = words.removeprefix("= ")
        return name, definition
    openness, _, tag = words.partition(" by ")
    definition.open = openness == "open"
    definition.tag = tag.removesuffix("?")
    definition.tag_required = not tag.endswith("?")
    return name, definition


def _kind(word: str) -> Kind:
    kinds: dict[str, Kind] = {
        "struct": "struct",
        "enum": "enum",
        "union": "union",
        "alias": "alias",
        "message": "message",
    }
    return kinds[word]


def _inside(definition: Definition, line: str) -> None:
    if definition.kind == "enum":
        definition.values += tuple(line.split())
    elif definition.kind == "message":
        definition.words = line.removeprefix("= ")
    elif line.startswith(("one of ", "some of ")):
        definition.exactly_one = line.startswith("one")
        definition.scopes = tuple(line.partition(" of ")[2].split(" | "))
    elif re.match(r"[\w*-]+ =", line):
        tag, _, rest = line.partition(" =")
        _variant(definition, tag, _in_place(rest.strip()))
    else:
        key, field = _field(line)
        definition.fields[key] = field


def _variant(definition: Definition, tag: str, stands_for: str | Fields) -> None:
    if tag == "*" and isinstance(stands_for, dict):
        definition.further = stands_for
    elif tag == "-":
        definition.plain.append(stands_for)
    else:
        definition.variants[tag] = stands_for


def _in_place(words: str) -> str | Fields:
    if not words.startswith("{"):
        return words
    return dict(_field(part) for part in words.strip("{} ").split(", "))


def _field(line: str) -> tuple[str, Field]:
    found = _FIELD.fullmatch(line)
    if found is None:
        raise ValueError(line)
    marks = tuple(mark.removeprefix("~") for mark in found["marks"].split())
    return found["key"], Field(found["words"], not found["optional"], found["default"] or "", marks)
