"""The options of programs that run other commands: where the command begins in their argv, by a table per program."""

from dataclasses import dataclass, field

__all__ = ["Argv", "ShellOptions", "Wrapper", "name_set", "read_options"]


@dataclass(frozen=True, slots=True)
class Argv:
    """The words of a command, and which of them may expand to something else."""

    words: tuple[str, ...]
    uncertain: frozenset[int]

    def rest(self, start: int) -> "Argv":
        """The words from `start` on."""
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
