"""The claims about a call become the subject that rules judge: real paths, simple commands, unknowns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from accord.session.claims import MAX_CLAIMS, CommandClaim, claims_of
from accord.session.custom import custom
from accord.session.entry import ToolCall
from accord.session.remembered import CommandTarget, InputTarget, PathTarget, RememberedAnswer
from accord.session.rules import Effect, Rule, Subject, judge, parse_rule, wider_answers
from accord.session.tool import Diff, FileChange, Location
from accord.workspace.subject import SubjectResolver, resolve_path, resolve_rules
from tests.tables import rows

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and POSIX paths: run it on Linux or macOS")


def subject(folder: Path, kind: str = "other", raw_input: Any = None, **fields: Any) -> Subject:
    call = ToolCall("t", kind=kind, raw_input=raw_input, title="git status", **fields)
    return SubjectResolver(str(folder), ()).of_call(claims_of(call))


def effect(folder: Path, rules: list[str], judged: Subject) -> Effect:
    resolver = SubjectResolver(str(folder), ())
    return judge(resolve_rules(map(parse_rule, rules), resolver.roots), judged).effect


# --- paths


@rows(
    "spelling",
    [
        "{}/a",
        "{}//a",
        "{}/./a",
        "{}/x/../a",
        "a",
        "./a",
        "file://{}/a",
        "file://localhost{}/a",
        "FILE://{}/%61",
        "file:{}/a",
    ],
)
def test_every_spelling_of_a_path_is_one_path(tmp_path: Path, spelling: str) -> None:
    found = resolve_path(spelling.format(tmp_path), str(tmp_path))

    assert found is not None
    assert found.real == str(tmp_path.resolve() / "a")


@rows("spelling", ["", "~/a", "$HOME/a", "http://x/a", "file://host/a", "file://[", "a://]/b", "a\0b", "/\ud800"])
def test_what_nobody_can_resolve_is_not_known(tmp_path: Path, spelling: str) -> None:
    assert resolve_path(spelling, str(tmp_path)) is None
    judged = subject(tmp_path, "edit", locations=[Location(spelling)])
    assert effect(tmp_path, ["allow edit:**", "allow edit:/**"], judged) == "ask"
    assert effect(tmp_path, ["deny edit:x", "allow edit"], judged) == "deny"


def test_links_are_followed_in_paths_and_in_patterns(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (tmp_path / "work").mkdir()
    vault.mkdir()
    (tmp_path / "work" / "secret").symlink_to(vault)
    work = tmp_path / "work"
    through, direct = (
        subject(work, "edit", locations=[Location(str(p))]) for p in (work / "secret" / "k", vault / "k")
    )

    assert effect(work, ["deny edit:secret/**", "allow all"], through) == "deny"
    assert effect(work, ["deny edit:secret/**", "allow all"], direct) == "deny"
    assert effect(work, ["deny edit:secret/", "allow all"], direct) == "deny"
    assert effect(work, ["allow edit:secret/**"], through) == "ask"
    assert effect(work, [f"allow edit:{work}/secret/**"], through) == "allow"


def test_every_location_diff_and_patch_must_be_allowed(tmp_path: Path) -> None:
    diff = Diff([FileChange(str(tmp_path / "src/a"), old_path=str(tmp_path / "other"))])
    patch = Diff([], patch="diff --git a/x b/secret\n--- a/x\n+++ b/secret\n@@ -1 +1 @@\n-a\n+b\n")
    mode = Diff([], patch=f"diff --git {tmp_path}/x {tmp_path}/secret\nold mode 100644\nnew mode 100755\n")

    for item, denied in ((diff, "other"), (patch, "secret"), (mode, "secret")):
        judged = subject(tmp_path, "edit", content=[item], locations=[Location(str(tmp_path / "src/a"))])
        assert effect(tmp_path, ["allow edit:src/**"], judged) == "ask"
        assert effect(tmp_path, [f"deny edit:{denied}", "allow edit"], judged) == "deny"


def test_a_patch_that_cannot_be_read_touches_files_that_are_not_known(tmp_path: Path) -> None:
    judged = subject(tmp_path, "edit", content=[Diff([], patch="?")], locations=[Location("src/a")])

    assert effect(tmp_path, ["allow edit:src/**"], judged) == "ask"
    assert effect(tmp_path, ["deny edit:x", "allow edit"], judged) == "deny"


@rows("kind", ["read", "other", "think", "_mine"])
def test_a_call_with_a_diff_is_an_edit_whatever_its_kind_says(tmp_path: Path, kind: str) -> None:
    judged = subject(tmp_path, kind, content=[Diff([FileChange("a", "old", "new")])])

    assert effect(tmp_path, ["deny edit", "allow all"], judged) == "deny"
    assert effect(tmp_path, [f"allow {kind}"], judged) == "ask"


@rows("name", ["path", "file_path", "filePath", "abs-path", "paths", "uri"])
def test_paths_in_the_input_count(tmp_path: Path, name: str) -> None:
    value = ["secret/a"] if name == "paths" else "secret/a"
    judged = subject(tmp_path, "edit", {"nested": [{name: value}]}, locations=[Location("src/a")])

    assert effect(tmp_path, ["deny edit:secret/**", "allow edit"], judged) == "deny"


# --- folders that hold what a pattern means


@rows(("pattern", "path"), [
    ("secrets/**", "secrets"), ("secrets/**", "secrets/"), ("secrets/**", "secrets/."),
    ("secrets/**", "./secrets/x/.."),
    ("secrets/**", "."), ("secrets/**", ""), ("secrets/**", "/"), ("secrets/**", ".."), ("secrets/**", "file:."),
    ("secrets/", "secrets"), ("secrets/key", "secrets"), ("secrets/key", "."), ("secrets/*.pem", "secrets"),
    ("a/b/c/d", "a/b"), ("**/key", "secrets"), ("**/key", "."), ("**/.env", "secrets/"), ("s*/key", "secrets"),
    ("secrets/**/key", "secrets/deep"), ("{}/secrets/**", "secrets"), ("{}/secrets/**", "/"), ("/**", "secrets"),
    ("secrets/**", "link"), ("link/**", "secrets"), ("link/key", "."), ("secrets/**", "link/../secrets"),
])  # fmt: skip
@rows("kind", ["delete", "move", "edit", "read", "search"])
def test_what_is_denied_covers_the_folder_that_holds_it(tmp_path: Path, pattern: str, path: str, kind: str) -> None:
    (tmp_path / "secrets/deep").mkdir(parents=True)
    (tmp_path / "secrets/key").touch()
    (tmp_path / "link").symlink_to(tmp_path / "secrets")
    judged = subject(tmp_path, kind, locations=[Location(path)])
    rule = f"{kind}:{pattern.format(tmp_path)}"

    if path:
        assert effect(tmp_path, [f"deny {rule}", f"allow {kind}"], judged) == "deny"
        assert effect(tmp_path, [f"ask {rule}", f"allow {kind}"], judged) == "ask"
    assert effect(tmp_path, [f"allow {rule}"], judged) == ("allow" if pattern == "/**" else "ask")


@rows(("pattern", "path"), [
    ("secrets/**", "src"), ("secrets/**", "secretsx"), ("secrets/**", "sec"), ("**/key", "src/main.py"),
    ("**/key", "src/new.py"), ("secrets/key", "secrets/other"), ("*.pem", "src"), ("secrets/*/x", "secrets/key"),
    ("/etc/**", "."), ("secrets/key/x", "src"),
])  # fmt: skip
@rows("kind", ["edit", "read", "search"])
def test_what_is_denied_does_not_cover_what_holds_nothing_of_it(
    tmp_path: Path, pattern: str, path: str, kind: str
) -> None:
    for folder in ("src", "secrets", "secretsx", "sec"):
        (tmp_path / folder).mkdir()
    (tmp_path / "src/main.py").touch()
    judged = subject(tmp_path, kind, locations=[Location(path)])

    assert effect(tmp_path, [f"deny {kind}:{pattern}", f"allow {kind}"], judged) == "allow"


@rows(("pattern", "path"), [
    ("caf\u00e9/**", "cafe\u0301/key"), ("cafe\u0301/**", "caf\u00e9/key"), ("caf\u00e9/**", "cafe\u0301"),
    ("{}/caf\u00e9/*", "cafe\u0301/key"), ("caf?/key", "cafe\u0301/key"),
])  # fmt: skip
def test_both_spellings_of_a_letter_are_denied_and_one_is_allowed(tmp_path: Path, pattern: str, path: str) -> None:
    rule = f"edit:{pattern.format(tmp_path)}"
    judged = subject(tmp_path, "edit", locations=[Location(path)])

    assert effect(tmp_path, [f"deny {rule}", "allow all"], judged) == "deny"
    assert effect(tmp_path, [f"allow {rule}"], judged) == "ask"


def test_both_ends_of_a_move_are_covered(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "file").touch()
    rules = ["deny move:secrets/**", "deny move:**/.env", "allow move"]

    for ends in (("a", "secrets"), ("secrets", "a"), ("a", "b"), ("file", "secrets")):
        for raw_input in ({"from": ends[0], "to": ends[1]}, {"source": ends[0], "destination": ends[1]}):
            assert effect(tmp_path, rules, subject(tmp_path, "move", raw_input)) == "deny"
    assert effect(tmp_path, rules, subject(tmp_path, "move", {"from": "file", "to": "renamed"})) == "allow"


@rows(("kind", "expected"), [("delete", "deny"), ("move", "deny"), ("edit", "allow"), ("read", "allow")])
def test_what_is_not_there_may_become_a_folder_that_is_deleted_or_moved(
    tmp_path: Path, kind: str, expected: Effect
) -> None:
    judged = subject(tmp_path, kind, locations=[Location("soon")])
    named = subject(tmp_path, kind, locations=[Location("soon/")])

    assert effect(tmp_path, [f"deny {kind}:so*/key", f"allow {kind}"], judged) == expected
    assert effect(tmp_path, [f"deny {kind}:so*/key", f"allow {kind}"], named) == "deny"


def test_a_rule_before_it_decides_for_what_lies_below_where_it_matches_all_of_that(tmp_path: Path) -> None:
    (tmp_path / "build/keep").mkdir(parents=True)
    judged = subject(tmp_path, "delete", locations=[Location("build")])

    for before, expected in (("build", "deny"), ("build/**", "deny"), ("**", "allow"), ("bu*", "deny")):
        assert effect(tmp_path, [f"allow delete:{before}", "deny delete:build/keep/**"], judged) == expected
    assert effect(tmp_path, ["allow delete", "deny delete:build/keep/**"], judged) == "allow"
    assert effect(tmp_path, ["allow delete:build", "deny delete"], judged) == "allow"
    assert effect(tmp_path, ["ask delete:build/keep/x", "deny delete:build/keep/y", "allow all"], judged) == "deny"


def test_two_moves_that_were_always_allowed_make_no_third_one(tmp_path: Path) -> None:
    def move(source: str, destination: str, **more: str) -> Subject:
        return subject(tmp_path, "move", {"from": source, "to": destination, **more})

    answers = [RememberedAnswer("allow", targets=each.targets or ()) for each in (move("a", "b"), move("c", "d"))]

    assert judge((), move("a", "b"), answers).effect == "allow"
    assert judge((), subject(tmp_path, "move", {"to": "b", "from": "./a"}), answers).effect == "allow"
    for ends in (("a", "d"), ("c", "b"), ("b", "a"), ("a", "a"), ("a", "c")):
        assert judge((), move(*ends), answers).effect == "ask"
    assert judge((), subject(tmp_path, "move", {"to": "a", "from": "b"}), answers).effect == "ask"
    assert judge((), subject(tmp_path, "move", {"from": "a"}), answers).effect == "ask"
    diff = Diff([FileChange("d", "x", "x", "move", "a")])
    assert judge((), subject(tmp_path, "move", content=[diff]), answers).effect == "ask"


# --- commands

COMMANDS: list[Any] = [
    {"command": "rm x"},
    {"command": "rm", "args": ["x"]},
    {"command": ["rm", "x"]},
    {"cmd": ["bash", "-lc", "rm x"]},
    {"commands": ["ls", "rm x"]},
    {"commands": [["ls"], ["rm", "x"]]},
    {"commands": [{"command": "ls"}, {"command": "rm", "args": ["x"]}]},
    {"script": "ls\nrm x"},
    {"input": {"Command": "rm x"}},
    {"tool": {"arguments": [{"shell_command": "rm x"}]}},
    {"argv": ["/bin/rm", "x"]},
    {"command": {"argv": ["rm", "x"]}},
]


@rows("raw_input", COMMANDS)
@rows("kind", ["execute", "other", "read"])
def test_a_call_with_a_command_is_execute_wherever_it_stands(tmp_path: Path, raw_input: Any, kind: str) -> None:
    judged = subject(tmp_path, kind, raw_input)

    assert effect(tmp_path, ["deny execute:rm *", "allow all"], judged) == "deny"
    assert effect(tmp_path, ["allow read", "allow other", "allow execute:git *"], judged) == "ask"


@rows("raw_input", [None, {}, {"command": 1}])
def test_a_command_that_is_not_named_is_asked_and_a_title_is_no_command(tmp_path: Path, raw_input: Any) -> None:
    judged = subject(tmp_path, "execute", raw_input)

    assert effect(tmp_path, ["allow execute:git *", "allow execute:*"], judged) == "ask"
    assert effect(tmp_path, ["deny execute:rm *", "allow all"], judged) == "ask"
    assert effect(tmp_path, ["deny execute", "allow all"], judged) == "deny"


@rows("raw_input", [
        {"command": [1]}, {"command": "git", "args": "status; rm x"},
        {"command": "git", "args": [1]},
        {"command": "git status", "env": {"PATH": "/x"}}, {"command": "git status", "env": "PATH=/x"},
        {"command": "git status", "env": [{"name": "LD_PRELOAD", "value": "x"}]}, {"command": "git status", "cwd": "~"},
        {"command": {"command": {"command": {"command": {"command": {"command": {"command": {"command": "git"}}}}}}}},
    ])  # fmt: skip
def test_a_command_that_is_not_known_is_denied_by_every_pattern(tmp_path: Path, raw_input: Any) -> None:
    judged = subject(tmp_path, "execute", raw_input)

    assert effect(tmp_path, ["allow execute:git *", "allow execute:*"], judged) == "ask"
    assert effect(tmp_path, ["deny execute:rm *", "allow all"], judged) == "deny"


@rows("kind", ["read", "search", "other"])
def test_a_kind_is_not_taken_back_by_a_command(tmp_path: Path, kind: str) -> None:
    judged = subject(tmp_path, kind, {"command": "git status"})
    edit = subject(tmp_path, "edit", {"command": "git status"})

    assert effect(tmp_path, ["allow execute:git *"], judged) == "allow"
    assert effect(tmp_path, ["allow execute:git *"], edit) == "ask"
    assert effect(tmp_path, ["deny edit:x", "allow execute"], edit) == "deny"


@rows("line", ["git log > secret/a", "git log >> ./secret/a", "git log > secret/../secret/a"])
def test_what_a_shell_writes_for_a_command_is_an_edit(tmp_path: Path, line: str) -> None:
    judged = subject(tmp_path, "execute", {"command": line})

    assert effect(tmp_path, ["allow execute:git *"], judged) == "ask"
    assert effect(tmp_path, ["deny edit:secret/**", "allow all"], judged) == "deny"
    assert effect(tmp_path, ["allow execute:git *", "allow edit:secret/**"], judged) == "allow"


def test_where_a_line_changes_its_directory_a_relative_target_is_not_known(tmp_path: Path) -> None:
    judged = subject(tmp_path, "execute", {"command": "cd x && git log > a"})

    assert effect(tmp_path, ["allow execute", "allow edit:a"], judged) == "ask"
    assert effect(tmp_path, ["deny edit:secret/**", "allow all"], judged) == "deny"


def test_nothing_is_written_to_the_null_device(tmp_path: Path) -> None:
    judged = subject(tmp_path, "execute", {"command": "git log > /dev/null 2>&1"})

    assert effect(tmp_path, ["allow execute:git *"], judged) == "allow"


@rows("raw_input", [["bash", "-lc"], ["sh", "-c"], ["/bin/sh", "-ec"], ["/usr/bin/bash", "-c"]])
def test_a_plain_shell_around_a_line_is_transparent(tmp_path: Path, raw_input: list[str]) -> None:
    inside = subject(tmp_path, "execute", {"command": [*raw_input, "git status"]})
    both = subject(tmp_path, "execute", {"command": [*raw_input, "git status; rm x"]})

    assert effect(tmp_path, ["allow execute:git *"], inside) == "allow"
    assert effect(tmp_path, ["allow execute:git *"], both) == "ask"


def test_a_shell_of_another_folder_is_not_transparent(tmp_path: Path) -> None:
    judged = subject(tmp_path, "execute", {"command": ["./sh", "-c", "git status"]})

    assert effect(tmp_path, ["allow execute:git *"], judged) == "ask"


# --- what is remembered


def test_a_line_and_the_argv_that_it_means_are_remembered_as_one(tmp_path: Path) -> None:
    spellings = (
        {"command": "git  'status'"},
        {"command": "git", "args": ["status"]},
        {"cmd": ["sh", "-c", "git status"]},
    )
    targets = [subject(tmp_path, "execute", each).targets for each in spellings]

    assert targets[0] == targets[1] == targets[2] == (CommandTarget(str(tmp_path.resolve()), ("git", "status")),)


def test_a_change_into_the_directory_of_a_command_is_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "inner").mkdir()
    resolver = SubjectResolver(str(tmp_path), ())

    def target(line: str, directory: str | None = None) -> object:
        return resolver.command_target(CommandClaim(("/bin/sh", "-c", line), None, directory))

    plain = resolver.command_target(CommandClaim(("git", "status")))
    assert plain is not None
    for spelling in (f"'{tmp_path}'", str(tmp_path), f"'{tmp_path}/'", f"{tmp_path}/link", f"'{tmp_path}/inner/..'"):
        assert target(f"cd {spelling} && git status") == plain
        assert resolver.command_target(CommandClaim(None, f"cd {spelling} && git status")) == plain
    inner = tmp_path / "inner"
    assert target(f"cd {inner} && git status", "inner") == CommandTarget(str(inner), ("git", "status"))
    for line in (
        f"cd {tmp_path}/inner && git status",
        f"cd {tmp_path}; git status",
        f"cd {tmp_path} || git status",
        f"cd '{tmp_path}'/inner && git status",
        f"cd {tmp_path}$X && git status",
        "cd . && git status",
        "cd ~ && git status",
    ):
        assert target(line) != plain


def test_the_directory_and_the_environment_are_part_of_what_is_remembered(tmp_path: Path) -> None:
    here = subject(tmp_path, "execute", {"command": "ls"}).targets
    there = subject(tmp_path, "execute", {"command": "ls", "cwd": "sub"}).targets
    with_environment = subject(tmp_path, "execute", {"command": "ls", "env": {"LANG": "C"}}).targets

    assert len({here, there, with_environment}) == 3


def test_every_command_of_a_program_by_a_relative_path_is_one_of_the_session_s_directory(tmp_path: Path) -> None:
    here, there = (subject(tmp_path, "execute", {"command": "./t", "cwd": cwd}) for cwd in (".", "sub"))
    (answer,) = wider_answers(here)

    assert judge((), here, [answer]).effect == "allow"
    assert judge((), there, [answer]).effect == "ask"
    assert judge((), there, [RememberedAnswer("deny", "program", program="./t")]).effect == "deny"
    assert wider_answers(there) == ()
    assert effect(tmp_path, ["deny execute:./t", "allow execute"], there) == "deny"
    assert effect(tmp_path, ["deny execute:rm *", "allow execute"], there) == "allow"


@rows(
    ("one", "other"),
    [
        ({"command": "python3 - <<E\n1\nE"}, {"command": "python3 - <<E\n2\nE"}),
        ({"command": "python3 <<-E\n1\nE"}, {"command": "python3"}),
        ({"command": "psql < a.sql"}, {"command": "psql < b.sql"}),
        ({"command": "psql <<< 1"}, {"command": "psql"}),
        ({"command": "psql 0<> a"}, {"command": "psql"}),
        ({"command": "sh -c 'psql < a.sql'"}, {"command": "sh -c 'psql < b.sql'"}),
        ({"command": "NODE_ENV=test npm start"}, {"command": "NODE_ENV=production npm start"}),
        ({"command": "psql", "stdin": "1"}, {"command": "psql", "stdin": "2"}),
        ({"command": ["psql"], "input": "1"}, {"command": ["psql"]}),
        ({"cmd": ["sh", "-ec", "test -e x; ls"]}, {"cmd": ["sh", "-c", "test -e x; ls"]}),
        (
            {"command": "ls", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
            {"command": "ls", "env": [{"name": "A", "value": "2"}, {"name": "A", "value": "1"}]},
        ),
    ],
)
def test_two_commands_that_differ_in_more_than_their_words_are_remembered_as_two(
    tmp_path: Path, one: Any, other: Any
) -> None:
    first, second = subject(tmp_path, "execute", one).targets, subject(tmp_path, "execute", other).targets

    assert first is not None
    assert second is not None
    assert set(first).isdisjoint(second)


@rows("kind", ["other", "fetch", "_deploy"])
@rows("named", [{"path": "db"}, {"file": "/db", "uri": "a"}, {"command": "apply"}])
def test_where_a_path_or_a_command_is_one_parameter_among_others_all_of_them_are_remembered(
    tmp_path: Path, kind: str, named: Any
) -> None:
    one, same, other = (
        subject(tmp_path, kind, each).targets for each in ({**named, "q": 1}, {"q": 1, **named}, {**named, "q": 2})
    )

    assert one is not None
    assert one == same
    assert set(one).isdisjoint(other or ())


def test_an_input_without_paths_and_commands_is_remembered_whole(tmp_path: Path) -> None:
    one, same, other = (subject(tmp_path, "fetch", each) for each in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1}))

    assert one.targets == same.targets != other.targets
    assert isinstance((one.targets or ())[0], InputTarget)
    assert isinstance((subject(tmp_path, "fetch", {"url": "https://a.example/"}).targets or ())[0], InputTarget)
    assert subject(tmp_path, "fetch").targets is None


def test_a_file_is_remembered_by_its_real_path_and_what_happens_to_it(tmp_path: Path) -> None:
    judged = subject(tmp_path, "edit", locations=[Location("a"), Location("./a")])

    assert judged.targets == (PathTarget("edit", str(tmp_path.resolve() / "a")),)


def test_more_claims_than_anybody_reads_are_not_known(tmp_path: Path) -> None:
    judged = subject(tmp_path, "edit", locations=[Location(f"src/{n}") for n in range(MAX_CLAIMS + 1)])

    assert effect(tmp_path, ["allow edit:src/**"], judged) == "ask"
    assert effect(tmp_path, ["deny edit:x", "allow edit"], judged) == "deny"
    assert judged.targets is None


def test_a_later_report_takes_nothing_back() -> None:
    first = claims_of(ToolCall("t", kind="edit", locations=[Location("/secret")]))
    then = claims_of(ToolCall("t", kind="read", raw_input={"command": "ls"}))
    unnamed = claims_of(ToolCall("t", kind="delete"))

    assert {each.path for each in then.joined(first).paths} == {"/secret"}
    assert then.joined(first).commands == then.commands
    assert then.joined(unnamed).former == ("delete",)
    many = claims_of(ToolCall("t", kind="edit", locations=[Location(f"/{n}") for n in range(MAX_CLAIMS)]))
    assert not first.joined(many).is_complete


@rows("kind", ["execute", "edit", "fetch", "_vendor"])
def test_a_call_stays_what_it_was_called_once(tmp_path: Path, kind: str) -> None:
    first, then = claims_of(ToolCall("t", kind=kind)), claims_of(ToolCall("t", kind="think"))
    judged = SubjectResolver(str(tmp_path), ()).of_call(then.joined(first))

    assert effect(tmp_path, [f"deny {kind}", "allow all"], judged) == "deny"
    assert effect(tmp_path, ["allow think"], judged) == "ask"


def test_a_call_that_had_no_kind_at_first_is_what_it_is_called_then(tmp_path: Path) -> None:
    then = claims_of(ToolCall("t", kind="read", locations=[Location("a")])).joined(claims_of(ToolCall("t")))

    assert effect(tmp_path, ["allow read"], SubjectResolver(str(tmp_path), ()).of_call(then)) == "allow"


@rows(
    "raw_input",
    [
        {"command": "rm x", "Command": "ls"},
        {"Command": "ls", "command": "rm x"},
        {"command": "ls", "args": [], "Args": ["x"]},
    ],
)
def test_a_command_under_two_spellings_of_a_name_is_not_known(tmp_path: Path, raw_input: Any) -> None:
    judged = subject(tmp_path, "execute", raw_input)

    assert effect(tmp_path, ["allow execute:ls", "allow execute:ls *"], judged) == "ask"
    assert effect(tmp_path, ["deny execute:rm *", "allow all"], judged) == "deny"


@rows("kind", ["edit", "other", "read"])
@rows(
    "patch", ["--- a/secret/key\n+++ b/secret/key\n@@ -1 +1 @@\n-x\n+y\n", "*** Update File: secret/key\n@@\n-x\n+y\n"]
)
def test_a_patch_in_the_input_changes_its_files_whatever_the_kind(tmp_path: Path, kind: str, patch: str) -> None:
    judged = subject(tmp_path, kind, {"patch": patch}, locations=[Location("a")])

    assert effect(tmp_path, ["deny edit:secret/**", "allow all"], judged) == "deny"


def test_a_patch_in_the_input_that_cannot_be_read_is_an_edit_of_an_unknown_file(tmp_path: Path) -> None:
    judged = subject(tmp_path, "edit", {"patch": "?"}, locations=[Location("a")])

    assert effect(tmp_path, ["deny edit:secret/**", "allow all"], judged) == "deny"


def test_rules_of_the_decision_are_left_as_they_are() -> None:
    rule = Rule("deny", "edit", "a*/b")

    assert resolve_rules([rule], ["/"]) == (rule,)


def test_claims_that_are_not_kept_still_have_their_kinds(tmp_path: Path) -> None:
    files = [f"/p/{number}" for number in range(MAX_CLAIMS)]
    judged = subject(tmp_path, "other", {"command": "rm x", "paths": files})
    assert effect(tmp_path, ["deny execute:rm *", "allow other"], judged) == "deny"
    assert effect(tmp_path, ["allow other"], judged) == "ask"
    earlier = claims_of(ToolCall("t", kind="other", raw_input={"command": "rm x"}))
    later = claims_of(ToolCall("t", kind="other", raw_input={"paths": files}))
    joined = SubjectResolver(str(tmp_path), ()).of_call(later.joined(earlier))
    assert effect(tmp_path, ["deny execute:rm *", "allow other"], joined) == "deny"


@rows(
    ("change", "kinds"),
    [
        (FileChange("/p/a", "x", "y", "move", "/p/b"), {"move", "edit"}),
        (FileChange("/p/a", "x", "x", "move", "/p/b"), {"move"}),
        (FileChange("/p/a", None, None, "delete"), {"delete"}),
        (FileChange("", None, None, custom("_odd"), payload={"operation": "_odd", "target": "/p/a"}), {"edit"}),
    ],
)
def test_a_change_is_of_every_kind_that_it_makes(tmp_path: Path, change: FileChange, kinds: set[str]) -> None:
    judged = subject(tmp_path, "read", content=[Diff([change])])
    assert {access.kind for access in judged.accesses if access.path == "/p/a"} == kinds


def test_a_patch_that_contradicts_its_changes_is_an_edit_of_its_files(tmp_path: Path) -> None:
    patch = "diff --git /p/a /p/a\n--- /p/a\n+++ /p/a\n@@ -1 +1 @@\n-x\n+y\n"
    judged = subject(tmp_path, "delete", content=[Diff([FileChange("/p/a", operation="delete")], patch)])
    assert effect(tmp_path, ["deny edit:/p/a", "allow all"], judged) == "deny"
