"""One user's folders and one project, made of nothing but a temporary folder."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accord.config.agents import Agents, load_agents
from accord.config.paths import ConfigPaths
from accord.config.trust import Trust


def digest_of(path: Path) -> str:
    """The digest of a file's content, as `Trust` keeps it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass
class World:
    """What a test writes into files, and reads back as agents."""

    paths: ConfigPaths
    project: Path

    @classmethod
    def make(cls, root: Path) -> World:
        paths = ConfigPaths(root / "config", root / "state", root / "cache", root / "simse")
        project = root / "project"
        project.mkdir()
        return cls(paths, project)

    @property
    def trust(self) -> Trust:
        return Trust(self.paths.trust_file)

    @property
    def project_file(self) -> Path:
        return self.project / "acp.json"

    @property
    def simse_file(self) -> Path:
        return self.paths.simse / "acp.json"

    @property
    def settings_file(self) -> Path:
        return self.project / ".simse" / "settings.json"

    def agents(self) -> Agents:
        return load_agents(self.project, trust=self.trust, paths=self.paths)

    def trust_project(self) -> None:
        self.trust.trust(self.project_file, digest_of(self.project_file))


def write(path: Path, content: Any) -> Path:
    """Write JSON, or a text as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path
