"""Lines for a shell in which a denied program hides, or in which more runs than what a rule allows.

Each line is asked about and then run as a terminal, whatever was answered.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.hostile.hand import Hand
from tests.hostile.registry import trick

DENIED_RM = ("deny execute:rm *", "deny edit:secret/**", "allow all")
ALLOWED_ECHO = ("allow execute:echo *",)


def line_of(line: str) -> Callable[[Hand], object]:
    def play(hand: Hand) -> None:
        hand.permission({"kind": "execute", "title": "list the files", "rawInput": {"command": line}})
        hand.terminal("bash", "-c", line)

    return play


HIDDEN = {
    "semicolon": ("after a semicolon", "ls;rm a.txt"),
    "and": ("after an and", "true && rm a.txt"),
    "or": ("after an or", "false || rm a.txt"),
    "pipe": ("behind a pipe", "echo a.txt | xargs rm"),
    "pipe-error": ("behind a pipe of both streams", "ls |& rm a.txt"),
    "background": ("after a command in the background", "sleep 0 & rm a.txt"),
    "newline": ("on a second line", "ls\nrm a.txt"),
    "substitution": ("in a substitution", "echo $(rm a.txt)"),
    "backticks": ("in backticks", "echo `rm a.txt`"),
    "quoted-substitution": ("in a substitution inside quotes", 'echo "x $(rm a.txt) y"'),
    "process-substitution": ("in a process substitution", "cat <(rm a.txt)"),
    "default": ("in the default of a variable", "echo ${x:-$(rm a.txt)}"),
    "arithmetic": ("in an arithmetic expression", "echo $((1 + $(rm a.txt; echo 1)))"),
    "here-document": ("in a document for a shell", "sh <<END\nrm a.txt\nEND"),
    "here-string": ("in a string for a shell", "sh <<< 'rm a.txt'"),
    "here-expansion": ("in the expansion of a document", "cat <<END\n$(rm a.txt)\nEND"),
    "assignment": ("behind an assignment", "X=1 rm a.txt"),
    "assigned": ("in an assignment", "x=$(rm a.txt)"),
    "sh-c": ("in another shell's line", "sh -c 'rm a.txt'"),
    "nested-shells": ("in a shell in a shell", "sh -c \"bash -c 'rm a.txt'\""),
    "eval": ("in an eval", "eval 'r''m a.txt'"),
    "exec": ("behind exec", "exec rm a.txt"),
    "command": ("behind command", "command rm a.txt"),
    "env": ("behind env", "env -i PATH=/bin:/usr/bin rm a.txt"),
    "env-split": ("in a word that env splits", "env -S 'rm a.txt'"),
    "sudo": ("behind sudo", "sudo -u nobody rm a.txt"),
    "nice": ("behind two wrappers", "nice -n 5 timeout 5 rm a.txt"),
    "time": ("behind time", "time rm a.txt"),
    "bang": ("behind a negation", "! rm a.txt"),
    "coproc": ("in a coprocess", "coproc rm a.txt; wait"),
    "absolute": ("by its path", "/bin/rm a.txt"),
    "dots": ("by a path with dots", "/bin/../bin/rm a.txt"),
    "backslash": ("behind a backslash", "\\rm a.txt"),
    "quotes": ("with quotes in its name", "r''m a.txt"),
    "ansi-quotes": ("in escapes of its letters", "$'\\x72\\x6d' a.txt"),
    "continuation": ("across two lines", "r\\\nm a.txt"),
    "variable": ("in a variable", "p=rm; $p a.txt"),
    "ifs": ("with separators from a variable", "rm${IFS}a.txt"),
    "braces": ("in braces", "{rm,a.txt}"),
    "glob": ("as a pattern of files", "/bin/r? a.txt"),
    "comment": ("behind a comment", "ls # nothing\nrm a.txt"),
    "if": ("in a condition", "if true; then rm a.txt; fi"),
    "for": ("in a loop", "for f in a.txt; do rm $f; done"),
    "case": ("in a case", "case x in x) rm a.txt;; esac"),
    "function": ("in a function", "f() { rm a.txt; }; f"),
    "subshell": ("in a shell below", "(cd . && rm a.txt)"),
    "alias": ("as an alias", "shopt -s expand_aliases\nalias l='rm'\nl a.txt"),
    "trap": ("in a trap", "trap 'rm a.txt' EXIT"),
    "find": ("in what find runs", "find . -name a.txt -exec rm {} +"),
    "double-dash": ("with dashes before its argument", "rm -- a.txt"),
    "writes-denied": ("no, but a denied file behind an arrow", "echo x > secret/key"),
    "appends-denied": ("no, but a denied file through a link behind an arrow", "echo x >> link/key"),
    "clobbers-denied": ("no, but a denied file behind an arrow that insists", "echo x >| ./secret//key"),
    "tee-denied": ("no, but a denied file that the shell opens for both", "echo x 1<> secret/key"),
}
for _name, (_says, _line) in HIDDEN.items():
    trick(f"rm-{_name}", f"hides a denied program {_says}", line_of(_line), rules=DENIED_RM, counts=(0, 1, 0))

MORE = {
    "semicolon": ("after a semicolon", "echo x; touch made"),
    "newline": ("on a second line", "echo x\ntouch made"),
    "carriage-return": ("behind a carriage return", "echo x\rtouch made"),
    "substitution": ("in an argument", "echo $(touch made)"),
    "pipe": ("behind a pipe", "echo touch made | sh"),
    "background": ("beside it", "echo x & touch made"),
    "redirected": ("as a file behind an arrow", "echo x > made"),
    "path": ("as another program of its name", "./echo made"),
    "assignment": ("by a changed PATH", "PATH=. echo made"),
    "function": ("as a function of its name", "echo() { touch made; }; echo x"),
    "look-alike": ("as a program of a name that looks alike", "\u0435cho made"),
    "no-break-space": ("as a program with a blank in its name", "echo\u00a0x made"),
    "program-variable": ("in a variable that its shell reads", "BASH_ENV=x echo made"),
    "too-long": ("at the end of a line of a hundred thousand letters", "echo " + "x" * 100_000 + "; touch made"),
    "too-deep": ("below hundreds of substitutions", "echo " + "$(echo " * 300 + "x" + ")" * 300 + "; touch made"),
    "control": ("behind an escape sequence", "echo x\x1b[2K; touch made"),
}
for _name, (_says, _line) in MORE.items():
    trick(
        f"more-{_name}",
        f"runs more than an allowed program, {_says}",
        line_of(_line),
        rules=ALLOWED_ECHO,
        counts=(2, 0, 0),
    )

trick(
    "more-nothing", "runs exactly an allowed program", line_of("echo 'x; touch made' \"#\" a\\ b"),
    rules=ALLOWED_ECHO, granted=("permission", "terminal"), status=0,
)  # fmt: skip
