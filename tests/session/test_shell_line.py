"""Shell lines taken apart: tables of what is found and of what is not understood, and properties of both."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from accord.session.shell_line import (
    ANY_COMMAND,
    MAX_COMMANDS,
    MAX_LINE,
    MAX_NESTING,
    SimpleCommand,
    environment_is_harmless,
    parse_argv,
    parse_shell_line,
    program_names,
    settings_are_harmless,
)
from accord.session.shell_wrappers import MAX_SUFFIXES
from tests.tables import rows


def argvs(line: str) -> list[str]:
    """The commands of an understood line, each as one text."""
    parsed = parse_shell_line(line)
    assert parsed.understood, parsed
    return [" ".join(command.words) for command in parsed.commands]


def found(line: str) -> set[str]:
    """The commands of a line that is not understood; `*` stands for any command."""
    parsed = parse_shell_line(line)
    assert not parsed.understood, parsed
    return {"*" if command == ANY_COMMAND else " ".join(command.words) for command in parsed.commands}


@rows(
    ("line", "commands"),
    [
        ("git status", ["git status"]),
        ("  git   status  ", ["git status"]),
        ("a;b", ["a", "b"]),
        ("a & b && c || d | e |& f", ["a", "b", "c", "d", "e", "f"]),
        ("a\nb\n\n c", ["a", "b", "c"]),
        ("a \\\n  b", ["a b"]),
        ("\\\na", ["a"]),
        ("a # rm x", ["a"]),
        ("a # 'x\nb", ["a", "b"]),
        ("a#b", ["a#b"]),
        ("! a", ["a"]),
        ("(a; b) | (c)", ["a", "b", "c"]),
        ("{ a; { b; }; } && c", ["a", "b", "c"]),
        ("(a) >/f 2>&1; b", ["a", "b"]),
        ("{ (a) }", ["a"]),
        ("a; a", ["a"]),
        ("echo }", ["echo }"]),
        # quotes
        ('\'rm\' x; \\rm y; r""m z; "r"m', ["rm x", "rm y", "rm z", "rm"]),
        ("a 'b  c' \"d  e\" f\\ g", ["a b  c d  e f g"]),
        ("a ''", ["a "]),
        ("a 'b\nc' \"d\\\ne\" 'f\rg'", ["a b\nc de f\rg"]),
        ('a "\\$x \\`b\\` \\" \\\\ \\n"', ['a $x `b` " \\ \\n']),
        ("a '$(b)' '`c`'", ["a $(b) `c`"]),
        ("a $ $% 'x'$", ["a $ $% x$"]),
        ("a {} x{}y [ ]", ["a {} x{}y [ ]"]),
        ("[ -f x ]", ["[ -f x ]"]),
        ("a HEAD~1 x=y", ["a HEAD~1 x=y"]),
        ("'if' a; \\for", ["if a", "for"]),
        ("a é «b»", ["a é «b»"]),
        # substitutions
        ("a $(b c)", ["b c", "a $(b c)"]),
        ('a "$(b "$(c)")"', ["c", "b $(c)", 'a $(b "$(c)")']),
        ('a `b "c"`', ["b c", 'a `b "c"`']),
        ('a "`b`"', ["b", "a `b`"]),
        ("a <(b) >(c)", ["b", "c", "a <(b) >(c)"]),
        ("a ${x:-$(b)} ${x-`c`} ${x} ${1} ${@}", ["b", "c", "a ${x:-$(b)} ${x-`c`} ${x} ${1} ${@}"]),
        ("a $((1 + 2)) $? $x", ["a $((1 + 2)) $? $x"]),
        ("a <<<$(b)", ["b", "a"]),
        ("LANG=$(b) a", ["b", "a"]),
        # here-documents
        ("a <<E\n$(b c) ' `d`\nE\ne", ["a", "b c", "d", "e"]),
        ("a <<'E'; f\n$(b)\nE\nc", ["a", "f", "c"]),
        ("a <<\\E\n$(b)\nE", ["a"]),
        ("a <<-E\n\tx\n\tE\nb", ["a", "b"]),
        ("a <<E <<F\n$(b)\nE\n$(c)\nF\nd", ["a", "b", "c", "d"]),
        ("a $(b <<E\nx\nE\n)", ["b", "a $(b <<E\nx\nE\n)"]),
        ("a <<E\n\\$(b) \\x $y\nE\n", ["a"]),
        # redirections
        ("a <f <&3 <&- 2>&1 >&2 3>&-", ["a"]),
        ("a 2</f", ["a"]),
        # harmless environment
        ("LC_ALL=C TZ=UTC a", ["a"]),
        ("LANG=C; a", ["a"]),
        ("export LANG=C; a", ["export LANG=C", "a"]),
        ("set -euo pipefail; set +x; a", ["set -euo pipefail", "set +x", "a"]),
        ("printf x", ["printf x"]),
        ("test -f x", ["test -f x"]),
    ],
)
def test_a_line_is_taken_apart(line: str, commands: list[str]) -> None:
    assert argvs(line) == commands


@rows(
    ("line", "inner"),
    [
        ("sudo rm x", "rm x"),
        ("/usr/bin/sudo -nu root -- rm x", "rm x"),
        ("SUDO rm x", "rm x"),
        ("sudo --user=root LANG=C rm x", "rm x"),
        ("sudo --user root rm x", "rm x"),
        ("env LANG=C rm x", "rm x"),
        ("env -0 --null rm x", "rm x"),
        ("nice -n 5 rm x", "rm x"),
        ("nice -10 rm x", "rm x"),
        ("nohup rm x", "rm x"),
        ("timeout -k 5 --signal=KILL 10 rm x", "rm x"),
        ("stdbuf -oL -e0 rm x", "rm x"),
        ("setsid -w rm x", "rm x"),
        ("ionice -c3 rm x", "rm x"),
        ("chrt -b 0 rm x", "rm x"),
        ("taskset -c 0 rm x", "rm x"),
        ("time -p rm x", "rm x"),
        ("strace -f -e trace=file rm x", "rm x"),
        ("doas -u root rm x", "rm x"),
        ("unbuffer rm x", "rm x"),
        ("command rm x", "rm x"),
        ("command -p rm x", "rm x"),
        ("builtin rm x", "rm x"),
        ("exec -a y rm x", "rm x"),
        ("busybox rm x", "rm x"),
        ("xargs rm", "rm "),
        ("xargs -0 -n1 rm x", "rm x "),
        ("xargs -I{} rm {}", "rm {} "),
        ("watch -n 1 rm x", "rm x"),
        ("watch 'rm x; y'", "rm x"),
        ("watch -x rm x", "rm x"),
        ("flock -n f rm x", "rm x"),
        ("flock f -c 'rm x'", "rm x"),
        ("find . -name '*.o' -exec rm x {} + -exec y \\;", "rm x {}"),
        ("find . -name '*.o' -exec y \\; -ok rm x \\;", "rm x"),
        ("sh -c 'rm x'", "rm x"),
        ("bash -lc 'rm x; y' z", "rm x"),
        ("sh -e -c -- 'rm x'", "rm x"),
        ("sh -c - 'rm x'", "rm x"),
        ("bash --norc -euo pipefail -c 'rm x'", "rm x"),
        ("sudo env LANG=C nice sh -c 'a; sh -c \"rm x\"'", "rm x"),
        ("find . -exec sh -c 'rm x' {} \\;", "rm x"),
    ],
)
def test_a_wrapper_counts_and_what_it_runs(line: str, inner: str) -> None:
    assert {inner, " ".join(shlex.split(line))} <= set(argvs(line))
    if "'*" not in line:
        parsed = parse_argv(shlex.split(line))
        assert parsed.understood
        assert set(parsed.commands) == set(parse_shell_line(line).commands)


@rows(
    "line",
    [
        "env",
        "env LANG=C",
        "nice",
        "command -v rm",
        "command -V rm",
        "exec >/f",
        "xargs",
        "watch",
        "watch -x",
        "flock 9",
        "set",
        "printf",
    ],
)
def test_a_wrapper_that_runs_nothing_is_one_command(line: str) -> None:
    assert argvs(line) == [line.partition(" >")[0]]


@rows(
    ("line", "commands"),
    [
        # keywords: the commands between them
        ("if a; then b; elif c; then d; else e; fi", {"a", "b", "c", "d", "e"}),
        ("while a; do b; done >/f; until c; do d; done", {"a", "b", "c", "d"}),
        ("for x in a b; do rm $x; done", {"rm $x"}),
        ("for x do rm y; done", {"*", "x do rm y", "do rm y", "rm y", "y"}),
        ("case x in a) rm y;; esac", {"*", "x in a", "in a", "a", "rm y"}),
        ("rm() { a; }; rm", {"rm", "a"}),
        ("function f { rm x; }", {"*", "f { rm x", "{ rm x", "rm x", "x"}),
        ("[[ -f x ]] && rm y", {"rm y"}),
        ("[[ x == y ]] || rm y", {"rm y"}),
        ("[[ 'v[$(rm)]' -eq 0 ]]", {"*", "v[$(rm)] -eq 0 ]]", "-eq 0 ]]", "0 ]]", "]]", "v[$(rm)]", "rm", "q"}),
        ("coproc rm", {"*", "rm"}),
        ("a;; b", {"a", "b"}),
        ("((1 << 2))\nrm\n2", {"*", "1"}),
        ("x=(a b)", {"a b"}),
        ("for ((;;)) do rm; done", {"*", "rm"}),
        # broken
        ("a 'b", {"*", "a b"}),
        ('a "b', {"*", "a b"}),
        ("a `b", {"*", "b", "a `b"}),
        ("a $(b", {"*", "b", "a $(b"}),
        ("a ${x", {"*", "a ${x"}),
        ("a \\", {"*", "a "}),
        ("a )", {"*", "a"}),
        ("(a", {"*", "a"}),
        ("{ a", {"*", "a"}),
        ("} a", {"*", "a"}),
        ("(a) b", {"*", "a", "b"}),
        ("a >", {"a"}),
        ("a > > b", {"a"}),
        ("a > ; b", {"a", "b"}),
        ("a <<E\nb", {"*", "a"}),
        ("a <<E", {"*", "a"}),
        ("a << <b", {"*", "a"}),
        ("", set()),
        ("# a", set()),
        ("LANG=C", set()),
        (">/f", set()),
        # shells differ
        ("a $'b'", {"*", "a b"}),
        ('a $"b"', {"*", "a b"}),
        ("a $[1]", {"*", "a [1]"}),
        ("a &>f b", {"*", "a", "b"}),
        ("a 12>f", {"a 12"}),
        ("a >&$x", {"a"}),
        ("a <&f", {"a"}),
        ("a\\\nb", {"*", "ab"}),
        ("a >\\\n>f", {"*", "a"}),
        ("a 2>(b)", {"*", "b", "a 2>(b)"}),
        ("a <<E\nx\\\nE\nE", {"*", "a", "E"}),
        ("a <<$x\n$x\n", {"*", "a"}),
        ("a <<E 'x\ny'\nE\n", {"*", "a x\ny"}),
        ("a <<E \\\nx\nE\n", {"*", "a x"}),
        ("a <<E $(b\n)\nE\n", {"*", "b", "a $(b\n)\nE\n"}),
        ("$(a <<E)\nE\n", {"*", "a", "$(a <<E)"}),
        ('a "`b \\"c\\"`"', {"*", 'b "c"', 'a `b \\"c\\"`'}),
        ('a "`b "c"`"', {"*", "b c", 'a `b "c"`'}),
        ("a `b \\`c\\``", {"*", "c", "b `c`", "a `b \\`c\\``"}),
        ("a $\\\n(b)", {"*", "a ", "b"}),
        ("A+=b a", {"a"}),
        # expansions that assign, compute or run
        ("a ${x:=b}", {"*", "a ${x:=b}"}),
        ("a ${x@P}", {"*", "a ${x@P}"}),
        ("a ${x:-'}'}", {"*", "a ${x:-'}}"}),
        ("a $((x))", {"*", "x", "a $((x))"}),
        # a program that is named by an expansion
        ("$x rm y", {"$x rm y", "rm y", "y"}),
        ("$(a) y", {"a", "$(a) y", "y"}),
        ("r? x", {"r? x", "x"}),
        ("~/a", {"~/a"}),
        ("{a,b}", {"{a,b}"}),
        ("''", {""}),
        # environment
        ("PATH=/x a", {"a"}),
        ("x=y a", {"a"}),
        ("env LD_PRELOAD=x a", {"env LD_PRELOAD=x a", "a"}),
        ("sudo PATH=x a", {"sudo PATH=x a", "a"}),
        ("export PATH=x; a", {"export PATH=x", "a"}),
        ("read PATH; a", {"read PATH", "a"}),
        ("read 'x[$(a)]'", {"read x[$(a)]", "*"}),
        ("printf -v PATH x; a", {"printf -v PATH x", "a"}),
        ("printf $x", {"printf $x", "*"}),
        ("test -v 'x[$(a)]'", {"test -v x[$(a)]", "*"}),
        ("set -- a", {"set -- a"}),
        ("set pipefail", {"set pipefail"}),
        # text that a shell reads
        ("eval a b", {"eval a b", "a b"}),
        ("eval -- 'a; b'", {"eval -- a; b", "a", "b"}),
        ('eval "$x"', {"eval $x", "*", "$x"}),
        (". ./a", {". ./a", "*"}),
        ("source a", {"source a", "*"}),
        ("alias a=b", {"alias a=b", "*"}),
        ("trap 'rm x' EXIT", {"trap rm x EXIT", "rm x EXIT", "EXIT", "rm x"}),
        ("trap $x EXIT", {"trap $x EXIT", "*", "$x EXIT", "EXIT", "$x"}),
        ("sh a", {"sh a", "*"}),
        ("a | sh", {"a", "sh", "*"}),
        ("sh -c", {"sh -c", "*"}),
        ("sh -s a", {"sh -s a", "-s a", "a", "*"}),
        ("sh + a", {"sh + a", "+ a", "a", "*"}),
        ("sh -c $x", {"sh -c $x", "$x", "*"}),
        ("sh $x", {"sh $x", "*"}),
        ("sh -o allexport -c a", {"sh -o allexport -c a", "a"}),
        ("zsh -c 'rm x'", {"zsh -c rm x", "rm x"}),
        ("xargs sh -c", {"xargs sh -c", "sh -c ", "*"}),
        ("watch $x", {"watch $x", "$x", "*"}),
        # wrappers
        ("sudo -Z rm x", {"sudo -Z rm x", "-Z rm x", "rm x", "x"}),
        ("sudo -u", {"sudo -u", "-u"}),
        ("sudo --user", {"sudo --user", "--user", "user"}),
        ("sudo -u $x rm", {"sudo -u $x rm", "-u $x rm", "$x rm", "rm", "$x"}),
        ("sudo $x rm", {"sudo $x rm", "$x rm", "rm"}),
        ("env LANG=$x rm", {"env LANG=$x rm", "LANG=$x rm", "rm"}),
        ("env - rm", {"env - rm", "- rm", "rm"}),
        ("env -S 'rm x'", {"env -S rm x", "-S rm x", "rm x", "*"}),
        ("timeout", {"timeout"}),
        ("timeout $x rm", {"timeout $x rm", "$x rm", "rm", "$x"}),
        ("time ! rm", {"time ! rm", "! rm", "rm", "*"}),
        ("time A=b rm", {"time A=b rm", "A=b rm", "rm", "*"}),
        ("ssh h 'rm x'", {"ssh h rm x", "h rm x", "rm x"}),
        ("su --command='rm x'", {"su --command=rm x", "--command=rm x", "rm x", "x"}),
        ("/lib64/ld-linux-x86-64.so.2 /bin/rm", {"/lib64/ld-linux-x86-64.so.2 /bin/rm", "/bin/rm"}),
        ("find . -exec rm {}", {"find . -exec rm {}", "rm {}"}),
        ("find $x -exec rm \\;", {"find $x -exec rm ;", "rm"}),
        ("find . -fprint f", {"find . -fprint f"}),
        # directories
        ("cd x && a >f", {"cd x", "a"}),
        ("cd x && ./a", {"cd x", "./a"}),
        ("pushd x; sh -c 'a >f'", {"pushd x", "sh -c a >f", "a"}),
        # characters
        ("a\0b", {"a\0b"}),
        ("a '\x1b[0m'", {"a \x1b[0m"}),
        ("a \ud800", {"a \ud800"}),
        ("a # \r rm", {"*", "a"}),
    ],
)
def test_a_line_that_is_not_understood_still_shows_its_commands(line: str, commands: set[str]) -> None:
    assert found(line) == commands


@rows("separator", [*"\r\v\f\x1c\x1d\x1e\x85\u2028\u2029\xa0\u3000"])
def test_a_separator_that_no_shell_knows_is_understood_inside_quotes_only(separator: str) -> None:
    assert argvs(f"a '{separator}' \"{separator}\"") == [f"a {separator} {separator}"]
    assert "*" in found(f"a{separator}b")


@rows(
    ("line", "uncertain"),
    [
        ("a b $x c", {2}),
        ('a "$x" "b"', {1}),
        ("a *.py '*.py' \\*.py", {1}),
        ("a ~ x:~/y b~", {1, 2}),
        ("a {b,c} {b c} {", {1, 2}),
        ("a [b] [ '['", {1}),
        ("a `b` $(c) <(d)", {1, 2, 3}),
        ("a x$((1))", {1}),
    ],
)
def test_words_that_may_expand_are_marked(line: str, uncertain: set[int]) -> None:
    parsed = parse_shell_line(line)
    assert parsed.understood
    assert parsed.commands[-1].uncertain == uncertain


def test_words_that_a_wrapper_fills_in_are_marked() -> None:
    assert parse_shell_line("xargs rm x").commands[-1] == SimpleCommand(("rm", "x", ""), frozenset({2}))
    assert parse_shell_line("xargs -I@ rm -@ y").commands[-1] == SimpleCommand(("rm", "-@", "y", ""), frozenset({1, 3}))
    assert parse_shell_line("find -exec rm ./{} x +").commands[-1].uncertain == {1}
    assert parse_shell_line("find -exec rm $x \\;").commands[-1].uncertain == {1}


@rows(
    ("line", "writes"),
    [
        ("a >f >>'g h' >|i <>j", ("f", "g h", "i", "j")),
        ("a &>f", ("f",)),
        ("a &>>f; b >&g", ("f", "g")),
        ("(a) >f; { b; } 2>g; >h", ("f", "g", "h")),
        ("a $(b >f) >g", ("f", "g")),
        ("sh -c 'a >f'", ("f",)),
        ("sudo a >/etc/f", ("/etc/f",)),
        ("cd /x; /bin/a >/y", ("/y",)),
    ],
)
def test_the_targets_of_output_redirections_are_writes(line: str, writes: tuple[str, ...]) -> None:
    parsed = parse_shell_line(line)
    assert parsed.understood
    assert parsed.writes == writes


def test_a_write_whose_target_expands_is_not_understood() -> None:
    assert not parse_shell_line("a >$x").understood
    assert parse_shell_line("a >$x").writes == ("$x",)
    assert not parse_shell_line("a &>~/x").understood


def test_a_command_has_its_own_redirections() -> None:
    assert parse_shell_line("a >f | b >g 2>h").commands == (
        SimpleCommand(("a",), redirects=("f",)),
        SimpleCommand(("b",), redirects=("g", "h")),
    )


def test_a_program_is_known_by_its_path_and_by_its_name() -> None:
    assert program_names(SimpleCommand(("/bin/rm", "x"))) == ("/bin/rm", "rm")
    assert program_names(SimpleCommand(("rm", "x"))) == ("rm",)


@rows(
    "name",
    ["LANG", "LC_ALL", "LC_CTYPE", "TZ", "NO_COLOR", "CI", "PYTHONUNBUFFERED", "CLAUDECODE", "GIT_TERMINAL_PROMPT"],
)
def test_a_harmless_variable_is_on_the_list(name: str) -> None:
    assert environment_is_harmless([name])


@rows(
    "name",
    [
        *("PATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "IFS", "BASH_ENV", "ENV", "PYTHONPATH", "NODE_OPTIONS"),
        *("PERL5OPT", "GIT_SSH_COMMAND", "GIT_PAGER", "PAGER", "EDITOR", "LC_", "LC_x", "lang", "LANG\n", "", "HOME"),
        "BASH_FUNC_ls%%",
    ],
)
def test_any_other_variable_is_not_harmless(name: str) -> None:
    assert not environment_is_harmless(["LANG", name])


@rows("value", ["/bin/sh", "/bin/bash", "/usr/bin/zsh", "/usr/local/bin/fish"])
def test_a_shell_of_the_machine_is_a_harmless_value(value: str) -> None:
    assert settings_are_harmless([("SHELL", value), ("LANG", "C")])
    assert not settings_are_harmless([("SHELL", value), ("PATH", value)])
    assert not environment_is_harmless(["SHELL"])


@rows("value", ["", "sh", "/opt/sh", "/bin/sh x", "/bin/../opt/sh", "/usr/bin/python", "/bin/sh\n", "./bin/sh"])
def test_any_other_shell_is_not_harmless(value: str) -> None:
    assert not settings_are_harmless([("SHELL", value)])


def test_no_variable_is_harmless() -> None:
    assert environment_is_harmless([])


# --- argvs


def test_an_argv_is_no_line() -> None:
    parsed = parse_argv(["echo", "$(rm x); *", "a\nb", "c\rd"])
    assert parsed.commands == (SimpleCommand(("echo", "$(rm x); *", "a\nb", "c\rd")),)
    assert parsed.understood
    assert parsed.writes == ()


@rows("argv", [[], [""], ["a", "\0"], ["a", "\udcff"], ["a", "x" * MAX_LINE], ["sh"], ["sudo", "-Z"]])
def test_an_argv_that_cannot_be_judged_is_not_understood(argv: list[str]) -> None:
    assert not parse_argv(argv).understood


# --- limits


def nested(opening: str, closing: str, inner: str = "rm x") -> Callable[[int], str]:
    return lambda count: opening * count + inner + closing * count


@rows(
    "nest",
    [
        nested("(", " )"),
        nested("( ", ")"),
        nested("{ ", "; }"),
        nested("a $(", ")"),
        nested('a "$(', ')"'),
        nested("a ${x:-", "}", "$(rm x)"),
        nested("sudo ", ""),
        nested("a <(", ")"),
    ],
)
def test_nesting_is_bounded(nest: Callable[[int], str]) -> None:
    assert "rm x" in {" ".join(command.words) for command in parse_shell_line(nest(MAX_NESTING - 2)).commands}
    assert ANY_COMMAND in parse_shell_line(nest(MAX_NESTING + 1)).commands
    assert not parse_shell_line(nest(MAX_LINE // 16)).understood


def test_the_length_is_bounded() -> None:
    assert parse_shell_line("a " + "x" * (MAX_LINE - 2)).understood
    assert parse_shell_line("a " + "x" * (MAX_LINE - 1)).commands == (ANY_COMMAND,)


def test_the_number_of_commands_is_bounded() -> None:
    def line(count: int) -> str:
        return ";".join(f"a {number}" for number in range(count))

    assert parse_shell_line(line(MAX_COMMANDS)).understood
    parsed = parse_shell_line(line(MAX_COMMANDS + 1))
    assert not parsed.understood
    assert parsed.commands[-1] == ANY_COMMAND
    assert len(parsed.commands) == MAX_COMMANDS + 1


def test_more_suffixes_than_are_tried_are_any_command() -> None:
    assert ANY_COMMAND not in parse_shell_line("ssh" + " x" * (MAX_SUFFIXES - 1)).commands
    assert ANY_COMMAND in parse_shell_line("ssh" + " x" * MAX_SUFFIXES).commands


def count_lines(action: Callable[[], object]) -> int:
    """How many lines of Python an action executes: time without a clock."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


UNITS = [
    *(
        "'",
        '"',
        "\\",
        "`",
        "$",
        "$(",
        "${",
        "((",
        "$((",
        "$((1",
        "(",
        ")",
        "{ ",
        "} ",
        "<",
        ">",
        "<<E ",
        "<<<",
        "<(",
        "\n",
    ),
    *(
        "#",
        "\\\n",
        "a ",
        "a;",
        "$x ",
        "sudo ",
        "sudo -Z ",
        "eval ",
        "eval 'a' ",
        "ssh ",
        "sh -c ",
        "sh -c '",
        "env -S ",
    ),
    *("xargs ", "find -exec ", "-exec ", "for x ", "case ", "if ", "[[ ", "\r", "~", "*", "'a'\"b\"", "A=b ", "-cx=y "),
    *("<<E\n", "$'", "${x:-", '"$(', '"`', "`a`", "$(a)", "2>f ", "&>f", "a ;; ", "ssh 'x y' ", "$x 'a;b' "),
]


def cost(unit: str, size: int) -> int:
    return count_lines(lambda: parse_shell_line((unit * size)[:size]))


@rows("unit", UNITS)
def test_time_is_linear(unit: str) -> None:
    small, large = cost(unit, 512), cost(unit, 2048)
    assert large < 6 * small + 500
    assert large < 12 * MAX_NESTING * 2048


@pytest.mark.long
@pytest.mark.parametrize(
    "unit", ["$x ", "sudo -Z ", "eval ", "a;", "`", "<<E ", "$((1", "ssh 'x y' ", "${x:-", "find -exec "]
)
def test_time_is_linear_up_to_the_limit(unit: str) -> None:
    assert cost(unit, MAX_LINE) < 12 * MAX_NESTING * MAX_LINE


# --- properties

WORDS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=12) | st.text(
    " \n\t'\"\\$`;&|()<>*?[]{}~#!=a"
)


@given(st.lists(WORDS))
@example(["-c", "rm x"])
def test_a_quoted_argv_comes_back_exactly(arguments: list[str]) -> None:
    argv = ("program", *arguments)
    parsed = parse_shell_line(shlex.join(argv))
    assert parsed.commands == (SimpleCommand(argv),)
    assert parsed.understood
    assert parse_argv(argv) == parsed


@given(st.lists(WORDS), st.sampled_from(["{}", "$({})", "a `true` && {}", "({})|b", "sudo {}", "if {}; then b; fi"]))
def test_a_command_is_found_wherever_it_stands(arguments: list[str], place: str) -> None:
    line = place.replace("{}", shlex.join(["rm", *arguments]))
    assert ("rm", *arguments) in [command.words for command in parse_shell_line(line).commands]


TOKENS = st.sampled_from([*UNITS, "a", "b", " ", "E", "fi", "done", "in", "1", "=", "-n", "é", "\0", "\ud800"])


@given(st.text() | st.lists(TOKENS).map("".join))
def test_no_text_raises(line: str) -> None:
    parsed = parse_shell_line(line)
    assert parsed.understood in (True, False)
    assert parsed.understood <= (ANY_COMMAND not in parsed.commands)
    assert all(command.words for command in parsed.commands)


@given(st.lists(st.text() | TOKENS))
def test_no_argv_raises(argv: list[str]) -> None:
    parsed = parse_argv(argv)
    assert not argv or parsed.commands[0].words == tuple(argv)
