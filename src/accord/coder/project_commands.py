"""A project's own slash commands and skills: Markdown files in its folder, used once the user has trusted each of them.

A cloned repository must not be able to send prompts in the user's name: as with a project's `acp.json`, a file counts
only where it stands and as it was when it was trusted (`accord.config.trust`). Until then neither its name nor its text
reaches the client or the model. A trusted file grants nothing: the tool calls that follow need permission as always.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from accord.coder.model import PROJECT_FOLDERS
from accord.config.errors import ConfigError
from accord.config.trust import Trust
from accord.session.option import Command
from accord.workspace import WorkspaceError
from accord.workspace.disk import Disk

MAX_FILES = 64
MAX_FILE_BYTES = 64 * 1024
MAX_DESCRIPTION = 200
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_FIELD = re.compile(r"([A-Za-z][\w-]*)\s*:\s*(.*)")
_PLACEHOLDER = re.compile(r"\$(ARGUMENTS\b|[1-9])")


@dataclass(frozen=True, slots=True)
class ProjectCommand:
    """One file: a command, or a skill, which the model may also use by itself. `path` is absolute."""

    name: str
    description: str
    text: str
    """The whole file, as the user is shown it."""
    body: str
    path: str
    sha256: str
    hint: str | None = None
    is_skill: bool = False

    @property
    def command(self) -> Command:
        """The slash command as clients are offered it."""
        return Command(self.name, self.description or f"From {Path(self.path).name}", self.hint or "[text]")

    def expanded(self, argument: str) -> str:
        """The text for the model: the file's, with the argument in the places that it names, or behind it."""
        words = argument.split()

        def filled(match: re.Match[str]) -> str:
            if match[1] == "ARGUMENTS":
                return argument
            place = int(match[1]) - 1
            return words[place] if place < len(words) else ""

        if _PLACEHOLDER.search(self.body):
            return _PLACEHOLDER.sub(filled, self.body)
        return f"{self.body}\n\n{argument}" if argument.strip() else self.body


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The commands and skills of a folder: those that are trusted as they are, and those that are not."""

    trusted: tuple[ProjectCommand, ...] = ()
    untrusted: tuple[ProjectCommand, ...] = ()

    def find(self, name: str) -> ProjectCommand | None:
        """The trusted one of a name."""
        return next((each for each in self.trusted if each.name == name), None)

    def is_untrusted(self, name: str) -> bool:
        return any(each.name == name for each in self.untrusted)

    @property
    def skills(self) -> list[ProjectCommand]:
        """The skills that the model may use."""
        return [each for each in self.trusted if each.is_skill]


def load_project_files(cwd: str, reserved: Iterable[str] = ()) -> ProjectFiles:
    """The commands and skills of a session's directory, not of folders above it. Blocks while it looks at the disk.

    Names that are `reserved` are the agent's own. Of two files with one name the first counts.
    """
    found: dict[str, ProjectCommand] = {}
    taken = set(reserved)
    for command in _commands(cwd):
        if command.name not in taken:
            found.setdefault(command.name, command)
    if not found:
        return ProjectFiles()
    trusted = {command.name for command in found.values() if _is_trusted(command)}
    return ProjectFiles(
        tuple(command for command in found.values() if command.name in trusted),
        tuple(command for command in found.values() if command.name not in trusted),
    )


def skills_text(project: ProjectFiles) -> str:
    """The skills as a part of the system text; empty where there are none."""
    if not project.skills:
        return ""
    lines = [f"- {skill.name}: {skill.description}" for skill in project.skills]
    return (
        "The project has skills, which the user trusts. Read one with the tool skill before you work on what it is "
        "for:\n" + "\n".join(lines)
    )


def _is_trusted(command: ProjectCommand) -> bool:
    try:
        return Trust().is_trusted(command.path, command.sha256)
    except ConfigError:
        # The file of trusted digests cannot be read: then nothing is trusted.
        return False


def trust(command: ProjectCommand) -> None:
    """Trust the file as it was read.

    Raises:
        ConfigError: The trust cannot be stored.
    """
    Trust().trust(command.path, command.sha256)


def _commands(cwd: str) -> Iterator[ProjectCommand]:
    try:
        disk = Disk([cwd], max_bytes=MAX_FILE_BYTES)
    except WorkspaceError:
        return
    left = MAX_FILES
    for folder in PROJECT_FOLDERS:
        base = os.path.join(cwd, folder)  # noqa: PTH118 - as the session spells it
        for name, path, is_skill in (*_files(disk, base), *_skills(disk, base)):
            if left == 0:
                return
            left -= 1
            command = _command(disk, name, path, is_skill=is_skill)
            if command is not None:
                yield command


def _names(disk: Disk, folder: str) -> list[str]:
    try:
        with disk.open_directory(folder) as directory:
            return sorted(path.name for path in Path(directory).iterdir())
    except (WorkspaceError, OSError):
        return []


def _files(disk: Disk, base: str) -> Iterator[tuple[str, str, bool]]:
    for name in _names(disk, f"{base}/commands"):
        if name.endswith(".md"):
            yield name.removesuffix(".md"), f"{base}/commands/{name}", False


def _skills(disk: Disk, base: str) -> Iterator[tuple[str, str, bool]]:
    for name in _names(disk, f"{base}/skills"):
        yield name, f"{base}/skills/{name}/SKILL.md", True


def _command(disk: Disk, name: str, path: str, *, is_skill: bool) -> ProjectCommand | None:
    if not _NAME.fullmatch(name):
        return None
    try:
        text = disk.read_text(path)
    except WorkspaceError:
        return None
    fields, body = _front_matter(text)
    if not body.strip():
        return None
    # The digest of the bytes that were read: strict decoding and encoding gives the same bytes.
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    description = fields.get("description", "")[:MAX_DESCRIPTION]
    hint = fields.get("argument-hint")
    return ProjectCommand(name, description, text, body.strip("\n"), path, sha256, hint, is_skill)


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """The plain fields between two lines of three dashes at the beginning, and the rest."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        return {}, text
    end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
    if end is None:
        return {}, text
    fields = {}
    for line in lines[1:end]:
        found = _FIELD.fullmatch(line.strip())
        if found is not None:
            value = "".join(each for each in found[2].strip() if each.isprintable())
            fields[found[1].lower()] = value.strip("\"'")
    return fields, "\n".join(lines[end + 1 :])
