"""The table of readings: the same in the code and in the guide, and what a person expects of real agents' questions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from accord.protocol import v1, v2, v2_june
from accord.protocol.codec import Codec
from accord.session.claims import claims_of
from accord.session.editions.v1.tools import decode_tool as decode_v1
from accord.session.editions.v2.tools import decode_tool as decode_v2
from accord.session.editions.v2_june.tools import decode_tool as decode_june
from accord.session.readings import READINGS, reading
from accord.session.rules import Effect, Subject, judge, parse_rule
from accord.session.transcript import Transcript
from accord.workspace.subject import SubjectResolver, resolve_rules
from tests.tables import rows

ROOT = Path(__file__).parents[2]
CWD = "/workspace/project"
EDITIONS: dict[str, Any] = {
    "v1": (v1.ToolCallUpdate, decode_v1),
    "v2": (v2.ToolCallUpdate, decode_v2),
    "v2-june": (v2_june.ToolCallUpdate, decode_june),
}


def subject_of(call: dict[str, Any], edition: str = "v1", cwd: str = CWD) -> Subject:
    """What is judged of a call, as it comes over the wire."""
    kind, decode = EDITIONS[edition]
    transcript = Transcript()
    transcript.fold(decode(Codec().convert(kind, {"toolCallId": "t", **call})))
    return SubjectResolver(cwd, ()).of_call(claims_of(transcript.tool_calls["t"]))


def effect(rules: str, subject: Subject, default: Effect = "ask") -> Effect:
    parsed = map(parse_rule, filter(None, map(str.strip, rules.split(";"))))
    return judge(resolve_rules(parsed, subject.roots), subject, default=default).effect


# --- the table


def test_the_table_is_the_one_of_the_guide() -> None:
    guide = (ROOT / "docs/cli.md").read_text()
    table = re.search(r"\| the call names .*\n\| ---.*\n((?:\|.*\n)+)", guide)
    assert table is not None
    ours = []
    for row in READINGS:
        kinds = ", ".join(f"`{kind}`" for kind in sorted(row.kinds)) if row.kinds is not None else "any other"
        judged = ", ".join([*(["its kind"] if row.says == "allow" else []), *(f"`{kind}`" for kind in row.judged)])
        refused = ", ".join([*(["its kind"] if row.says == "refuse" else []), *(f"`{kind}`" for kind in row.refused)])
        ours.append(" | ".join(["", row.names, kinds, judged, f"{refused} |" if refused else "|"]).strip())
    assert [re.sub(r"\s+", " ", line) for line in table[1].splitlines()] == [re.sub(r"\s+", " ", line) for line in ours]


@rows("kind", ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other", "_own"])
def test_every_kind_has_a_reading_of_everything_that_a_call_can_name(kind: str) -> None:
    for row in READINGS:
        assert reading(row.names, kind).names == row.names


# --- the questions of the recorded agents, and of those that docs/real-agents.md describes

CLAUDE_RUNS: dict[str, Any] = {
    "content": [], "kind": "execute", "locations": [{"path": f"{CWD}/made.txt"}], "name": "Bash",
    "rawInput": {"command": "echo hi > made.txt"}, "status": "pending", "title": "echo hi > made.txt",
}  # fmt: skip
CLAUDE_2_RUNS = {**CLAUDE_RUNS, "content": [{"type": "terminal", "terminalId": "toolu_e"}]}
CLAUDE_WRITES: dict[str, Any] = {
    "content": [{"type": "diff", "path": f"{CWD}/w.txt", "oldText": None, "newText": "written text\n"}],
    "kind": "edit", "locations": [{"path": f"{CWD}/w.txt"}], "name": "Write", "title": "Write w.txt",
    "rawInput": {"content": "written text\n", "file_path": f"{CWD}/w.txt"},
}  # fmt: skip
PATCH = f"diff --git {CWD}/w.txt {CWD}/w.txt\nnew file mode 100644\n--- /dev/null\n+++ {CWD}/w.txt\n@@ -0,0 +1 @@\n+x\n"
CLAUDE_2_WRITES = {
    **CLAUDE_WRITES,
    "content": [
        {
            "type": "diff",
            "changes": [{"operation": "add", "path": f"{CWD}/w.txt", "fileType": "text"}],
            "patch": {"format": "git_patch", "text": PATCH},
        }
    ],
}
CLAUDE_LEAVES_ITS_PLAN: dict[str, Any] = {
    "content": [], "kind": "switch_mode", "name": "ExitPlanMode", "rawInput": {}, "title": "Approve Plan",
}  # fmt: skip
CODEX_RUNS: dict[str, Any] = {
    "kind": "execute", "rawInput": {"command": "echo esc > esc.txt", "cwd": CWD}, "title": "echo esc > esc.txt",
}  # fmt: skip
GEMINI_RUNS: dict[str, Any] = {
    "content": [{"type": "content", "content": {"type": "text", "text": f"[current working directory {CWD}]"}}],
    "kind": "execute", "locations": [], "status": "pending", "title": "echo hi > made.txt",
}  # fmt: skip
OPENCODE_RUNS = {"kind": "execute", "locations": [], "rawInput": {"command": "echo hi > made.txt"}, "title": "echo"}
OPENCODE_WRITES: dict[str, Any] = {
    "kind": "edit", "locations": [{"path": f"{CWD}/w.txt"}],
    "content": [{"type": "diff", "path": f"{CWD}/w.txt", "oldText": "", "newText": "written text\n"}],
    "rawInput": {
        "diff": f"Index: {CWD}/w.txt\n===\n--- {CWD}/w.txt\n+++ {CWD}/w.txt\n@@ -0,0 +1,1 @@\n+written text\n",
        "filepath": f"{CWD}/w.txt",
    },
}  # fmt: skip
COPILOT_WRITES: dict[str, Any] = {
    "kind": "edit", "locations": [{"path": f"{CWD}/w.txt"}], "title": "Edit w.txt",
    "rawInput": {"diff": PATCH.replace(f" {CWD}/", f" a{CWD}/", 1).replace(f" {CWD}/", f" b{CWD}/", 1)},
}  # fmt: skip
GOOSE_RUNS = {"kind": "other", "title": "developer: shell", "rawInput": {"command": "echo hi > made.txt"}}
GOOSE_SAYS_NOTHING = {"kind": "other", "title": "developer: shell"}
DEEP_AGENTS_WRITES = {"title": "write_file", "rawInput": {"file_path": "w.txt", "content": "written text\n"}}
DEEP_AGENTS_EDITS = {
    "title": "edit_file", "rawInput": {"file_path": "w.txt", "old_string": "a", "new_string": "b"},
}  # fmt: skip
DEEP_AGENTS_READS = {"title": "read_file", "rawInput": {"file_path": "w.txt", "offset": 0, "limit": 100}}

RUNS = {
    "claude, v1": ("v1", CLAUDE_RUNS),
    "claude, v2": ("v2", CLAUDE_2_RUNS),
    "opencode": ("v1", OPENCODE_RUNS),
    "goose": ("v1", GOOSE_RUNS),
}
WRITES = {
    "claude, v1": ("v1", CLAUDE_WRITES),
    "claude, v2": ("v2", CLAUDE_2_WRITES),
    "opencode": ("v1", OPENCODE_WRITES),
    "copilot": ("v1", COPILOT_WRITES),
    "deep agents, write": ("v1", DEEP_AGENTS_WRITES),
    "deep agents, edit": ("v1", DEEP_AGENTS_EDITS),
    "deep agents, v2": ("v2", DEEP_AGENTS_WRITES),
    "deep agents, June": ("v2-june", DEEP_AGENTS_WRITES),
}


@rows(
    ("rules", "expected"),
    [
        ("allow execute:echo *; allow edit:made.txt", "allow"),
        ("allow execute:echo *", "ask"),
        ("deny execute:rm *; allow all", "allow"),
        ("deny execute:echo *; allow all", "deny"),
        ("deny edit:made.txt; allow all", "deny"),
        ("deny edit; allow all", "deny"),
        ("deny execute; allow other; allow read", "deny"),
        ("allow other; allow read", "ask"),
    ],
)
@rows("agent", list(RUNS))
def test_a_person_expects_of_a_command(agent: str, rules: str, expected: Effect) -> None:
    edition, call = RUNS[agent]
    assert effect(rules, subject_of(call, edition)) == expected


@rows(
    ("rules", "expected"),
    [
        ("allow edit:w.txt", "allow"),
        ("allow edit:src/**", "ask"),
        ("deny edit:w.txt; allow all", "deny"),
        ("deny edit; allow other; allow read", "deny"),
        ("allow other; allow read", "ask"),
        ("deny execute:rm *; allow edit", "allow"),
    ],
)
@rows("agent", list(WRITES))
def test_a_person_expects_of_a_file_that_is_written(agent: str, rules: str, expected: Effect) -> None:
    edition, call = WRITES[agent]
    assert effect(rules, subject_of(call, edition)) == expected


@rows(
    ("call", "rules", "expected"),
    [
        # The command is in the title alone, which is a label.
        (GEMINI_RUNS, "allow execute:echo *", "ask"),
        (GEMINI_RUNS, "allow execute", "allow"),
        (GEMINI_RUNS, "deny execute; allow all", "deny"),
        (GEMINI_RUNS, "deny execute:rm *; allow execute", "ask"),
        (GEMINI_RUNS, "deny edit:secrets/**; allow execute", "ask"),
        (CLAUDE_LEAVES_ITS_PLAN, "allow switch_mode", "allow"),
        (CLAUDE_LEAVES_ITS_PLAN, "deny switch_mode; allow all", "deny"),
        (CLAUDE_LEAVES_ITS_PLAN, "deny execute; allow switch_mode", "ask"),
        (CLAUDE_LEAVES_ITS_PLAN, "ask edit:src/**; allow switch_mode", "ask"),
        (CLAUDE_LEAVES_ITS_PLAN, "allow all; deny execute", "allow"),
        (CODEX_RUNS, "allow execute:echo *; allow edit:esc.txt", "allow"),
        (CODEX_RUNS, "deny edit:secrets/**; allow all", "allow"),
        (CODEX_RUNS, "deny edit:esc.txt; allow all", "deny"),
        (GOOSE_SAYS_NOTHING, "allow other", "allow"),
        (GOOSE_SAYS_NOTHING, "deny execute; allow other", "ask"),
        (GOOSE_SAYS_NOTHING, "deny edit:secrets/**; allow all", "ask"),
        (GOOSE_SAYS_NOTHING, "deny other; allow all", "deny"),
        (DEEP_AGENTS_READS, "allow other", "allow"),
        (DEEP_AGENTS_READS, "deny edit:secrets/**; allow other", "allow"),
        (DEEP_AGENTS_READS, "deny read:w.txt; allow other", "deny"),
        # It names a file, and not what happens to it.
        (DEEP_AGENTS_READS, "deny edit; allow other", "ask"),
        (DEEP_AGENTS_READS, "allow read", "ask"),
    ],
)
def test_a_person_expects_of_a_question_that_says_little(call: dict[str, Any], rules: str, expected: Effect) -> None:
    for edition in EDITIONS:
        assert effect(rules, subject_of(call, edition)) == expected


@rows(
    ("call", "rules", "expected"),
    [
        ({"kind": "read", "rawInput": {"command": "rm x"}}, "deny execute:rm *; allow read", "deny"),
        ({"kind": "read", "rawInput": {"command": "git log"}}, "deny read; allow execute", "deny"),
        ({"kind": "read", "rawInput": {"command": "git log"}}, "ask read:x; allow execute", "allow"),
        ({"kind": "read", "rawInput": {"path": "a", "content": ""}}, "allow read", "ask"),
        ({"kind": "search", "rawInput": {"path": "a", "text": "x"}}, "allow search", "allow"),
        ({"kind": "search", "rawInput": {"path": "secrets/a"}}, "deny read:secrets/**; allow search", "deny"),
        ({"kind": "fetch", "rawInput": {"url": "https://x.example/"}}, "deny execute; allow fetch", "allow"),
        ({"kind": "fetch", "rawInput": {"query": "x"}}, "deny execute; allow fetch", "ask"),
        ({"kind": "read", "rawInput": {"url": "https://x.example/"}}, "deny execute; allow read", "ask"),
        ({"kind": "other", "rawInput": {"url": "https://x.example/"}}, "deny fetch; allow other", "deny"),
        ({"kind": "think", "rawInput": {"path": "secrets/a"}}, "deny move:secrets/**; allow think", "deny"),
        ({"kind": "execute", "rawInput": {"command": "cp a b"}, "locations": [{"path": "secrets/a"}]},
         "deny read:secrets/**; allow execute", "deny"),
        ({"kind": "think"}, "deny read:x", "ask"),
        ({"kind": "read"}, "allow read; deny read:x", "allow"),
        ({"kind": "read"}, "allow read; deny edit", "ask"),
    ],
)  # fmt: skip
def test_the_strictest_reading_decides(call: dict[str, Any], rules: str, expected: Effect) -> None:
    for edition in EDITIONS:
        assert effect(rules, subject_of(call, edition)) == expected


# --- what leniency dropped

GOOD: dict[str, Any] = {"v1": {"type": "diff", "path": f"{CWD}/src/a", "oldText": "a", "newText": "b"}}
GOOD["v2-june"] = GOOD["v1"]
GOOD["v2"] = {"type": "diff", "changes": [{"operation": "modify", "path": f"{CWD}/src/a"}]}


@rows(
    "broken",
    [
        {"locations": 5}, {"locations": "secrets/a"}, {"locations": {"path": "secrets/a"}}, {"locations": [5]},
        {"locations": [None]}, {"locations": [{}]}, {"locations": ["secrets/a"]}, {"locations": [{"path": 5}]},
        {"locations": [{"path": "src/a"}, {"path": ["secrets/a"]}]}, {"locations": [{"path": None}]},
        {"content": ["+", 5]}, {"content": ["+", {"type": "diff", "newText": "x"}]}, {"content": ["+", {"type": 5}]},
        {"content": ["+", {"type": "diff", "path": 5, "newText": "x"}]}, {"content": ["+", None]},
        {"content": ["+", {"type": "diff", "path": "secrets/a", "newText": 5}]}, {"content": ["+", {}]},
        {"content": ["+", {"type": "_files", "n": 5}]}, {"content": ["+", {"type": "diff", "changes": [5]}]},
        {"rawInput": {"path": 5}}, {"rawInput": {"paths": ["src/a", 5]}}, {"rawInput": 5}, {"rawInput": "secrets/a"},
        {"rawInput": [5]}, {"rawInput": {"file": {"value": 5}}}, {"rawInput": {"path": True}}, {"rawInput": ["a"]},
        {"content": ["+", {"type": "content", "content": {"type": "_files", "n": 5}}]},
    ],
)  # fmt: skip
@rows("edition", list(EDITIONS))
def test_what_could_not_be_read_is_asked(edition: str, broken: dict[str, Any]) -> None:
    good = GOOD[edition]
    content = [good if each == "+" else each for each in broken.get("content", ["+"])]
    subject = subject_of({"kind": "edit", **broken, "content": content}, edition)

    assert effect("allow edit:src/**", subject) == "ask"
    assert effect("allow edit", subject) == "ask"
    assert effect("deny edit:x; allow all", subject) == "ask"
    assert effect("allow all", subject) == "allow"
    assert subject.targets is None


@rows("harmless", [
    {}, {"locations": None}, {"title": 5}, {"rawInput": None}, {"rawInput": {}}, {"_meta": {}}, {"status": None},
    {"locations": [{"path": "src/a", "line": -1}]}, {"rawInput": {"path": "src/a", "line": 5}},
])  # fmt: skip
@rows("edition", ["v1", "v2"])
def test_what_says_nothing_makes_a_call_no_wider(edition: str, harmless: dict[str, Any]) -> None:
    call = {"kind": "edit", "content": [GOOD[edition]], **harmless}
    assert effect("allow edit:src/**", subject_of(call, edition)) == "allow"


@rows("edition", ["v1", "v2"])
def test_a_kind_that_could_not_be_read_is_asked(edition: str) -> None:
    call = {"kind": 5, "locations": [{"path": "src/a"}]}
    assert effect("allow other", subject_of(call, edition)) == "ask"
    assert effect("allow read:src/**; allow edit:src/**", subject_of(call, edition)) == "ask"


def test_what_one_report_lost_a_later_one_does_not_give_back() -> None:
    kind, decode = EDITIONS["v2"]
    transcript, codec = Transcript(), Codec()
    transcript.fold(decode(codec.convert(kind, {"toolCallId": "t", "kind": "edit", "locations": [5]})))
    first = claims_of(transcript.tool_calls["t"])
    transcript.fold(decode(codec.convert(kind, {"toolCallId": "t", "_meta": None, "locations": [{"path": "src/a"}]})))
    alone = claims_of(transcript.tool_calls["t"])
    then = alone.joined(first)

    assert not alone.is_unread
    assert effect("allow edit:src/**", SubjectResolver(CWD, ()).of_call(then)) == "ask"
