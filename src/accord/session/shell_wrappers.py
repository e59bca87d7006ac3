"""Programs that run other commands (`sudo`, `env`, `xargs`, `sh -c`, `find -exec`, …): the commands in their argv.

`unwrap` looks one level deep and returns the argvs and shell lines inside; its caller unwraps those in turn. Each
wrapper has a table of the options that change nothing about what it runs. Any other option is not understood: then
each later word may be the first one of a command.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = [
    "MAX_SUFFIXES",
    "Argv",
    "Inner",
    "ShellOptions",
    "Wrapper",
    "any_suffix",
    "name_set",
    "program_name",
    "unwrap",
]


@dataclass(frozen=True, slots=True)
class Argv:
    """The words of a command, and which of them may expand to something else."""

    words: tuple[str, ...]
    uncertain: frozenset[int]

    def rest(self, start: int) -> "Argv":
        return Argv(self.words[start:], frozenset(index - start for index in self.uncertain if index >= start))


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The options of a program that runs the rest of its argv, as far as they change nothing about what it runs."""

    flags: str = ""
    valued: str = ""
    long_flags: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    operands: int = 0
    """How many operands stand before the command, such as the duration of `timeout`."""
    assignments: bool = False
    """Whether `NAME=value` may stand before the command."""


def name_set(text: str) -> frozenset[str]:
    """The names in a text, which are separated by blanks."""
    return frozenset(text.split())


@dataclass(slots=True)
class ShellOptions:
    """The options of a wrapper; `end` is the index behind its operands, None where something is not understood."""

    end: int | None
    values: dict[str, str] = field(default_factory=dict)


def read_options(argv: Argv, wrapper: Wrapper) -> ShellOptions:
    """Read the options and operands that stand before the command; abbreviated names are not known."""
    options, index, words = ShellOptions(None), 1, argv.words
    while index < len(words) and index not in argv.uncertain and words[index].startswith("-"):
        if words[index] == "--":
            index += 1
            break
        read = _read_long if words[index].startswith("--") else _read_short
        used = read(words[index], words[index + 1 : index + 2], wrapper, options.values)
        if used == 0 or (used > 1 and index + 1 in argv.uncertain):
            return options
        index += used
    end = index + wrapper.operands
    if argv.uncertain.isdisjoint(range(index, end)) and end <= len(words):
        options.end = end
    return options


def _read_long(word: str, following: tuple[str, ...], wrapper: Wrapper, values: dict[str, str]) -> int:
    """How many words the option takes; 0 if it is not known."""
    name, equals, value = word[2:].partition("=")
    if name in wrapper.long_flags and not equals:
        values[name] = ""
        return 1
    if name not in wrapper.long_valued or not (equals or following):
        return 0
    values[name] = value if equals else following[0]
    return 1 if equals else 2


def _read_short(word: str, following: tuple[str, ...], wrapper: Wrapper, values: dict[str, str]) -> int:
    """How many words the cluster of options takes; 0 if one of them is not known."""
    for place, letter in enumerate(word[1:], 2):
        if letter in wrapper.valued:
            attached = word[place:]
            values[letter] = attached or "".join(following)
            return 1 if attached else 2 * len(following)
        if letter not in wrapper.flags:
            return 0
        values[letter] = ""
    return int(word != "-")


MAX_SUFFIXES = 32


@dataclass(slots=True)
class Inner:
    """The commands and lines that a command runs besides itself."""

    commands: list[tuple[tuple[str, ...], frozenset[int]]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Variables that it sets."""
    understood: bool = True
    anything: bool = False
    """It runs commands that are not written here."""

    def add(self, argv: Argv) -> None:
        """An argv that is run; nothing if it has no words."""
        if argv.words:
            self.commands.append((argv.words, argv.uncertain))

    def add_line(self, argv: Argv) -> None:
        """The words, joined by blanks, are a line for a shell."""
        self.lines.append(" ".join(argv.words))
        if argv.uncertain:
            self.unknown()

    def unknown(self) -> None:
        """It runs something that is not written here."""
        self.understood, self.anything = False, True

    def add_suffixes(self, argv: Argv) -> None:
        """Each later word may begin a command or be a line, also as the value of an option."""
        self.understood = False
        if len(argv.words) > MAX_SUFFIXES:
            self.anything = True  # all suffixes of a long line would be quadratic in it
            return
        for index, word in enumerate(argv.words[1:], 1):
            self.add(argv.rest(index))
            if not _SHELL_CHARACTERS.isdisjoint(word):
                self.lines.append(word)
            if word.startswith("-"):
                self.lines.extend(value for value in {word[2:], word.partition("=")[2]} if value)


_WRAPPERS = {
    "sudo": Wrapper(
        "nHkbS", "ugp", name_set("non-interactive set-home"), name_set("user group prompt"), assignments=True
    ),
    "doas": Wrapper("n", "u"),
    "env": Wrapper("0v", "", name_set("null debug"), assignments=True),
    "nice": Wrapper("0123456789", "n", frozenset(), name_set("adjustment")),
    "ionice": Wrapper("t", "cn", name_set("ignore"), name_set("class classdata")),
    "chrt": Wrapper("bfriov", "", name_set("batch fifo rr idle other verbose"), operands=1),
    "taskset": Wrapper("c", "", name_set("cpu-list"), operands=1),
    "nohup": Wrapper(),
    "setsid": Wrapper("cfw", "", name_set("ctty fork wait")),
    "time": Wrapper("p"),
    "timeout": Wrapper(
        "v", "ks", name_set("foreground preserve-status verbose"), name_set("kill-after signal"), operands=1
    ),
    "stdbuf": Wrapper("", "ioe", frozenset(), name_set("input output error")),
    "unbuffer": Wrapper("p"),
    "strace": Wrapper("fqvtTryCc", "es"),
    "ltrace": Wrapper("fSc", "esn"),
    "exec": Wrapper("cl", "a"),
    "command": Wrapper("pvV"),
    "builtin": Wrapper(),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "flock": Wrapper(
        "sxeuno",
        "wE",
        name_set("shared exclusive unlock nonblock nb close"),
        name_set("wait timeout conflict-exit-code"),
        operands=1,
    ),
    "watch": Wrapper("dtbegcx", "n", name_set("no-title beep errexit chgexit color exec"), name_set("interval")),
    "xargs": Wrapper(
        "0rtx",
        "nPLsdEaI",
        name_set("null no-run-if-empty verbose exit"),
        name_set("max-args max-procs max-lines max-chars delimiter arg-file"),
    ),
}
# Their options are too many, or another shell parses their arguments: never understood.
_LOOSE = name_set(
    "ssh mosh rsh autossh sshpass su runuser newgrp sg pkexec gosu su-exec setpriv chroot unshare nsenter bwrap proot "
    "firejail fakeroot setarch linux32 linux64 i386 x86_64 arch prlimit numactl chpst setuidgid softlimit runcon "
    "systemd-run start-stop-daemon daemonize tini dumb-init at batch crontab expect screen tmux script dtach parallel "
    "entr rlwrap hyperfine perf valgrind gdb lldb caffeinate dbus-run-session xvfb-run torsocks torify proxychains "
    "proxychains4 faketime cpulimit jobs"
)
_LOADERS = ("ld-linux", "ld-musl", "ld.so", "ld64.so")
_SHELLS = name_set("sh bash dash ash rbash")
_OTHER_SHELLS = name_set("zsh ksh ksh93 mksh lksh oksh yash posh fish csh tcsh elvish nu pwsh")
_SHELL_FLAGS = frozenset("ceuxlfvC")
_SET_OPTIONS = name_set("errexit nounset xtrace noglob noclobber verbose pipefail")
# Builtins that give a variable a value or change how the shell reads what follows.
_STATEFUL = name_set("readonly read getopts unset shopt unalias local setopt unsetopt emulate")
# Builtins that run a file, a string or a function which is not written in the line, or can.
_RUNS_UNWRITTEN = name_set(
    ". source alias enable hash fc bind complete compgen compopt mapfile readarray declare typeset let coproc"
)
_RESERVED = name_set("if then else elif fi while until do done for select case esac function coproc [[ { } !")
_SHELL_CHARACTERS = frozenset(" \t\n;&|()<>$`'\"\\")


def program_name(word: str) -> str:
    """The name of a program without its directory; lower case, as some file systems ignore case."""
    return word.rsplit("/", 1)[-1].lower()


def any_suffix(words: tuple[str, ...], uncertain: frozenset[int]) -> Inner:
    """Every command that may begin behind the first of `words`."""
    inner = Inner()
    inner.add_suffixes(Argv(words, uncertain))
    return inner


def unwrap(words: tuple[str, ...], uncertain: frozenset[int]) -> Inner:
    """The commands that the simple command `words` runs; none for a program that is no wrapper."""
    argv, inner, name = Argv(words, uncertain), Inner(), program_name(words[0])
    if 0 in uncertain or name in _LOOSE or name.startswith(_LOADERS):
        inner.add_suffixes(argv)
    elif name in _SPECIAL:
        _SPECIAL[name](argv, inner)
    elif name in _SHELLS or name in _OTHER_SHELLS:
        _unwrap_shell(argv, inner)
        inner.understood &= name in _SHELLS
    elif name in _WRAPPERS:
        _unwrap_by_table(argv, inner)
    elif name in _RUNS_UNWRITTEN:
        inner.unknown()
    elif name in _STATEFUL:
        inner.understood = False
        _look_for_subscripts(argv, inner)
    return inner


# --- wrappers


def _command_of(argv: Argv, inner: Inner) -> tuple[Argv, dict[str, str]]:
    """The words behind the options, operands and assignments of a wrapper; none where they are not understood."""
    name = program_name(argv.words[0])
    wrapper = _WRAPPERS[name]
    options = read_options(argv, wrapper)
    index = options.end
    while wrapper.assignments and index is not None and index < len(argv.words) and "=" in argv.words[index]:
        inner.names.append(argv.words[index].partition("=")[0])
        index = None if index in argv.uncertain else index + 1
    if index is None:
        inner.add_suffixes(argv)
        return argv.rest(len(argv.words)), options.values
    return argv.rest(index), options.values


def _unwrap_by_table(argv: Argv, inner: Inner) -> None:
    command, values = _command_of(argv, inner)
    name, first = program_name(argv.words[0]), "".join(command.words[:1])
    if name == "command" and not values.keys().isdisjoint("vV"):
        return  # it only says what would run
    if first in _RESERVED or (name == "time" and "=" in first):
        inner.add_suffixes(argv)  # `time` is a keyword in bash: a compound command or an assignment may follow
        inner.unknown()
    inner.add(command)


def _unwrap_env(argv: Argv, inner: Inner) -> None:
    _unwrap_by_table(argv, inner)
    if not inner.understood and any(word.startswith("-") and ("S" in word or word[:3] == "--s") for word in argv.words):
        inner.unknown()  # `-S` splits a string into an argv by rules of its own


def _unwrap_shell(argv: Argv, inner: Inner) -> None:
    index, has_line, words = 1, False, argv.words
    while index < len(words) and index not in argv.uncertain and words[index][:1] in ("-", "+"):
        word = words[index]
        index += 1
        if word in ("--", "-"):
            break
        if word in ("--posix", "--norc", "--noprofile"):
            continue
        takes_name = word.endswith("o")
        if not _SHELL_FLAGS.issuperset(word[1:].removesuffix("o")) or word == "+" or word.startswith("+c"):
            inner.add_suffixes(argv)
            inner.unknown()
            return
        has_line |= "c" in word
        if takes_name:
            inner.understood &= index not in argv.uncertain and "".join(words[index : index + 1]) in _SET_OPTIONS
            index += 1
    if has_line and index < len(words):
        inner.add_line(Argv((words[index],), argv.uncertain & {index}))
    else:
        inner.unknown()  # a script, or the standard input


def _unwrap_xargs(argv: Argv, inner: Inner) -> None:
    command, values = _command_of(argv, inner)
    words, uncertain = command.words, command.uncertain
    if not words:
        return
    replaced = values.get("I")
    found = {index for index, word in enumerate(words) if replaced is not None and replaced in word}
    # Also with `-I`, as a later `-n` or `-L` turns that off: words of the input may follow.
    inner.add(Argv((*words, ""), uncertain | found | {len(words)}))


def _unwrap_watch(argv: Argv, inner: Inner) -> None:
    command, values = _command_of(argv, inner)
    if "x" in values or "exec" in values:
        inner.add(command)
    elif command.words:
        inner.add_line(command)


def _unwrap_flock(argv: Argv, inner: Inner) -> None:
    command, _ = _command_of(argv, inner)
    if command.words[:1] in (("-c",), ("--command",)):
        inner.add_line(command.rest(1))
    else:
        inner.add(command)


def _unwrap_find(argv: Argv, inner: Inner) -> None:
    words, index = argv.words, 1
    inner.understood = not argv.uncertain and not any(word.startswith(("-fprint", "-fls")) for word in words)
    while index < len(words):
        start = index + 1
        index += 1
        if words[start - 1] not in ("-exec", "-execdir", "-ok", "-okdir"):
            continue
        while index < len(words) and not (words[index] == ";" or words[index - 1 : index + 1] == ("{}", "+")):
            index += 1
        inner.understood &= index < len(words)
        command = words[start:index]
        found = {place for place, word in enumerate(command) if "{}" in word or start + place in argv.uncertain}
        inner.add(Argv(command, frozenset(found)))


# --- builtins of a shell


def _unwrap_eval(argv: Argv, inner: Inner) -> None:
    inner.understood = False
    inner.add_line(argv.rest(2 if argv.words[1:2] == ("--",) else 1))


def _unwrap_trap(argv: Argv, inner: Inner) -> None:
    inner.add_suffixes(argv)
    if argv.uncertain:
        inner.unknown()


def _unwrap_set(argv: Argv, inner: Inner) -> None:
    words = argv.words[1:]
    for index, word in enumerate(words):
        flags = word[:1] in ("-", "+") and _SHELL_FLAGS.issuperset(word[1:].removesuffix("o")) and "c" not in word
        names = index > 0 and words[index - 1].endswith("o") and word in _SET_OPTIONS
        inner.understood &= (flags or names) and index + 1 not in argv.uncertain


def _look_for_subscripts(argv: Argv, inner: Inner) -> None:
    """Where a builtin takes the name of a variable, bash evaluates its subscript, which may hold a substitution."""
    if argv.uncertain or any("[" in word for word in argv.words[1:]):
        inner.unknown()


def _unwrap_export(argv: Argv, inner: Inner) -> None:
    _look_for_subscripts(argv, inner)
    inner.names.extend(word.partition("=")[0] for word in argv.words[1:])


def _unwrap_printf(argv: Argv, inner: Inner) -> None:
    if 1 in argv.uncertain or any(word.startswith("-v") for word in argv.words[1:2]):
        inner.understood = False
        _look_for_subscripts(argv, inner)


def _unwrap_test(argv: Argv, inner: Inner) -> None:
    if not {"-v", "-R"}.isdisjoint(argv.words):
        inner.understood = False
        _look_for_subscripts(argv, inner)


_SPECIAL: dict[str, Callable[[Argv, Inner], None]] = {
    "env": _unwrap_env,
    "xargs": _unwrap_xargs,
    "watch": _unwrap_watch,
    "flock": _unwrap_flock,
    "find": _unwrap_find,
    "eval": _unwrap_eval,
    "trap": _unwrap_trap,
    "set": _unwrap_set,
    "export": _unwrap_export,
    "printf": _unwrap_printf,
    "test": _unwrap_test,
    "[": _unwrap_test,
}
