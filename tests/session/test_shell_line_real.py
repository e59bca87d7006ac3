"""Shell lines under a real shell: what it ran is among the commands found, and what it wrote among the writes.

Random lines run under `dash` and `bash` in a folder of their own, with a `PATH` of recording programs and few wrappers.
"""

from __future__ import annotations

import os
import random
import re
import select
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from accord.session.shell_line import ShellLine, SimpleCommand, parse_shell_line, program_names
from tests.limits import limit

SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]
WRAPPERS = ("env", "nice", "nohup", "sh", "timeout", "xargs", "find", "setsid", "stdbuf")
BATCH = 50
TIMEOUT_SECONDS = limit(60)

# Each program writes its argv to $LOG, by one write, and says something that a shell or xargs could run.
STUB = '#!/bin/sh\nprintf \'%s\\036\' "${0##*/}" "$@" \'\035\' >>"$LOG"\necho c out\n'
# No line ends a loop or a batch: the limit on processor time ends what would not end by itself.
DRIVER = """\
ulimit -t 10
number=0
shell=$1
shift
for line in "$@"; do
    number=$((number + 1))
    mkdir "$number"
    (cd "$number" && LOG=$LOGS/$number exec "$shell" -c "$line") </dev/null >/dev/null 2>&1
done
"""

PIECES = (
    *("a", "b", "c", "a", "b", "c", "x", "y", "a x", "b 'x y'", 'c "x  y"', "-n", "\\a", "'b'", 'c""', "A=b", "LANG=C"),
    *(";", "&", "&&", "||", "|", "|&", "\n", "(", ")", "{", "}", "!", ";", "|", "\n", "{ ", "; }", "( a", "a )", ";;"),
    *(">f", "> g", ">>h", "2>&1", "2>i", ">&2", ">|j", "<f", "<>k", "&>l", "&>>m", ">", "<", "12>n", ">&o", "<&1", "2"),
    *("$(a x)", '"$(b y)"', "`c z`", '"`a x`"', "$(", "`", "$V", '"$V"', "${V}", "${V:-a}", "${V:-$(b)}", "${V#a}"),
    *("'", '"', "\\", "\\\n", " \\\n", "#", " # b", "$'a'", "$'\\x61'", '$"a"', "$", "$(( 1 + 2 ))", "$((V))", "$["),
    *(
        "*",
        "?",
        "[a]",
        "~",
        "{a,b}",
        "{}",
        "{",
        "x{}",
        "[",
        "]",
        "<(a)",
        ">(b)",
        "${V:=a}",
        "$1",
        '"$@"',
        "$?",
        "é",
        "\t",
    ),
    *("<<E", "<<'E'", "<<-E", "<<E\n", "\nE\n", "\nE", "<<<", "E", "$(b", "\n\tE\n", "\\E", "<<\\E"),
    *(
        "if",
        "then",
        "fi",
        "for x in a b",
        "do",
        "done",
        "; do",
        "; done",
        "case",
        "in",
        "esac",
        "a)",
        "else",
        "[[",
        "]]",
    ),
    *("env", "env A=b", "env LANG=C", "env -i", "env -S", "nice", "nice -n 1", "nohup", "timeout 5", "timeout -k 1 5"),
    *("sh", "sh -c", "sh -ec", "sh -c 'a x; b'", "sh -c -- 'c y'", "xargs", "xargs b", "xargs -I{} c {}", "xargs -n1"),
    *(
        "eval",
        "eval 'a;b'",
        "command",
        "command -v",
        "exec",
        "time",
        "time -p",
        "trap 'a x' EXIT",
        "setsid",
        "stdbuf -oL",
    ),
    *(
        "find . -exec a {} \\;",
        "find . -exec b {} +",
        "sh -c '\"$@\"' x",
        "export",
        "set -e",
        "set -f",
        "set --",
        "test",
    ),
)
COMMAND_WRAPPERS = (
    *(
        "env",
        "env LANG=C",
        "LANG=C",
        "nice",
        "nice -n 1",
        "nohup",
        "timeout 5",
        "xargs",
        "xargs -n1",
        "exec",
        "command",
    ),
    *("!", "(", "{", "if", "time", "find . -maxdepth 0 -exec", "eval", "setsid", "stdbuf -oL", "env nice", "2>f", ">g"),
)
ARGUMENTS = (
    *(
        "x",
        "'x y'",
        '"x  y"',
        "\\;",
        "''",
        "x'y'\"z\"",
        "-n",
        "--",
        "$V",
        '"$V"',
        "$(a x)",
        '"$(b y; c)"',
        "`c z`",
        "*",
    ),
    *("~", "{x,y}", "{}", ">f", "2>&1", "2>g", ">>h", "<f", "<<E\nx $(a i)\nE\n", "<<'E'\n$(b j)\nE\n", "${V:-$(c k)}"),
    *(
        "x#y",
        "# z\n",
        "\\\n",
        '"$(echo "$(a l)")"',
        "$((1 + 2))",
        "&>k",
        '"a\nb"',
        "<(b m)",
        "\\$x",
        '"\\$(a)"',
        "'$(a)'",
    ),
)
CONNECTIONS = (
    *(*(" ; ", ";", " & ", "&&", " || ", "|", "\n", " |& ") * 3, "", ""),
    *(" ) ", " ; } ", " ; then ", " ; fi ", " \\; ", " + "),
)
# Lines that tell readings apart; each was wrong in some program that takes lines apart.
LINES = (
    "a() { b x; }; a",
    "a () (c y)\na",
    "a\\\n b",
    "a &>f b",
    "a 12>f",
    "a 2>f",
    "a >&f",
    "cat <<E; b\n$(a x)\nE\nc y",
    "a <<E\nx\\\nE\nb\nE\nc",
    "a <<'E'\n$(b x)\nE\nc",
    "a <<E $(b\nc\n)\nx\nE\n",
    "(a <<E); b\n$(c x)\nE\na y",
    "a <<-E\n\tx\n\tE\nb",
    "echo $(case x in x) a;; esac)",
    "echo \"$(case x in x) a 'y';; esac)\"",
    "echo $((1 << 2)); a\n2\nb",
    "LANG='v[$(a x)]'; echo $((LANG))",
    "V='v[$(a x)]'; echo ${LANG:V}",
    "time a; time { b; }; time ! c",
    "V=a; $V x",
    "$(a) | b",
    "a | sh",
    "sh <<E\na x\nE",
    "for x in a b; do $x y; done",
    "if a; then b; else c; fi",
    "a $'x\\'; b; '",
    'a "`b \\"x\\"`"',
    "a `b \\`c\\``",
    "! a && { b; } || (c)",
    "exec a x >f",
    "a;b&c",
    "a 2>&1>f",
    "a {x,y} {} x{}",
    "[[ -f a ]] || b",
    "[[ 'v[$(a x)]' -eq 0 ]]",
    "[ -v 'v[$(a x)]' ]",
    "printf -v 'v[$(a x)]' b",
    "a <(b x) | c",
    "alias x='a y'\nx",
    "trap 'a x' EXIT",
    'set -- a x; "$@"',
    'eval "$(a)"',
    "export LANG=C; a",
    "a # b\nc",
    "a#b; c",
    "{ a; } >f 2>g; b",
    "${V:-a} x",
    "a ${V:-`b x`}",
    "a ${V:-'}'; b '}",
    "sh -c 'a $1' b c",
    "sh -c",
    "sh -co pipefail 'a x'",
    "sh -c - 'a x'",
    "sh + -c 'a x'",
    "env -S 'a x'",
    "env - a",
    "echo x | xargs a",
    "echo x | xargs sh -c",
    "echo x | xargs -I{} -n1 a {}",
    "echo a | xargs -I{} {} y",
    "find . -maxdepth 0 -exec a {} \\; -exec b x \\;",
    "find . -maxdepth 0 -exec sh -c 'a \"$1\"' x {} \\;",
    "timeout 5 nice -5 env LANG=C a x",
    "a <<E <<F\n$(b x)\nE\n$(c y)\nF\na z",
    "a\r\nb",
    "$\\\n(a x)",
    '"$\\\n(a x)"',
    "a >\\\n>f",
    "a <\\\n<E\nb\nE\nc",
    "i\\\nf a; then b; fi",
    "coproc a x; wait",
    "select x in a; do b; done",
    "function f { a x; }; f",
    "for x do a; done; b",
    "for ((i = 0; i < 2; i++)); do a; done",
    "((1 << 2))\na\n2",
    'v=(a b); "${v[@]}"',
    "${ a x; }",
    "echo ${LANG@P}",
    'hash -p "$(command -v a)" zzz; zzz',
    "command eval a x",
    "builtin eval a x",
    ". ./f",
    "a > f > g",
    "2>f",
    "a 2>f3",
    "a >f#b",
    "~/bin/a; ~+/a",
)


def make_place(folder: Path) -> dict[str, str]:
    """The programs, and the environment in which lines run."""
    for name in ("bin", "logs", "home"):
        (folder / name).mkdir()
    for name in ("a", "b", "c"):
        (folder / "bin" / name).write_text(STUB, encoding="utf-8")
        (folder / "bin" / name).chmod(0o755)
    for name in WRAPPERS:
        if path := shutil.which(name):
            (folder / "bin" / name).symlink_to(path)
    (folder / "driver").write_text(DRIVER, encoding="utf-8")
    return {"PATH": str(folder / "bin"), "HOME": str(folder / "home"), "LOGS": str(folder / "logs")}


def run_lines(folder: Path, shell: str, lines: Sequence[str]) -> list[tuple[list[list[str]], set[str]]]:
    """For each line the argvs that ran and the files that were made, when the last of its processes has ended."""
    environment = make_place(folder)
    environment["PATH"] += f":{folder}/tools"
    (folder / "tools").mkdir()
    (folder / "tools" / "mkdir").symlink_to(shutil.which("mkdir") or "/bin/mkdir")
    driver = (folder / "driver").read_text(encoding="utf-8").replace("exec ", f"PATH={folder}/bin exec ")
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [shutil.which("sh") or "/bin/sh", "-c", driver, "driver", str(shutil.which(shell)), *lines],
        cwd=folder / "home",
        env=environment,
        pass_fds=[writing],
        start_new_session=True,
    )
    os.close(writing)
    # The pipe ends with the last process that inherited it, also one in the background.
    ready, _, _ = select.select([reading], [], [], TIMEOUT_SECONDS)
    os.close(reading)
    if not ready:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(TIMEOUT_SECONDS)
    assert ready, lines
    results = []
    for number in range(1, len(lines) + 1):
        log = folder / "logs" / str(number)
        records = log.read_text(encoding="utf-8").split("\x1e\x1d\x1e")[:-1] if log.exists() else []
        made = {path.name for path in (folder / "home" / str(number)).iterdir()}
        results.append(([record.split("\x1e") for record in records], made))
    return results


def could_be(command: SimpleCommand, argv: Sequence[str]) -> bool:
    """Whether the command could have this argv: an uncertain word is any words, also none."""
    pattern = "".join(
        "(?:[^\x1e]*\x1e)*" if index in command.uncertain else re.escape(word) + "\x1e"
        for index, word in enumerate((program_names(command)[-1], *command.words[1:]))
    )
    return re.fullmatch(pattern, "".join(word + "\x1e" for word in argv)) is not None


def check_line(shell: str, line: str, parsed: ShellLine, ran: list[list[str]], made: set[str]) -> None:
    missed = [argv for argv in ran if not any(could_be(command, argv) for command in parsed.commands)]
    assert not missed, f"{shell} -c {line!r} ran {missed}, which is not among {parsed}"
    if parsed.understood:
        assert made <= set(parsed.writes), f"{shell} -c {line!r} wrote {made}, which is not in {parsed}"


def check_lines(folder: Path, shell: str, lines: Sequence[str]) -> int:
    """How many of the lines were understood and ran something."""
    telling = 0
    for start in range(0, len(lines), BATCH):
        batch = lines[start : start + BATCH]
        place = folder / str(start)
        place.mkdir()
        for line, (ran, made) in zip(batch, run_lines(place, shell, batch), strict=True):
            parsed = parse_shell_line(line)
            check_line(shell, line, parsed, ran, made)
            telling += parsed.understood and bool(ran)
        shutil.rmtree(place)
    return telling


def random_pieces(source: random.Random) -> str:
    """Anything behind anything."""
    pieces = source.choices(PIECES, k=source.randint(2, 9))
    return "".join(piece + source.choice(("", " ", " ", " ")) for piece in pieces)


def random_commands(source: random.Random) -> str:
    """Commands and operators in turn, so that more of the lines are no errors."""
    line = ""
    for _ in range(source.randint(1, 4)):
        wrapper = source.choice(("", "", "", *COMMAND_WRAPPERS))
        arguments = source.choices(ARGUMENTS, k=source.randint(0, 3))
        line += " ".join([wrapper, source.choice("abc"), *arguments]) + source.choice(CONNECTIONS)
    return line


def random_lines(seed: int, count: int) -> list[str]:
    source, lines = random.Random(seed), list[str]()
    while len(lines) < count:
        line = source.choice((random_pieces, random_commands, random_commands))(source)
        # A function that calls itself would not end.
        if not re.search(r"\(\s*\)", line):
            lines.append(line)
    return lines


@pytest.mark.parametrize("shell", SHELLS)
def test_what_a_shell_runs_of_a_telling_line_is_found(shell: str, tmp_path: Path) -> None:
    assert check_lines(tmp_path, shell, LINES) > 10


@pytest.mark.parametrize("shell", SHELLS)
def test_what_a_shell_runs_of_a_random_line_is_found(shell: str, tmp_path: Path) -> None:
    assert check_lines(tmp_path, shell, random_lines(12, 120)) > 10


@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.parametrize("shell", SHELLS)
def test_what_a_shell_runs_of_thousands_of_random_lines_is_found(shell: str, tmp_path: Path) -> None:
    assert check_lines(tmp_path, shell, random_lines(5, 2500)) > 200
