"""Patches in Git's format: written from the texts of files, and read back as texts.

v2 rule 65: `diff --git` sections with absolute paths and no `a/`, `b/` before them, `/dev/null` for the side that is
missing, Git's quoting, no header of a commit or a mail.
"""

import difflib
import re
from collections.abc import Iterator, Sequence

from accord.session.tool import FileChange

__all__ = ["is_shown_by", "operation_of", "patch_paths", "read_patch", "texts_agree", "write_patch"]

NOWHERE = "/dev/null"
NO_NEWLINE = "\\ No newline at end of file\n"
CONTEXT = 3
MAX_PAIRS = 1_000_000
"""Above so many pairs of lines to compare, one hunk replaces all between the first and the last difference."""

_NAMED = {"\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", '"': '"', "\\": "\\"}
_BYTES = {letter: character.encode() for character, letter in _NAMED.items()}


def operation_of(change: FileChange) -> str:
    """The operation on the file: one that has only a new text was added."""
    if change.operation == "modify" and change.old is None and change.new is not None:
        return "add"
    return change.operation


def write_patch(changes: list[FileChange]) -> str | None:
    """The patch for all changes; None where one of them has no texts, because a patch must agree with its changes."""
    sections = [_section(change) for change in changes]
    if not sections or None in sections:
        return None
    return "".join(section for section in sections if section) or None


def _section(change: FileChange) -> str | None:
    operation = operation_of(change)
    old, new = change.old, change.new
    if operation == "add" and new is not None:
        return _whole(NOWHERE, change.path, "", new, f"new file mode {_mode(change)}\n")
    if operation == "delete" and old is not None:
        return _whole(change.path, NOWHERE, old, "", f"deleted file mode {_mode(change)}\n")
    if old is None or new is None:
        return None
    if operation == "modify":
        return _whole(change.path, change.path, old, new, "") if old != new else ""
    if operation in {"move", "copy"} and change.old_path is not None:
        verb = "rename" if operation == "move" else "copy"
        same = "similarity index 100%\n" if old == new else ""
        paths = f"{verb} from {_quoted(change.old_path)}\n{verb} to {_quoted(change.path)}\n"
        return _whole(change.old_path, change.path, old, new, same + paths)
    return None


def _mode(change: FileChange) -> str:
    return "120000" if change.file_type == "symlink" else "100644"


def _whole(old_path: str, new_path: str, old: str, new: str, extended: str) -> str:
    before = new_path if old_path == NOWHERE else old_path
    after = old_path if new_path == NOWHERE else new_path
    head = f"diff --git {_quoted(before)} {_quoted(after)}\n{extended}"
    hunks = _hunks(_lines(old), _lines(new))
    if hunks:
        head += f"--- {_side(old_path)}\n+++ {_side(new_path)}\n"
    return head + hunks


def _side(path: str) -> str:
    quoted = _quoted(path)
    # Git ends a bare name that holds a blank with a tab, so that readers see where it ends.
    return quoted + "\t" if " " in path and quoted == path else quoted


def _lines(text: str) -> list[str]:
    # Not `splitlines`: to Git only a line feed ends a line.
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _hunks(old: list[str], new: list[str]) -> str:
    if len(old) * len(new) <= MAX_PAIRS:
        body = list(difflib.unified_diff(old, new, n=CONTEXT))[2:]
    else:
        body = _coarse(old, new)
    return "".join(line if line.endswith("\n") else line + "\n" + NO_NEWLINE for line in body)


def _coarse(old: list[str], new: list[str]) -> list[str]:
    """One hunk in linear time; comparing large files line by line would hold up everything else."""
    shorter = min(len(old), len(new))
    head = next((index for index in range(shorter) if old[index] != new[index]), shorter)
    rest = shorter - head
    tail = next((index for index in range(rest) if old[-1 - index] != new[-1 - index]), rest)
    if len(old) == len(new) == head:
        return []
    start = max(head - CONTEXT, 0)
    before, after = old[start:head], old[len(old) - tail :][:CONTEXT]
    removed, added = old[head : len(old) - tail], new[head : len(new) - tail]
    sizes = (len(before) + len(side) + len(after) for side in (removed, added))
    ranges = "{} @@\n".format(" +".join(f"{start + 1},{size}" for size in sizes))
    body = [" " + line for line in before] + ["-" + line for line in removed] + ["+" + line for line in added]
    return ["@@ -" + ranges, *body, *(" " + line for line in after)]


def _quoted(path: str) -> str:
    if path.isascii() and path.isprintable() and '"' not in path and "\\" not in path:
        return path
    letters = []
    for character in path:
        if character in _NAMED:
            letters.append("\\" + _NAMED[character])
        elif character.isascii() and character.isprintable():
            letters.append(character)
        else:
            letters += [f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogatepass")]
    return '"' + "".join(letters) + '"'


def _bare(path: str) -> str:
    """A path as it is, from a `---` or `+++` line: unquoted, and without the prefix that some agents leave in."""
    path = _unquoted(path)
    return path[1:] if re.match(r"[ab]/", path) else path


def _unquoted(path: str) -> str:
    path = path.rstrip("\t\r")
    if len(path) > 1 and path[0] == path[-1] == '"':
        data = re.sub(rb"\\([0-7]{3}|.)", _unescaped, path[1:-1].encode("utf-8", "surrogatepass"))
        path = data.decode("utf-8", "replace")
    return path


def _unescaped(match: re.Match[bytes]) -> bytes:
    escape = match[1].decode("latin-1")
    return (
        bytes([int(escape, 8) & 0xFF]) if escape[0] in "01234567" and len(escape) > 1 else _BYTES.get(escape, match[1])
    )


def read_patch(text: str) -> dict[str, tuple[str | None, str | None]]:
    """The texts before and after by path, as far as the hunks show them; files without hunks are left out.

    Whole for files that were added or deleted. Of a modified file only what is in the hunks, one after the other.
    """
    found: dict[str, tuple[str | None, str | None]] = {}
    for section in re.split(r"^diff --git ", text, flags=re.MULTILINE)[1:]:
        head, *hunks = re.split(r"^@@ ", section, flags=re.MULTILINE)
        sides = re.search(r"^--- (.*)\n\+\+\+ (.*)$", head, re.MULTILINE)
        if hunks and sides:
            before, after = _bare(sides[1]), _bare(sides[2])
            old, new = _read_hunks(hunks)
            path = before if after == NOWHERE else after
            found[path] = (None if before == NOWHERE else old, None if after == NOWHERE else new)
    return found


# --- agreement of a patch with the changes beside it


def is_shown_by(text: str, changes: Sequence[FileChange]) -> bool:
    """Whether a reader of these changes, with their texts, misses nothing that the patch says.

    Each section must be about a change of its own, with the same operation and the same paths. A section that says more
    than texts can show (another mode, binary content, lines outside of hunks) is not shown by them.
    """
    return _sections(text, changes) is not None


def texts_agree(text: str, changes: Sequence[FileChange]) -> bool:
    """Whether the patch makes exactly the new texts of these changes out of the old ones."""
    sections = _sections(text, changes)
    if sections is None:
        return False
    about = {id(change): hunks for change, hunks in sections}
    return all(_applied(change.old or "", about.get(id(change), [])) == (change.new or "") for change in changes)


def _sections(text: str, changes: Sequence[FileChange]) -> list[tuple[FileChange, list[str]]] | None:
    """Each change that the patch is about, with its hunks; None where the patch says anything else."""
    before, *sections = re.split(r"^diff --git ", text, flags=re.MULTILINE)
    if before.strip():
        return None
    # By path, so that time stays linear in the patch and the changes.
    left: dict[str, list[FileChange]] = {}
    for change in reversed(changes):
        left.setdefault(change.path, []).append(change)
    found = []
    for section in sections:
        head, *hunks = re.split(r"^@@ ", section, flags=re.MULTILINE)
        candidates = next((left[path] for path in _head_paths(head) if left.get(path)), None)
        if not candidates or not _is_head_of(candidates[-1], head, has_hunks=bool(hunks)):
            return None
        if not all(_is_hunk(hunk) for hunk in hunks):
            return None
        found.append((candidates.pop(), hunks))
    return found


_NAMING = re.compile(r"^(?:\+\+\+|---|rename to|copy to) (.*)$", re.MULTILINE)


def _head_paths(head: str) -> Iterator[str]:
    """The paths that the head of a section may be about."""
    for name in _NAMING.findall(head):
        yield _bare(name)
        yield _unquoted(name)
    # Without any other header the first line names a path twice.
    first = head.partition("\n")[0]
    name = first[len(first) // 2 + 1 :]
    yield _bare(name)
    yield _unquoted(name)


def _is_head_of(change: FileChange, head: str, *, has_hunks: bool) -> bool:
    """Whether the head of a section is about this change, and says nothing beyond its operation and paths."""
    operation = operation_of(change)
    old = change.old_path if operation in {"move", "copy"} else change.path
    if old is None or operation not in _VERBS:
        return False
    first, *lines = head.removesuffix("\n").split("\n")
    sides = {"--- ": NOWHERE if operation == "add" else old, "+++ ": NOWHERE if operation == "delete" else change.path}
    paths = {**sides, f"{_VERBS[operation]} from ": old, f"{_VERBS[operation]} to ": change.path}
    if not any(_names(first.removeprefix(f"{spelling} "), change.path) for spelling in _begins(first, old)):
        return False
    is_sided = [line[:4] for line in lines if line[:4] in sides] == list(sides)
    return is_sided >= has_hunks and all(_is_plain(line, change, operation, paths) for line in lines)


def _begins(first: str, path: str) -> Iterator[str]:
    """The spellings of a path with which the first line of a section begins."""
    for prefix in ("", "a", "a/"):
        spelling = _quoted(prefix + path) if first.startswith('"') else prefix + path
        if first.startswith(f"{spelling} "):
            yield spelling


def _names(header: str, path: str) -> bool:
    return path in (_bare(header), _unquoted(header), _unquoted(header).removeprefix("b/"))


_VERBS = {"add": "", "delete": "", "modify": "", "move": "rename", "copy": "copy"}


def _is_plain(line: str, change: FileChange, operation: str, paths: dict[str, str]) -> bool:
    for header, path in paths.items():
        if line.startswith(header):
            return _names(line.removeprefix(header), path)
    if line.startswith(("index ", "similarity index ", "dissimilarity index ")):
        return True
    if operation == "delete":
        return line.startswith(("deleted file mode ", "Binary files "))
    return operation == "add" and line == f"new file mode {_mode(change)}"


_RANGES = re.compile(r"-([0-9]{1,9})(?:,([0-9]{1,9}))? \+[0-9]{1,9}(?:,[0-9]{1,9})? @@")


def _is_hunk(hunk: str) -> bool:
    return _RANGES.match(hunk) is not None and all(line[0] in " +-\\\n" for line in _lines(hunk)[1:])


def _applied(old: str, hunks: list[str]) -> str | None:
    """The text after the hunks; None where they do not fit the old one."""
    lines, result, at = _lines(old), [], 0
    for hunk in hunks:
        ranges = _RANGES.match(hunk)
        if ranges is None:
            return None
        start = int(ranges[1]) - (ranges[2] != "0")
        removed, added = (_lines(side) for side in _read_hunks([hunk]))
        if start < at or lines[start : start + len(removed)] != removed:
            return None
        result += [*lines[at:start], *added]
        at = start + len(removed)
    return "".join([*result, *lines[at:]])


_HEADER = re.compile(r"^(---|\+\+\+|rename from|rename to|copy from|copy to) (.*)$", re.MULTILINE)
_HUNK = re.compile(r"^@@ .*$", re.MULTILINE)
# Hunks that have no line on this side.
_EMPTY = {"---": re.compile(r"@@ -[0-9]+,0 "), "+++": re.compile(r"@@ -[0-9,]+ \+[0-9]+,0 ")}


def patch_paths(text: str) -> list[str] | None:
    """Every path that a patch names, `/dev/null` left out; None where a section does not say which files it changes.

    A removed line that looks like a header is taken for one: a path too many is asked about, a missing one is not.
    """
    sections = re.split(r"^diff --git ", text, flags=re.MULTILINE)
    if len(sections) == 1 and not _HEADER.search(text):
        return None
    found: dict[str, None] = {}
    for number, section in enumerate(sections):
        hunks = _HUNK.findall(section)
        there = [header for side, header in _HEADER.findall(section) if not _is_missing(side, header, hunks)]
        named = [path for header in there for path in _meanings(header)]
        if not named and number:
            # A change of mode, an empty file or a binary one has its paths in the first line alone.
            parts = section.partition("\n")[0].split(" ")
            if len(parts) != 2:  # noqa: PLR2004 - the old path and the new one
                return None
            named = [path for word in parts for path in _meanings(word)]
        found.update(dict.fromkeys(path for path in named if path != NOWHERE))
    return list(found)


def _is_missing(side: str, header: str, hunks: list[str]) -> bool:
    """Whether a header says that a file is not there on this side, behind a prefix of Git's as some agents write it.

    With lines on that side it is a file with that name.
    """
    is_nowhere = _bare(header) == NOWHERE and _unquoted(header) != NOWHERE
    return is_nowhere and side in _EMPTY and all(_EMPTY[side].match(hunk) for hunk in hunks)


def _meanings(header: str) -> list[str]:
    """The possible meanings of a path in a header: also the path behind a prefix of Git's."""
    path = _bare(header)
    return [path, path[1:]] if path.startswith("/") and _unquoted(header) != path else [path]


def _read_hunks(hunks: list[str]) -> tuple[str, str]:
    old: list[str] = []
    new: list[str] = []
    for hunk in hunks:
        last: tuple[list[str], ...] = ()
        for line in _lines(hunk)[1:]:
            if line[0] == "\\":
                for side in last:
                    side[-1] = side[-1].removesuffix("\n")
                continue
            last = {"-": (old,), "+": (new,)}.get(line[0], (old, new))
            for side in last:
                # Some tools trim the blank that stands before an empty line of context.
                side.append(line[1:] or line)
    return "".join(old), "".join(new)
